"""A poll of a broker as metric values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from collectors.broker import schema
from collectors.broker.counters import CountedBroker
from collectors.broker.snapshot import BrokerSnapshot
from collectors.contract.metrics import MetricValue
from collectors.polling.attributes import metric_values


def of_broker(
    mesh: str, name: str, snapshot: BrokerSnapshot, counted: CountedBroker, link_backlog: int
) -> Iterator[MetricValue]:
    """Yield all values of a broker that answered; the schema says which attribute is which metric.

    `link_backlog` is how many messages may wait for a link, by the config.
    """
    b = (mesh, name)
    version = snapshot.one("broker").get("version") or "unknown"
    yield "broker_up", b, 1.0
    yield "broker_info", (*b, version, snapshot.product.name, snapshot.ha_role), 1.0
    if counted.rows(schema.LINK.name):
        yield "broker_link_messages_limit", b, float(link_backlog)
    for pool, usage in snapshot.pools.items():
        for stat, amount in usage.items():
            yield "broker_jvm_memory_bytes", (*b, pool, stat), amount
    for bean in (*schema.JVM, schema.LINK, *snapshot.product.beans):
        gauges, counts = bean.gauges, bean.counts
        for each in counted.rows(bean.name):
            labels = (*b, *[each.row[label] for label in bean.labels])
            yield from metric_values(gauges, labels, [each.row[a.name] for a in gauges])
            yield from metric_values(counts, labels, [each.sums[a.name] for a in counts])


def of_omitted(name: str, omitted: Mapping[str, int]) -> Iterator[MetricValue]:
    """Yield how many queues, addresses and links are left out."""
    for entity, count in omitted.items():
        yield "collector_omitted_series", ("broker", name, entity), float(count)
