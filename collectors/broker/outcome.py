"""A poll's outcome as samples for /metrics and as records for `inflight.broker`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from collectors.broker.counters import Counted, Tallied
from collectors.broker.poll import BrokerView, Row
from collectors.contract.telemetry import Telemetry, split
from collectors.polling.metric_cache import MetricValue

_QUEUE_GAUGES: Final = {
    "broker_queue_messages": "messages",
    "broker_queue_delivering_messages": "delivering",
    "broker_queue_scheduled_messages": "scheduled",
    "broker_queue_consumers": "consumers",
    "broker_queue_persistent_bytes": "persistent_bytes",
}
_ADDRESS_GAUGES: Final = {
    "broker_address_paging": "paging",
    "broker_address_pages": "pages",
    "broker_address_bytes": "bytes",
    "broker_address_limit_ratio": "limit_ratio",
}
# Metric, MBean, attribute.
_GAUGES: Final = (
    ("broker_address_memory_ratio", "broker", "address_memory_ratio"),
    ("broker_disk_ratio", "broker", "disk_ratio"),
    ("broker_connections", "broker", "connections"),
    ("broker_jvm_threads", "threads", "threads"),
    ("broker_jvm_classes", "classes", "classes"),
    ("broker_load1", "system", "load1"),
    ("broker_open_fds", "system", "open_fds"),
    ("broker_max_fds", "system", "max_fds"),
    ("broker_free_memory_bytes", "system", "free_memory_bytes"),
    ("broker_free_swap_bytes", "system", "free_swap_bytes"),
    ("broker_committed_virtual_bytes", "system", "committed_virtual_bytes"),
)


def ha_role(broker: Row) -> str:
    """Which of a pair it is, as far as it tells."""
    if broker.get("backup") and not broker.get("active", False):
        return "backup"
    return "active" if broker.get("active", True) else "inactive"


def samples(mesh: str, name: str, view: BrokerView, tallied: Tallied) -> Iterator[MetricValue]:
    """Everything of a broker that answered."""
    b = (mesh, name)
    broker = view.one("broker")
    yield "broker_up", b, 1.0
    version = broker.get("version") or "unknown"
    yield "broker_info", (*b, version, view.product.name, ha_role(broker)), 1.0
    yield from _process(b, view, tallied)
    for row, counted in tallied.queues:
        q = (*b, row.get("address") or row["queue"], row["queue"])
        yield from _gauges(_QUEUE_GAUGES, q, row)
        yield from _totals("broker_queue_{}_messages_total", q, counted.sums)
    for row, counted in tallied.addresses:
        a = (*b, row["address"])
        yield from _gauges(_ADDRESS_GAUGES, a, row)
        yield from _totals("broker_address_{}_messages_total", a, counted.sums)


def _process(b: tuple[str, ...], view: BrokerView, tallied: Tallied) -> Iterator[MetricValue]:
    if (start_ms := view.start_ms) is not None:
        yield "broker_start_time_seconds", b, start_ms / 1000
    for metric, bean, attribute in _GAUGES:
        yield from _gauges({metric: attribute}, b, view.one(bean))
    for pool, usage in view.pools.items():
        for stat, amount in usage.items():
            yield "broker_jvm_memory_bytes", (*b, pool, stat), amount
    if (cpu_ns := tallied.cpu.sums["cpu_ns"]) is not None:
        yield "broker_cpu_seconds_total", b, cpu_ns / 1e9
    for row, counted in tallied.gcs:
        g = (*b, row["gc"])
        if (count := counted.sums["collections"]) is not None:
            yield "broker_jvm_gc_collections_total", g, count
        if (ms := counted.sums["collection_ms"]) is not None:
            yield "broker_jvm_gc_seconds_total", g, ms / 1000


def _gauges(metrics: Mapping[str, str], labels: tuple[str, ...], row: Row) -> Iterator[MetricValue]:
    for metric, attribute in metrics.items():
        if (value := row.get(attribute)) is not None:
            yield metric, labels, float(value)


def _totals(form: str, labels: tuple[str, ...], sums: dict[str, int | None]) -> Iterator[MetricValue]:
    for name, total in sums.items():
        if total is not None:
            yield form.format(name), labels, total


def records(
    site: str, mesh: str, name: str, view: BrokerView, tallied: Tallied, poll: tuple[int, int]
) -> Iterator[Telemetry]:
    """For `inflight.broker`: the broker, its JVM, queues and addresses. `poll` is number and interval."""
    number, interval_ns = poll
    broker = {
        **view.one("broker"),
        "up": True,
        "product": view.product.name,
        "ha_role": ha_role(view.one("broker")),
        "start_ms": view.start_ms,
    }
    jvm = {**view.one("system"), **view.one("threads"), **view.one("classes"), "pools": view.pools}
    entities: dict[str, list[Row]] = {
        "broker": [broker],
        "jvm": [jvm, *(_row(row, counted) for row, counted in tallied.gcs)],
        "queue": [_row(row, counted) for row, counted in tallied.queues],
        "address": [_row(row, counted) for row, counted in tallied.addresses],
    }
    for entity, rows in entities.items():
        yield from split(
            Telemetry(
                site=site,
                mesh=mesh,
                target=name,
                entity=entity,
                at_ns=view.at_ns,
                interval_ns=interval_ns,
                poll=number,
                rows=rows,
                restarted=tallied.restarted,
            )
        )


def _row(row: Row, counted: Counted) -> Row:
    return {**row, **counted.sums, **{f"{name}_added": value for name, value in counted.added.items()}}
