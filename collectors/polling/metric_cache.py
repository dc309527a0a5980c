"""What the collectors have to show on /metrics: the last values of each target, or none.

As a collector of the Prometheus package's, and as text of its own: a large mesh has some 100,000 samples,
which take the package many times longer to write (tests/bench/collectors.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from collectors.http.metric_factory import MetricSource, head, line_form, quote
from collectors.process.steady_clock import Steady

# Name in the catalogue, label values in the catalogue's order, value.
Sample = tuple[str, tuple[str, ...], float]
Samples = Iterable[Sample]

_UP: Final = frozenset({"mesh_up", "mesh_url_up", "router_up", "broker_up"})


@dataclass(slots=True)
class _Shown:
    """A target's samples, or how to make them: they are made when somebody wants to see them."""

    samples: tuple[Sample, ...] | Callable[[], Samples]
    until: float
    text: dict[str, str] | None = None

    def all(self, now: float) -> tuple[Sample, ...]:
        if callable(self.samples):
            self.samples = tuple(self.samples())
        if now <= self.until:
            return self.samples
        return tuple((name, labels, 0.0) for name, labels, _ in self.samples if name in _UP)

    def lines(self, now: float) -> dict[str, str]:
        """By the metric's name."""
        if now > self.until:
            return _lines(self.all(now))
        if self.text is None:
            self.text = _lines(self.all(now))
        return self.text


class Board(MetricSource):
    """Samples by the target they are of; a target's samples are replaced or dropped as a whole.

    Those of a target that nobody has refreshed until their time runs out are not shown, but that it is down.
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self.steady: Final = Steady()
        self._lock = threading.Lock()
        self._shown: dict[Hashable, _Shown] = {}
        self._clock = clock or self.steady.now

    def put(
        self, target: Hashable, samples: Samples | Callable[[], Samples], for_seconds: float = float("inf")
    ) -> None:
        """A function is called once, from another thread, when the samples are wanted."""
        kept = samples if callable(samples) else tuple(samples)
        with self._lock:
            self._shown[target] = _Shown(kept, self._clock() + for_seconds)

    def drop(self, target: Hashable) -> None:
        with self._lock:
            self._shown.pop(target, None)

    def values(self) -> Iterator[Sample]:
        """All that is shown now."""
        now = self._clock()
        for shown in self._all():
            yield from shown.all(now)

    def render(self) -> str:
        """All that is shown now in Prometheus' text format."""
        now = self._clock()
        families: dict[str, list[str]] = {}
        for shown in self._all():
            for name, lines in shown.lines(now).items():
                families.setdefault(name, [head(name)]).append(lines)
        return "".join(["".join(lines) for lines in families.values()])

    def _all(self) -> list[_Shown]:
        with self._lock:
            return list(self._shown.values())


def _lines(samples: Iterable[Sample]) -> dict[str, str]:
    forms: dict[str, tuple[str, list[str]]] = {}
    quoted: dict[str, str] = {}
    for name, values, value in samples:
        form = forms.get(name)
        if form is None:
            form = forms[name] = (line_form(name), [])
        for text in values:
            if text not in quoted:
                quoted[text] = quote(text)
        form[1].append(form[0] % (*[quoted[text] for text in values], float(value)))
    return {name: "".join(lines) for name, (_, lines) in forms.items()}
