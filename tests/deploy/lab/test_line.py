"""A line of routers with a broker: stand-ins, and real routers where there are some."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import yaml
from proton import Message
from proton.utils import BlockingConnection
from real_routers import ROUTERS, line, running

from collectors.config.load import parse
from deploy.errors import Problem
from deploy.lab.lab import Lab
from deploy.lab.routers import StandIn
from deploy.topology.programs import Program

pytestmark = pytest.mark.e2e

QUEUE = "inflight.store"


@contextmanager
def connected(url: str) -> Iterator[BlockingConnection]:
    connection = BlockingConnection(url, timeout=10)
    try:
        yield connection
    finally:
        connection.close()


def carried(lab: Lab, source: str, target: str, address: str, receive: str | None = None) -> str:
    """What a receiver at one router gets of a message sent at another."""

    def send() -> None:
        with connected(lab.routers[source].url) as here:
            here.create_sender(address).send(Message(f"from {source}"))

    # Each in its thread: the receiver's outcome is what the sender waits for.
    with ThreadPoolExecutor(1) as threads:
        with connected(lab.routers[target].url) as there:
            receiver = there.create_receiver(receive or address)
            sending = threads.submit(send)
            body = receiver.receive(timeout=10).body
            receiver.accept()
        sending.result(timeout=10)
        return str(body)


@pytest.fixture(scope="module", params=["stand-in", *ROUTERS], ids=lambda p: getattr(p, "name", p))
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """What is true of the one is true of the others."""
    if isinstance(request.param, Program):
        folder = tmp_path_factory.mktemp("real")
        with running(line(request.param, brokers=("store",)), folder) as found:
            yield found
    else:
        yield request.getfixturevalue("router_line")


def test_messages_go_the_length_of_the_line(lab: Lab) -> None:
    """From one end to the other, both ways, over the router in the middle."""
    assert carried(lab, "A", "C", "inflight/length") == "from A"
    assert carried(lab, "C", "A", "inflight/length") == "from C"


def test_messages_go_through_the_queue(lab: Lab) -> None:
    """The path of the lab's config leads through the broker, whatever the routers' way with queues."""
    path = lab.config()["paths"]["store"]
    assert (path["from"], path["to"], path["address"], path["via"]) == ("A", "C", QUEUE, "store")
    assert carried(lab, "A", "C", QUEUE, path.get("receive_address")) == "from A"


def test_a_router_in_the_middle_dies_and_comes_back(lab: Lab) -> None:
    """After a crash of B nothing is whole, and who waits for whom is told; after its return all is."""
    lab.tell({"do": "kill", "part": "B"})
    try:
        with pytest.raises(Problem) as told:
            lab.wait_connected(1.0)
    finally:
        lab.tell({"do": "start", "part": "B"})
        lab.wait_connected()
    assert "the lab did not come together in 1 s" in told.value.message
    assert "A waits for B" in told.value.message
    assert "B does not answer" in told.value.message
    assert carried(lab, "A", "C", "inflight/again") == "from A"


def test_a_router_that_stands_still_is_waited_for_until_the_deadline(lab: Lab) -> None:
    """It takes connections and says nothing: the wait ends all the same, with its name; then it goes on."""
    lab.tell({"do": "pause", "part": "B"})
    try:
        with pytest.raises(Problem, match="B does not answer its management"):
            lab.wait_connected(3.0)
    finally:
        lab.tell({"do": "resume", "part": "B"})
    lab.wait_connected()
    assert lab.routers["B"].alive


def test_a_stand_in_does_as_it_is_told(router_line: Lab) -> None:
    """A fault is given and taken away through its control socket."""
    middle = router_line.routers["B"]
    assert isinstance(middle, StandIn)
    middle.tell({"kind": "drop", "address": "inflight/told", "count": 1})
    assert [fault["kind"] for fault in middle.tell({"do": "list"})["faults"].values()] == ["drop"]
    middle.tell({"do": "clear"})
    assert middle.tell({"do": "list"})["faults"] == {}


def test_the_config_of_a_lab_is_a_valid_one(lab: Lab) -> None:
    """`inflight check` finds nothing wrong with it; routers are expected by the ids that they have."""
    config = parse(yaml.safe_dump(lab.config()), "lab.yaml")
    assert sorted(config.endpoints) == ["A", "B", "C", "store"]
    assert config.brokers["store"].jolokia == lab.brokers["store"].jolokia_url
    ids = [router.router_id for router in lab.routers.values()]
    assert config.meshes["line"].expect == (f"{ids[0]}--{ids[1]}", f"{ids[1]}--{ids[2]}")
    assert config.kafka is None
