"""Two real Artemis, linked as a topology says: the collector's figures are those of what was sent."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers import wait_until
from lab_commands import Labs
from prometheus_client import Metric
from proton import Message
from proton.utils import BlockingConnection
from watching import Watching, all_closed

from collectors.broker.collector import BrokerCollector
from collectors.config.model import Broker
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.lab import client
from deploy.lab.lab import Lab
from deploy.topology import load
from deploy.topology.mistakes import Source

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

_SECONDS = 60.0
_HANG_SECONDS = 240.0  # Artemis itself takes a minute to see it (and with a bridge two)
ORDERS = {"address": "orders", "queue": "orders"}
PLAIN = {"address": "plain", "queue": "plain"}
LINK_NAMES = {"bridge": "orders-to-two", "amqp": "two", "mirror": "two"}


def document(by: str) -> dict[str, Any]:
    queues = {} if by == "mirror" else {"queues": ["orders"]}
    return {
        "version": 1,
        "name": "pair",
        "routers": {"A": {}},
        "brokers": {"one": {"queues": ["orders", "plain"]}, "two": {}},
        "links": [
            {"from": "A", "to": "one", "queues": ["other"]},
            {"from": "one", "to": "two", "by": by, **queues},
        ],
    }


class Pair:
    """Brokers `one` and `two` of a lab, each watched by a collector with the lab's config."""

    def __init__(self, config: Mapping[str, Any], watch: Callable[..., Watching]) -> None:
        self.urls = {name: endpoint["url"] for name, endpoint in config["endpoints"].items()}
        self.one, self.two = (watch(name=name, config=config["brokers"][name]) for name in ("one", "two"))
        wait_until(lambda: self.link("up") == 1, _SECONDS, "the link")

    def link(self, metric: str) -> float | None:
        """The figure of the one link that there is."""
        values = [sample.value for sample in self._samples(metric)]
        assert len(values) <= 1
        return values[0] if values else None

    def labels(self) -> dict[str, str]:
        """How the link is told from others."""
        (sample,) = self._samples("up")
        return {name: sample.labels[name] for name in ("kind", "link", "to")}

    def _samples(self, metric: str) -> list[Any]:
        families: list[Metric] = list(self.one.registry.collect())
        name = f"inflight_broker_link_{metric}"
        return [sample for family in families for sample in family.samples if sample.name == name]

    def send(self, count: int) -> None:
        connection = BlockingConnection(self.urls["one"], timeout=30)
        sender = connection.create_sender("orders")
        for number in range(count):
            sender.send(Message(durable=True, body=number))
        connection.close()

    def receive(self, name: str, count: int) -> None:
        connection = BlockingConnection(self.urls[name], timeout=30)
        receiver = connection.create_receiver("orders", credit=count)
        for _ in range(count):
            receiver.receive(timeout=30)
            receiver.accept()
        connection.close()

    def wait(self, broker: Watching, count: int) -> None:
        wait_until(
            lambda: broker.value("broker_queue_messages", **ORDERS) == count, _SECONDS, f"{count} messages"
        )


def _watch(*, name: str, config: dict[str, Any]) -> Watching:
    broker = Broker.model_validate({**config, "interval": "500ms"})
    return Watching(
        lambda context, stop, on_status: BrokerCollector(name, broker, context, stop, on_status),
        *("broker", name, {"mesh": config["mesh"], "broker": name}),
    )


@contextmanager
def running(by: str, folder: Path) -> Iterator[tuple[Pair, Lab]]:
    """A lab of the brokers alone, with nothing between them."""
    topology = load.made(document(by), Source("test")).topology
    with Supervisor(folder) as supervisor, all_closed(_watch) as watch:
        lab = Lab(supervisor, topology, stand_ins=True)
        lab.start("one", "two")
        pair = Pair(lab.config(), watch)
        to = "two" if by == "bridge" else pair.urls["two"].removeprefix("amqp://")
        assert pair.labels() == {"kind": by, "link": LINK_NAMES[by], "to": to}
        yield pair, lab


