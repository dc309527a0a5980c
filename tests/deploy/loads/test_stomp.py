"""STOMP to a real Artemis, whose own counters tell how many messages there were."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from helpers import free_port, wait_until
from run_loads import LoadRun, delivered, run_loads

from deploy.embedded import http
from deploy.embedded.programs.artemis import SMALL, Artemis
from deploy.topology.outputs import artemis as written

pytest.importorskip("stomp", reason="optional: stomp.py is of an extra")
pytestmark = pytest.mark.e2e

MBEANS = "org.apache.activemq.artemis"


class StompBroker:
    """An Artemis that speaks STOMP as well."""

    def __init__(self, artemis: Artemis, port: int) -> None:
        self.artemis = artemis
        self.url = f"stomp://127.0.0.1:{port}"

    def routed(self, address: str) -> int:
        """How many messages it says that it routed at an address."""
        return int(self._read(address, "RoutedMessageCount"))

    def queues(self, address: str) -> list[str]:
        """The queues that it says an address has."""
        return list(self._read(address, "QueueNames"))

    def _read(self, address: str, attribute: str) -> Any:
        artemis = self.artemis
        question = {
            "type": "read",
            "mbean": f'{MBEANS}:broker="{artemis.name}",component=addresses,address="{address}"',
            "attribute": attribute,
        }
        password = artemis.password_file.read_text().strip()
        reply = http.post_json(
            artemis.jolokia_url, question, user=artemis.user, password=password, origin=artemis.origin
        )
        return reply["value"]

    def described(self, *loads: dict[str, Any], **more: Any) -> dict[str, Any]:
        described = {
            f"it{n or ''}": {"from": "broker", "to": "broker", **load} for n, load in enumerate(loads)
        }
        return {"endpoints": {"broker": {"url": self.url}}, "loads": described, **more}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StompBroker]:
    amqp, stomp = free_port(), free_port()
    acceptors = {
        "amqp": f"tcp://127.0.0.1:{amqp}?protocols=AMQP",
        "stomp": f"tcp://127.0.0.1:{stomp}?protocols=STOMP",
    }
    configuration = written.document("artemis", {"security-enabled": False, **SMALL}, acceptors, [])
    folder = tmp_path_factory.mktemp("stomp")
    with Artemis.alone(folder, port=amqp, configuration=configuration) as artemis:
        yield StompBroker(artemis, stomp)


@pytest.mark.parametrize("presettled", [False, True])
def test_a_stream_arrives(broker: StompBroker, *, presettled: bool) -> None:
    """With a receipt for each message, and without."""
    address = f"inflight.stream{presettled}"
    load = {
        "kind": "stream",
        "address": address,
        "rate": "300/s",
        "count": 500,
        "presettled": presettled,
        "durable": True,
    }
    found = run_loads(broker.described(load))
    assert delivered(found, "it") == 500
    assert broker.routed(address) == 500


def test_public_queues_are_shared(broker: StompBroker) -> None:
    """Each message goes to one of the consumers, and none of them gets all."""
    load = {
        "kind": "public",
        "address": "inflight.public",
        "queues": 2,
        "producers": 3,
        "consumers": 2,
        "rate": "50/s",
        "count": 120,
    }
    found = run_loads(broker.described(load, processes=2))
    assert [delivered(found, f"it/{n}") for n in range(2)] == [120, 120]
    assert [broker.routed(f"inflight.public.{n}") for n in range(2)] == [120, 120]
    by_consumer = found["received_by"]["it/0"]
    assert sum(by_consumer.values()) == 120
    assert max(by_consumer.values()) < 120


def test_a_durable_subscription_is_found_again_by_the_next_run(broker: StompBroker) -> None:
    """The first one leaves it at the broker.

    At an address whose routing is multicast by default: at one of anycast Artemis answers AMQ339016.
    """
    load = {
        "kind": "stream",
        "address": "news.durable",
        "topic": True,
        "receivers": 2,
        "subscription": "kept",
        "rate": "100/s",
        "count": 50,
    }
    for _ in range(2):
        found = run_loads(broker.described(load))
        assert [delivered(found, f"it/{n}") for n in range(2)] == [50, 50]
    subscriptions = broker.queues("news.durable")
    assert sorted(subscriptions) == ["kept-0.kept-0", "kept-1.kept-1"]


@pytest.mark.parametrize(
    ("headers", "selector"),
    [
        ({"colour": "red"}, "colour = 'red'"),
        ({"weight": "12"}, "convert_string_expressions:weight > 11"),
    ],
)
def test_a_selector_takes_one_load_out_of_two(
    broker: StompBroker, headers: dict[str, str], selector: str
) -> None:
    """Of text, and of numbers where the selector asks for that."""
    (name,) = headers
    address = f"news.{name}"
    each = {"kind": "stream", "address": address, "topic": True, "rate": "100/s", "count": 60}
    chosen = {**each, "headers": headers, "selector": selector}
    other = {**each, "headers": {name: "9"}, "selector": f"{name} = '9'"}
    found = run_loads(broker.described(chosen, other))
    assert [delivered(found, f"it{n}") for n in ("", "1")] == [60, 60]
    assert [found["beside"][f"it{n}"].get("foreign", 0) for n in ("", "1")] == [0, 0]


def test_a_slow_subscriber_reads_at_its_rate(broker: StompBroker) -> None:
    """The other one of the topic does not wait for it."""
    load = {
        "kind": "stream",
        "address": "news.slow",
        "topic": True,
        "receivers": 2,
        "reads": [0, "40/s"],
        "rate": 0,
        "count": 120,
    }
    found = run_loads(broker.described(load))
    assert [delivered(found, f"it/{n}") for n in range(2)] == [120, 120]
    quick, slow = (found["figures"][f"it/{n}"]["max_ns"] for n in range(2))
    assert slow > 2_000_000_000
    assert quick < slow


def test_a_stream_goes_on_when_its_broker_comes_back(broker: StompBroker) -> None:
    load = {
        "kind": "stream",
        "address": "inflight.back",
        "rate": "100/s",
        "duration": "300s",
        "durable": True,
    }
    with LoadRun(broker.described(load, settle="2s", patience="120s")) as run:
        run.wait_for("received", 50)
        broker.artemis.restart()
        before = run.progress()[-1]["received"]
        wait_until(lambda: run.progress()[-1]["received"] > before + 50, 90, "messages after the restart")
        run.stop()
        found = run.end()
    assert found["stopped"] == "ended by its user"
    assert found["problems"] == []


def test_a_broker_that_is_not_there_is_told() -> None:
    load = {"kind": "stream", "from": "s", "to": "s", "address": "x", "count": 5}
    endpoints = {"s": {"url": f"stomp://127.0.0.1:{free_port()}"}}
    with LoadRun({"endpoints": endpoints, "loads": {"it": load}, "patience": "2s"}) as run:
        found = run.end()
    assert found["stopped"].startswith("nothing was sent: ")
    assert "stomp://127.0.0.1" in found["stopped"]
