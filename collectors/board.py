"""What the collectors have to show, as one Prometheus collector: the last values of each target, or none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final

from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from collectors.metrics import CATALOGUE, PREFIX

# Name in the catalogue, label values in the catalogue's order, value.
Sample = tuple[str, tuple[str, ...], float]

_UP: Final = frozenset({"mesh_up", "router_up", "broker_up"})
_TYPES: Final = {"gauge": "gauge", "counter": "counter", "info": "gauge"}


class Board(Collector):
    """Samples by the target they are of; a target's samples are replaced or dropped as a whole.

    Those of a target that nobody has refreshed until their time runs out are not shown, but that it is down.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._shown: dict[Hashable, tuple[tuple[Sample, ...], float]] = {}
        self._clock = clock

    def put(self, target: Hashable, samples: Iterable[Sample], for_seconds: float = float("inf")) -> None:
        kept = tuple(samples)
        with self._lock:
            self._shown[target] = (kept, self._clock() + for_seconds)

    def drop(self, target: Hashable) -> None:
        with self._lock:
            self._shown.pop(target, None)

    def samples(self) -> Iterator[Sample]:
        """All that is shown now."""
        now = self._clock()
        with self._lock:
            shown = list(self._shown.values())
        for samples, until in shown:
            if now <= until:
                yield from samples
            else:
                yield from ((name, labels, 0.0) for name, labels, _ in samples if name in _UP)

    def describe(self) -> Iterable[Family]:
        """Nothing: registering must not collect."""
        return []

    def collect(self) -> Iterator[Family]:
        families: dict[str, Family] = {}
        for name, values, value in self.samples():
            family = families.get(name)
            metric = CATALOGUE[name]
            if family is None:
                base = PREFIX + name.removesuffix("_total") if metric.kind == "counter" else PREFIX + name
                family = families[name] = Family(base, metric.help, _TYPES[metric.kind])
            family.add_sample(PREFIX + name, dict(zip(metric.labels, values, strict=True)), value)
        yield from families.values()
