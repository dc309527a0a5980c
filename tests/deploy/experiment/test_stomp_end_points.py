"""End points of a load that are brokers of the network, spoken to by STOMP."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.experiment.other_loads import Others, description

STREAM = {"kind": "stream", "from": "pair", "to": "pair", "address": "news", "rate": "1/s"}
NETWORK = {"one": {"url": "amqp://127.0.0.1:11"}, "two": {"url": "amqp://127.0.0.1:12"}}


def load(brokers: object) -> dict[str, Any]:
    return {"kind": "several", "endpoints": {"pair": {"stomp": brokers}}, "loads": {"news": STREAM}}


@pytest.mark.parametrize(
    ("brokers", "urls"),
    [("two", "stomp://127.0.0.1:12"), (["one", "two"], ["stomp://127.0.0.1:11", "stomp://127.0.0.1:12"])],
)
def test_they_have_the_ports_of_the_network(brokers: object, urls: object) -> None:
    made = description(load(brokers), NETWORK, 1)
    assert made["endpoints"]["pair"] == {"url": urls}
    assert made["endpoints"]["one"] == NETWORK["one"]


def test_one_that_is_not_there_is_a_mistake() -> None:
    """Told once the network is known; before, the load by itself has none."""
    assert Others().mistakes(load("three")) == []
    with pytest.raises(ValueError, match=r"endpoints\.pair: no broker is called 'three'"):
        Others().config({"endpoints": NETWORK}, load("three"), [])
