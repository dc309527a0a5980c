"""The last metric values of each polled target, for /metrics.

They are shown through the Prometheus package's registry, or as text that is written here: a large mesh has
some 100,000 values, which take the package many times longer to write (tests/bench/collectors.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from collectors.contract.metrics import MetricValue
from collectors.http.metric_factory import MetricSource, head, line_form, quote
from collectors.process.steady_clock import SteadyClock

MetricValues = Iterable[MetricValue]

_UP: Final = frozenset({"mesh_up", "mesh_url_up", "router_up", "broker_up"})


@dataclass(slots=True)
class _TargetMetrics:
    """A target's values, or the function that makes them when they are first wanted."""

    values: tuple[MetricValue, ...] | Callable[[], MetricValues]
    until: float
    text: dict[str, str] | None = None

    def current(self, now: float) -> tuple[MetricValue, ...]:
        """Return the values, or once they are out of date only those of `_UP`, as 0."""
        if callable(self.values):
            self.values = tuple(self.values())
        if now <= self.until:
            return self.values
        return tuple((name, labels, 0.0) for name, labels, _ in self.values if name in _UP)

    def lines(self, now: float) -> dict[str, str]:
        """Return the lines of Prometheus' text format by the metric's name."""
        if now > self.until:
            return _lines(self.current(now))
        if self.text is None:
            self.text = _lines(self.current(now))
        return self.text


class MetricCache(MetricSource):
    """Metric values by target; those of a target are replaced or dropped together.

    Once the time of a target's values has run out, only that the target is down is shown.
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self.steady: Final = SteadyClock()
        self._lock = threading.Lock()
        self._targets: dict[Hashable, _TargetMetrics] = {}
        self._clock = clock or self.steady.now

    def put(
        self,
        target: Hashable,
        values: MetricValues | Callable[[], MetricValues],
        for_seconds: float = float("inf"),
    ) -> None:
        """Replace a target's values; a function is called once, from another thread, when they are wanted."""
        kept = values if callable(values) else tuple(values)
        with self._lock:
            self._targets[target] = _TargetMetrics(kept, self._clock() + for_seconds)

    def drop(self, target: Hashable) -> None:
        with self._lock:
            self._targets.pop(target, None)

    def values(self) -> Iterator[MetricValue]:
        now = self._clock()
        for target in self._all():
            yield from target.current(now)

    def render(self) -> str:
        """Return all current values in Prometheus' text format."""
        now = self._clock()
        families: dict[str, list[str]] = {}
        for target in self._all():
            for name, lines in target.lines(now).items():
                families.setdefault(name, [head(name)]).append(lines)
        return "".join(["".join(lines) for lines in families.values()])

    def _all(self) -> list[_TargetMetrics]:
        with self._lock:
            return list(self._targets.values())


def _lines(values: MetricValues) -> dict[str, str]:
    forms: dict[str, tuple[str, list[str]]] = {}
    quoted: dict[str, str] = {}
    for name, labels, value in values:
        form = forms.get(name)
        if form is None:
            form = forms[name] = (line_form(name), [])
        for text in labels:
            if text not in quoted:
                quoted[text] = quote(text)
        form[1].append(form[0] % (*[quoted[text] for text in labels], float(value)))
    return {name: "".join(lines) for name, (_, lines) in forms.items()}
