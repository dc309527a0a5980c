"""A poll of a broker as records for `inflight.broker`."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.broker.counters import CountedBroker
from collectors.broker.snapshot import BrokerSnapshot, Row
from collectors.contract.telemetry import Telemetry, split
from collectors.contract.untrusted_text import encodable


def of_broker(
    site: str,
    mesh: str,
    name: str,
    snapshot: BrokerSnapshot,
    counted: CountedBroker,
    poll: tuple[int, int],
    run: str = "",
) -> Iterator[Telemetry]:
    """Yield broker, JVM, queues, addresses and links.

    `poll` is the poll's number and interval in ns, `run` the collector's.
    """
    number, interval_ns = poll
    broker = {
        **snapshot.one("broker"),
        "up": True,
        "product": snapshot.product.name,
        "ha_role": snapshot.ha_role,
        "start_ms": snapshot.start_ms,
    }
    jvm = {
        **snapshot.one("system"),
        **snapshot.one("threads"),
        **snapshot.one("classes"),
        "pools": snapshot.pools,
    }
    entities: dict[str, list[Row]] = {
        "broker": [broker],
        "jvm": [jvm, *(each.record() for each in counted.rows("gc"))],
        "queue": [each.record() for each in counted.rows("queue")],
        "address": [each.record() for each in counted.rows("address")],
        "broker_link": [each.record() for each in counted.rows("link")],
    }
    for entity, rows in entities.items():
        yield from split(
            Telemetry(
                site=site,
                mesh=mesh,
                target=name,
                entity=entity,
                at_ns=snapshot.at_ns,
                interval_ns=interval_ns,
                poll=number,
                rows=rows,
                restarted=counted.restarted,
                run=run,
                asked_ns=snapshot.asked_ns or snapshot.at_ns,
                answered_ns=snapshot.at_ns,
            )
        )


def of_failure(
    site: str, mesh: str, name: str, at_ns: int, reason: str, poll: tuple[int, int], run: str = ""
) -> Telemetry:
    """Return the record of a broker that could not be polled."""
    number, interval_ns = poll
    return Telemetry(
        site=site,
        mesh=mesh,
        target=name,
        entity="broker",
        at_ns=at_ns,
        interval_ns=interval_ns,
        poll=number,
        rows=[{"up": False, "reason": encodable(reason)}],
        run=run,
        asked_ns=at_ns,
        answered_ns=at_ns,
    )
