"""The way of a path's messages: which queue of the broker is on it."""

from __future__ import annotations

import pytest

from streaming.attribution.broker_history import BrokerHistory, Queue
from streaming.attribution.network import Network
from streaming.attribution.path_windows import PathWindows
from streaming.attribution.places import Place
from streaming.attribution.routes import find_route


def queue_of(place: Place, *known: str) -> str:
    """Returns the queue on the way, where the broker has told of these."""
    queues = {name: Queue(name) for name in known}
    network = Network(brokers={"store": BrokerHistory("prod", "store", queues=queues)})
    return find_route(network, PathWindows(), place, 0).queue


def place(address: str, receive_address: str) -> Place:
    return Place("prod", ("prod",), address, receive_address, via="store")


@pytest.mark.parametrize(
    ("receive_address", "known", "queue"),
    [
        ("orders", ["orders"], "orders"),
        # Routers without phases bring what was in a queue to an address of its own.
        ("orders.from-queue", ["orders"], "orders"),
        ("orders.from-queue", ["orders", "orders.from-queue"], "orders.from-queue"),
        ("orders::east", ["orders", "orders::east"], "east"),
        ("orders::east", ["east"], "east"),
        ("orders.from-queue", [], "orders.from-queue"),
    ],
)
def test_the_queue_is_one_that_the_broker_has(receive_address: str, known: list[str], queue: str) -> None:
    """By the address that is received from, or else the one that is sent to."""
    assert queue_of(place("orders", receive_address), *known) == queue
