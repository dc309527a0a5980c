"""A real ActiveMQ Classic: its MBeans are those of the table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from helpers import free_port, optional, wait_until

from collectors.broker import poll, products
from collectors.broker.client import JolokiaClient
from collectors.broker.replies import read_replies
from collectors.config.model import Broker
from deploy.errors import Problem

if TYPE_CHECKING:
    from classic import Classic

pytestmark = pytest.mark.e2e

Watch = Callable[..., Any]
QUEUE = {"address": "orders", "queue": "orders"}


@pytest.fixture(scope="module")
def classic() -> Iterator[Classic]:
    from classic import jars, running  # noqa: PLC0415 -- of these tests alone

    try:
        jars()
    except Problem as problem:
        optional(f"ActiveMQ Classic ({problem})")
    with running() as broker:
        yield broker


def test_every_attribute_of_the_table_is_there(classic: Classic) -> None:
    """None is missing, none of another type, and it is told from an Artemis."""
    classic.send("orders", 1)
    broker = Broker.model_validate({"jolokia": classic.jolokia_url})
    client, until = JolokiaClient(broker), time.monotonic() + 20
    product = poll.detect_product(client.ask(poll.product_searches(), until))
    assert product is products.CLASSIC
    asked = poll.requests(product, broker.queues, poll.QueueSelection())
    replies = client.ask([item.request for item in asked], until)
    client.close()
    snapshot = read_replies(asked, replies, product, broker.queues, (0, 0))
    assert not snapshot.faults
    for bean in (product.broker, product.queue):
        for row in snapshot.beans[bean.name]:
            assert {name for name, value in row.items() if value is None} == set()
    assert snapshot.one("broker")["version"] == "5.18.7"
    classic.receive("orders", 1)


def test_a_network_connector_is_up_while_it_has_a_bridge(classic: Classic, watch: Watch) -> None:
    """Who it has reached is told; what it has sent is not, and no password of the connector is asked for."""
    port = free_port()
    classic.dial("to-other", port)
    watching = watch(jolokia=classic.jolokia_url)
    link = {"kind": "network", "link": "to-other", "to": ""}
    wait_until(lambda: watching.value("broker_link_up", **link) == 0, 10, "the link, with no peer")
    with classic.another("other", port):
        wait_until(lambda: watching.value("broker_link_up", **link) == 1, 30, "the link to be up")
        (row,) = watching.statuses[-1].snapshot.beans["link"]
        assert row["peers"] == ["other"]
        assert watching.value("broker_link_messages", **link) is None
        assert watching.value("broker_link_sent_messages_total", **link) is None
    wait_until(lambda: watching.value("broker_link_up", **link) == 0, 30, "the link to be down")


def test_queues_are_counted_and_a_restart_is_seen_through(classic: Classic, watch: Watch) -> None:
    """Exactly; while the broker is down it is told as down, and its counters never fall."""
    classic.send("orders", 3)
    classic.send("other", 1)
    watching = watch(jolokia=classic.jolokia_url, queues={"include": ["ord*"]})
    wait_until(lambda: watching.value("broker_queue_messages", **QUEUE) == 3, 10, "three messages")
    classic.send("orders", 4)
    classic.receive("orders", 2)
    wait_until(lambda: watching.value("broker_queue_acknowledged_messages_total", **QUEUE) == 2, 10, "two")
    assert watching.value("broker_queue_added_messages_total", **QUEUE) == 4
    assert watching.value("broker_queue_messages", **QUEUE) == 5
    assert watching.value("broker_queue_messages", address="other", queue="other") is None
    classic.stop()
    wait_until(lambda: watching.value("broker_up") == 0, 10, "it to be down")
    classic.start()
    classic.send("orders", 1)
    wait_until(lambda: watching.value("broker_queue_messages", **QUEUE) == 1, 20, "it to be back")
    assert watching.value("broker_queue_added_messages_total", **QUEUE) >= 4
