"""Metrics of the ends of paths, and of what waits for Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from operator import add
from typing import Final

from collectors.contract.metrics import MetricValue
from collectors.contract.records import OUTCOMES
from collectors.http.metric_factory import Buckets, HistogramValue, MetricSource
from collectors.kafka.sink import KafkaSink
from collectors.probe.measure.send_delay import BOUNDS_SECONDS
from collectors.probe.prober import Prober


class ProbeMetrics(MetricSource):
    """What the ends of this process have counted."""

    always = (
        "probe_end_up",
        "probe_messages_total",
        "probe_schedule_lag_seconds",
        "probe_clock_steps_total",
        "probe_stood_still_seconds_total",
    )

    def __init__(self, prober: Prober, site: str) -> None:
        self._prober: Final = prober
        self._site: Final = site

    def values(self) -> Iterator[MetricValue | HistogramValue]:
        delays: dict[tuple[str, str], Buckets] = {}  # of all senders of a path
        for end in list(self._prober.senders):
            path, name, sender = end.path, f"sender/{end.name}", end.sender
            yield "probe_end_up", (path.mesh, path.name, name, self._site), int(sender.up)
            for outcome, count in zip(OUTCOMES, sender.outcomes, strict=True):
                yield "probe_messages_total", (path.mesh, path.name, name, outcome), count
            counts, seconds = sender.send_delays.counts, sender.send_delays.sum_ns / 1e9
            before = delays.get((path.mesh, path.name), Buckets(BOUNDS_SECONDS, [0] * len(counts), 0.0))
            delays[path.mesh, path.name] = Buckets(
                BOUNDS_SECONDS, list(map(add, before.counts, counts)), before.sum + seconds
            )
        for receiver in list(self._prober.receivers):
            path, name = receiver.path, f"receiver/{receiver.name}"
            yield "probe_end_up", (path.mesh, path.name, name, self._site), int(receiver.link_up)
            yield "probe_messages_total", (path.mesh, path.name, name, "received"), receiver.received
            yield "probe_messages_total", (path.mesh, path.name, name, "foreign"), receiver.foreign
        for labels, delay in delays.items():
            yield "probe_schedule_lag_seconds", labels, delay
        yield "probe_clock_steps_total", (self._site,), self._prober.clock_steps
        yield "probe_stood_still_seconds_total", (self._site,), self._prober.stood_still_seconds


class SinkMetrics(MetricSource):
    """What waits for Kafka, and what was given up."""

    always = (
        "sink_spool_bytes",
        "sink_spool_limit_bytes",
        "sink_oldest_record_seconds",
        "sink_dropped_seconds_total",
    )

    def __init__(self, sink: KafkaSink, part: str, site: str) -> None:
        self._sink: Final = sink
        self._labels: Final = (part, site)

    def values(self) -> Iterator[MetricValue]:
        spool = self._sink.spool
        yield "sink_spool_bytes", self._labels, spool.waiting_bytes
        yield "sink_spool_limit_bytes", self._labels, spool.limit_bytes
        yield "sink_oldest_record_seconds", self._labels, spool.oldest_seconds()
        for reason, count in self._sink.dropped_seconds.items():
            yield "sink_dropped_seconds_total", (*self._labels, reason), count
