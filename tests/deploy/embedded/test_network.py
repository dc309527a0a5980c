"""The embedded network: real Artemis, and stand-ins where no router is on the PATH."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import yaml
from proton import Message
from proton.utils import BlockingConnection
from real_routers import real_line

from collectors.config.load import parse
from deploy.embedded.network import Network
from deploy.embedded.programs.artemis import Artemis
from deploy.embedded.programs.router_config import PROGRAMS, Program
from deploy.embedded.programs.stand_in import StandIn
from deploy.errors import Problem

pytestmark = pytest.mark.e2e


@contextmanager
def connected(url: str) -> Iterator[BlockingConnection]:
    connection = BlockingConnection(url, timeout=10)
    try:
        yield connection
    finally:
        connection.close()


def carried(network: Network, source: str, target: str, address: str, receive: str | None = None) -> str:
    """What a receiver at one router gets of a message sent at another."""

    def send() -> None:
        with connected(network.routers[source].url) as here:
            here.create_sender(address).send(Message(f"from {source}"))

    # Each in its thread: the receiver's outcome is what the sender waits for.
    with ThreadPoolExecutor(1) as threads:
        with connected(network.routers[target].url) as there:
            receiver = there.create_receiver(receive or address)
            sending = threads.submit(send)
            body = receiver.receive(timeout=10).body
            receiver.accept()
        sending.result(timeout=10)
        return str(body)


@pytest.fixture(scope="module", params=["stand-in", *PROGRAMS], ids=lambda p: getattr(p, "name", p))
def line(
    request: pytest.FixtureRequest, artemis: Artemis, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Network]:
    """Stand-ins, and real routers where there are some: what is true of the one is true of the others."""
    if isinstance(request.param, Program):
        with real_line(request.param, tmp_path_factory.mktemp("real"), artemis=artemis) as network:
            yield network
    else:
        yield request.getfixturevalue("router_line")


def test_messages_go_the_length_of_the_line(line: Network) -> None:
    """From one end to the other, both ways, over the router in the middle."""
    assert carried(line, "A", "C", "inflight/length") == "from A"
    assert carried(line, "C", "A", "inflight/length") == "from C"


def test_messages_go_through_the_queue(line: Network) -> None:
    """The address of the queue leads through the broker at C, for whoever sends and receives at A."""
    queue = line.queues[0]
    receive = line.routers["A"].receive_address(queue)
    assert carried(line, "A", "A", queue, receive) == "from A"


def test_a_router_in_the_middle_dies_and_comes_back(line: Network) -> None:
    """After a crash of B nothing is whole; after its return messages go the length of the line again."""
    middle = line.routers["B"]
    middle.kill()
    try:
        with pytest.raises(Problem, match="the routers did not come together in"):
            line.wait_connected(0.2)
    finally:
        middle.start()
        line.wait_connected()
    assert carried(line, "A", "C", "inflight/again") == "from A"


def test_a_stand_in_does_as_it_is_told(router_line: Network) -> None:
    """A fault is given and taken away through its control socket."""
    middle = router_line.routers["B"]
    assert isinstance(middle, StandIn)
    middle.tell({"kind": "drop", "address": "inflight/told", "count": 1})
    assert [fault["kind"] for fault in middle.tell({"do": "list"})["faults"].values()] == ["drop"]
    middle.tell({"do": "clear"})
    assert middle.tell({"do": "list"})["faults"] == {}


def test_the_config_of_the_network_is_a_valid_one(router_line: Network) -> None:
    """What `config` begins can be completed with paths: `inflight check` finds nothing wrong with it."""
    paths = {"length": {"from": "A", "to": "C", "address": "inflight/length"}}
    config = parse(yaml.safe_dump({**router_line.config(), "paths": paths}), "demo.yaml")
    assert sorted(config.endpoints) == ["A", "B", "C", "broker"]
    assert config.brokers["artemis"].jolokia == router_line.artemis.jolokia_url
