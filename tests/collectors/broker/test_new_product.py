"""A broker product is its table and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from helpers import wait_until

from collectors.broker import poll
from collectors.broker.products import PRODUCTS
from collectors.broker.schema import Bean, Product
from collectors.polling.attributes import attributes

MADE_UP = Product(
    "madeup",
    "Made-Up MQ",
    Bean(
        "broker",
        "org.madeup:type=Server",
        attributes(
            """
            Release    version      text
            Sockets    connections  number   broker_connections
            DiskInUse  disk_ratio   percent  broker_disk_ratio
            """
        ),
    ),
    Bean(
        "queue",
        "org.madeup:type=Queue,name={queue}",
        attributes(
            """
            Depth  messages  number  broker_queue_messages
            In     added     count   broker_queue_added_messages_total
            """
        ),
        (("name", "queue"),),
        ("queue", "queue"),
        quotes_names=False,
    ),
    None,
)
QUEUE = "org.madeup:name=orders,type=Queue"


def test_a_table_is_enough(fake: Any, watch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up product is found by its MBean; metrics and records are as its table says."""
    monkeypatch.setattr(poll, "PRODUCTS", (*PRODUCTS, MADE_UP))
    came_in = [100]

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        mbean, search = request["mbean"], request["type"] == "search"
        if mbean == "org.madeup:type=Server":
            values = {"Release": "7.1", "Sockets": 3, "DiskInUse": 25}
            return {"status": 200, "value": [mbean] if search else values}
        if mbean == "org.madeup:type=Queue,name=*":
            came_in[0] += 0 if search else 10
            return {"status": 200, "value": [QUEUE] if search else {QUEUE: {"Depth": 4, "In": came_in[0]}}}
        return {"status": 200, "value": []} if search else {"status": 404}

    server = fake(lambda requests: (200, [answer(request) for request in requests]))
    watching = watch(jolokia=server.url)
    queue = {"address": "orders", "queue": "orders"}
    wait_until(
        lambda: (watching.value("broker_queue_added_messages_total", **queue) or 0) >= 10, 30, "2 polls"
    )
    assert watching.value("broker_info", version="7.1", product="madeup", ha_role="active") == 1
    assert watching.value("broker_connections") == 3
    assert watching.value("broker_disk_ratio") == 0.25
    assert watching.value("broker_queue_messages", **queue) == 4
    first, second = [
        record.rows
        for topic, record in watching.records
        if topic.suffix == "broker" and record.entity == "queue"
    ][:2]
    assert first[0] | {"queue": "orders", "messages": 4, "added": 0, "added_added": 0} == first[0]
    assert second[0] | {"queue": "orders", "messages": 4, "added": 10, "added_added": 10} == second[0]
