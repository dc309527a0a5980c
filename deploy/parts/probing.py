"""What `probe`, `run` and `ping` share: which ends a host runs, and their metrics."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from threading import Event
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from collectors.config.model import Config
from collectors.config.paths import Path, resolve
from collectors.contract.metrics import CATALOGUE
from collectors.contract.records import OUTCOMES
from collectors.kafka.sink import KafkaSink
from collectors.probe.measure.send_delay import BOUNDS_SECONDS
from collectors.probe.prober import Prober
from collectors.probe.specs import receiver_specs, sender_specs
from deploy.errors import Problem
from streaming.sizing import RECORD_BYTES, SAMPLE_BYTES

_LEAST_BYTES: Final = 64 << 20
_LOOK_SECONDS: Final = 0.5


def choose(
    config: Config, names: Sequence[str], *, send: bool, receive: bool
) -> tuple[list[Path], list[Path]]:
    """The paths to send on and to receive on; neither of the two asked for means both."""
    found = list(resolve(config).values())
    if names:
        known = {path.name for path in found} | {path.flow for path in found}
        for name in names:
            if name not in known:
                raise Problem(f"no path is called {name!r}; there are: {', '.join(sorted(known)) or 'none'}")
        found = [path for path in found if path.name in names or path.flow in names]
    if not found:
        raise Problem("the config has no paths; add one under `paths`")
    both = send == receive
    sending = found if send or both else []
    # A multicast is sent once, and its ledger stands under each of its paths.
    flows = {path.flow for path in sending}
    sending = [path for path in resolve(config).values() if path.flow in flows]
    return sending, found if receive or both else []


def end_names(
    sending: Sequence[Path], receiving: Sequence[Path], numbers: Collection[int] | None
) -> list[str]:
    """All ends to be run, as messages call them; a Problem where there is none."""
    found = [f"path {s.paths[0].flow}: sender {s.name}" for s in sender_specs(sending, numbers)]
    found += [f"path {r.path.name}: receiver {r.name}" for r in receiver_specs(receiving, numbers)]
    if not found:
        most = max([path.senders for path in sending] + [path.receivers for path in receiving])
        raise Problem(f"no path has an end of that --number; they are counted from 0, and end at {most - 1}")
    return found


def until_stopped(stop: Event, prober: Prober, seconds: float = float("inf")) -> bool:
    """Wait until asked to end, at most for so long; also True where the prober ended by itself."""
    deadline = time.monotonic() + seconds
    while not prober.ended.is_set() and (left := deadline - time.monotonic()) > 0:
        if stop.wait(min(_LOOK_SECONDS, left)):
            return True
    return prober.ended.is_set()


def spool_bytes(sending: Sequence[Path], receiving: Sequence[Path], span_ns: int) -> int:
    """What the configured rates fill in that time, with half as much again to spare."""
    seconds = span_ns / 1e9
    per_second = 0.0
    for path in receiving:
        per_second += path.peak_rate * SAMPLE_BYTES + 2 * path.receivers * RECORD_BYTES
    for path in sending:
        per_second += 2 * path.senders * RECORD_BYTES
    return max(_LEAST_BYTES, round(1.5 * per_second * seconds))


class ProbeMetrics:
    """The live counts of all ends, as Prometheus reads them."""

    def __init__(self, prober: Prober, site: str) -> None:
        self._prober, self._site = prober, site

    def collect(self) -> Iterator[Any]:
        up = _gauge("probe_end_up")
        messages = _counter("probe_messages_total")
        lag = HistogramMetricFamily(
            CATALOGUE["probe_schedule_lag_seconds"].full_name,
            CATALOGUE["probe_schedule_lag_seconds"].help,
            labels=CATALOGUE["probe_schedule_lag_seconds"].labels,
        )
        lags: dict[tuple[str, str], tuple[list[int], int]] = {}
        for end in list(self._prober.senders):
            path, name, sender = end.path, f"sender/{end.name}", end.sender
            up.add_metric([path.mesh, path.name, name, self._site], int(sender.up))
            for outcome, count in zip(OUTCOMES, sender.outcomes, strict=True):
                messages.add_metric([path.mesh, path.name, name, outcome], count)
            counts, total = lags.get((path.mesh, path.name), ([0] * len(sender.send_delays.counts), 0))
            summed = [a + b for a, b in zip(counts, sender.send_delays.counts, strict=True)]
            lags[path.mesh, path.name] = summed, total + sender.send_delays.sum_ns
        for receiver in list(self._prober.receivers):
            path, name = receiver.path, f"receiver/{receiver.name}"
            up.add_metric([path.mesh, path.name, name, self._site], int(receiver.link_up))
            messages.add_metric([path.mesh, path.name, name, "received"], receiver.received)
            messages.add_metric([path.mesh, path.name, name, "foreign"], receiver.foreign)
        for labels, (counts, total_ns) in lags.items():
            buckets, below = [], 0
            for bound, count in zip((*map(str, BOUNDS_SECONDS), "+Inf"), counts, strict=True):
                below += count
                buckets.append((bound, below))
            lag.add_metric(list(labels), buckets, total_ns / 1e9)
        steps = _counter("probe_clock_steps_total")
        steps.add_metric([self._site], self._prober.clock_steps)
        still = _counter("probe_stood_still_seconds_total")
        still.add_metric([self._site], self._prober.stood_still_seconds)
        yield from (up, messages, lag, steps, still)


class SinkMetrics:
    """What waits for Kafka, and what was given up."""

    def __init__(self, sink: KafkaSink, part: str, site: str) -> None:
        self._sink, self._labels = sink, [part, site]

    def collect(self) -> Iterator[Any]:
        spool = self._sink.spool
        values = {
            "sink_spool_bytes": spool.waiting_bytes,
            "sink_spool_limit_bytes": spool.limit_bytes,
            "sink_oldest_record_seconds": spool.oldest_seconds(),
        }
        for name, value in values.items():
            family = _gauge(name)
            family.add_metric(self._labels, value)
            yield family
        dropped = _counter("sink_dropped_seconds_total")
        for reason, count in self._sink.dropped_seconds.items():
            dropped.add_metric([*self._labels, reason], count)
        yield dropped


def _gauge(name: str) -> Any:
    metric = CATALOGUE[name]
    return GaugeMetricFamily(metric.full_name, metric.help, labels=metric.labels)


def _counter(name: str) -> Any:
    metric = CATALOGUE[name]
    return CounterMetricFamily(metric.full_name, metric.help, labels=metric.labels)