@pytest.mark.parametrize("by", ["bridge", "amqp"])
def test_what_is_sent_on(by: str, tmp_path: Path) -> None:
    """All of the queue, nothing of another. With the next broker gone it waits, and goes when it is back."""
    with running(by, tmp_path) as (pair, lab):
        pair.send(10)
        pair.wait(pair.two, 10)
        pair.wait(pair.one, 0)
        assert pair.two.value("broker_queue_messages", **PLAIN) is None
        lab.parts["two"].kill()
        wait_until(lambda: pair.link("up") == 0, _SECONDS, "the link to be down")
        assert pair.link("connected") == 0
        assert pair.link("started") == 1
        pair.send(7)
        pair.wait(pair.one, 7)
        # Artemis tells of a bridge which queue feeds it, of an AMQP connection not.
        assert pair.link("messages") == (7 if by == "bridge" else None)
        lab.start("two")
        wait_until(lambda: pair.link("up") == 1, _SECONDS, "the link to be back")
        pair.wait(pair.two, 17)
        pair.wait(pair.one, 0)
        if by == "bridge":
            wait_until(lambda: pair.link("acknowledged_messages_total") == 17, _SECONDS, "17 acknowledged")
            assert pair.link("sent_messages_total") == 17
            assert pair.link("messages") == 0


def test_a_mirror(tmp_path: Path) -> None:
    """Messages and acknowledgements are on the other broker; with it gone they wait in no user's queue."""
    with running("mirror", tmp_path) as (pair, lab):
        # What makes its queues goes over first.
        wait_until(lambda: pair.two.value("broker_queue_messages", **PLAIN) == 0, _SECONDS, "its queues")
        wait_until(lambda: pair.link("messages") == 0, _SECONDS, "the mirror to have all")
        before = pair.link("acknowledged_messages_total") or 0
        pair.send(10)
        pair.wait(pair.two, 10)
        pair.receive("one", 4)
        pair.wait(pair.two, 6)
        wait_until(
            lambda: pair.two.value("broker_queue_acknowledged_messages_total", **ORDERS) == 4, _SECONDS, "4"
        )
        pair.wait(pair.one, 6)
        told = "10 messages and 4 acknowledgements"
        wait_until(lambda: pair.link("acknowledged_messages_total") == before + 14, _SECONDS, told)
        lab.parts["two"].kill()
        wait_until(lambda: pair.link("up") == 0, _SECONDS, "the mirror to be down")
        pair.send(5)
        pair.receive("one", 2)
        wait_until(lambda: pair.link("messages") == 7, _SECONDS, "5 messages and 2 acknowledgements to wait")
        status = pair.one.statuses[-1]
        assert [row["queue"] for row in status.snapshot.beans["queue"]] == ["orders", "other", "plain"]
        lab.start("two")
        wait_until(lambda: pair.link("messages") == 0, _SECONDS, "the mirror to have all again")
        pair.wait(pair.two, 9)
        pair.wait(pair.one, 9)


def test_a_broker_that_hangs(tmp_path: Path) -> None:
    """It is down as no poll waits beyond its deadline, and so is the link to it as soon as its peer knows."""
    with running("mirror", tmp_path) as (pair, lab):
        pid = lab.parts["two"].process.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            pair.send(5)
            wait_until(lambda: pair.two.value("broker_up") == 0, _SECONDS, "the broker that hangs to be down")
            assert pair.two.polls("timeout") >= 1
            wait_until(lambda: pair.link("messages") == 5, _SECONDS, "messages to wait")
            polls = pair.one.polls("ok")
            wait_until(lambda: pair.link("up") == 0, _HANG_SECONDS, "the link to be down")
            assert pair.link("messages") == 5
            assert pair.one.polls("ok") > polls
            assert pair.one.value("broker_up") == 1
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_until(lambda: pair.link("up") == 1, _SECONDS, "the link to be back")
        wait_until(lambda: pair.link("messages") == 0, _SECONDS, "nothing to wait")


@pytest.mark.parametrize("by", ["bridge", "amqp", "mirror"])
def test_a_link_between_brokers_is_cut(by: str, tmp_path: Path) -> None:
    """In a lab by its command, of which relays are the links: what is sent waits until the link is back."""
    (tmp_path / "pair.yaml").write_text(yaml.safe_dump(document(by)))
    labs = Labs(tmp_path)
    try:
        labs.run("up", "pair.yaml", "--stand-ins")
        lab = client.at(labs.place("pair"))
        assert lab is not None
        with all_closed(_watch) as watch:
            pair = Pair(yaml.safe_load(lab.config_file.read_text()), watch)
            wait_until(
                lambda: by != "mirror" or pair.link("messages") == 0, _SECONDS, "the mirror to have all"
            )
            lab.ask({"do": "cut", "link": "one--two"})
            wait_until(lambda: pair.link("up") == 0, _SECONDS, "the link to be down")
            pair.send(5)
            pair.wait(pair.one, 5)
            lab.ask({"do": "clear", "link": "one--two"})
            wait_until(lambda: pair.link("up") == 1, _SECONDS, "the link to be back")
            pair.wait(pair.two, 5)
            pair.wait(pair.one, 5 if by == "mirror" else 0)
        labs.run("down", "pair")
    finally:
        labs.close()
