"""Two real Artemis, linked as a topology says: the collector's figures are those of what was sent."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import written_artemis
from helpers import free_port, wait_until
from proton import Message
from proton.utils import BlockingConnection
from watching import Watching, all_closed

from collectors.broker.collector import BrokerCollector
from collectors.config.model import Broker
from deploy.embedded.supervise.process import Process
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.topology import load, outputs
from deploy.topology.load import Network
from deploy.topology.mistakes import Source
from deploy.topology.outputs import monitor

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

SMALL = {"journal-file-size": "1M", "journal-min-files": 2, "max-disk-usage": -1, "critical-analyzer": False}
_SECONDS = 60.0
_HANG_SECONDS = 240.0  # Artemis itself takes a minute to see it (and with a bridge two)
ORDERS = {"address": "orders", "queue": "orders"}
PLAIN = {"address": "plain", "queue": "plain"}
LINK_NAMES = {"bridge": "orders-to-two", "amqp": "two", "mirror": "two"}


def network(by: str) -> Network:
    queues = {} if by == "mirror" else {"queues": ["orders"]}
    one, two = ({"settings": SMALL, "jolokia": f"http://127.0.0.1:{free_port()}/jolokia"} for _ in range(2))
    document = {
        "version": 1,
        "routers": {"A": {}},
        "brokers": {"one": {**one, "queues": ["orders", "plain"]}, "two": two},
        "links": [{"from": "A", "to": "one"}, {"from": "one", "to": "two", "by": by, **queues}],
    }
    return load.made(document, Source("test"), pick=lambda _address, _role: free_port())


class Pair:
    """Brokers `one` and `two`, each watched by a collector with the config that is written."""

    def __init__(self, by: str, folder: Path, supervisor: Supervisor, watch: Callable[..., Watching]) -> None:
        found = network(by)
        self._supervisor = supervisor
        config = monitor.config(found.plan)
        self.urls = {name: endpoint["url"] for name, endpoint in config["endpoints"].items()}
        self._specs = {}
        for name, text in outputs.files(found).items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for name, broker in found.plan.brokers.items():
            port = int(config["brokers"][name]["jolokia"].split(":")[-1].split("/")[0])
            self._specs[name] = written_artemis.spec(name, broker.port, folder / outputs.HOSTS / name, port)
        self.processes: dict[str, Process] = {}
        for name in ("two", "one"):
            self.start(name)
        self.one, self.two = (watch(name=name, config=config["brokers"][name]) for name in ("one", "two"))
        to = "two" if by == "bridge" else self.urls["two"].removeprefix("amqp://")
        self._link = {"kind": by, "link": LINK_NAMES[by], "to": to}
        wait_until(lambda: self.link("up") == 1, _SECONDS, "the link")

    def start(self, name: str) -> None:
        self.processes[name] = self._supervisor.start(self._specs[name])

    def link(self, metric: str) -> float | None:
        return self.one.value(f"broker_link_{metric}", **self._link)

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


@contextmanager
def running(by: str, folder: Path) -> Iterator[Pair]:
    def watch(*, name: str, config: dict[str, Any]) -> Watching:
        broker = Broker.model_validate({**config, "interval": "500ms"})
        return Watching(
            lambda context, stop, on_status: BrokerCollector(name, broker, context, stop, on_status),
            *("broker", name, {"mesh": config["mesh"], "broker": name}),
        )

    with Supervisor(folder / "state") as supervisor, all_closed(watch) as watched:
        yield Pair(by, folder, supervisor, watched)


@pytest.mark.parametrize("by", ["bridge", "amqp"])
def test_what_is_sent_on(by: str, tmp_path: Path) -> None:
    """All of the queue, nothing of another. With the next broker gone it waits, and goes when it is back."""
    with running(by, tmp_path) as pair:
        pair.send(10)
        pair.wait(pair.two, 10)
        pair.wait(pair.one, 0)
        assert pair.two.value("broker_queue_messages", **PLAIN) is None
        pair.processes["two"].kill()
        wait_until(lambda: pair.link("up") == 0, _SECONDS, "the link to be down")
        assert pair.link("connected") == 0
        assert pair.link("started") == 1
        pair.send(7)
        pair.wait(pair.one, 7)
        # Artemis tells of a bridge which queue feeds it, of an AMQP connection not.
        assert pair.link("messages") == (7 if by == "bridge" else None)
        pair.start("two")
        wait_until(lambda: pair.link("up") == 1, _SECONDS, "the link to be back")
        pair.wait(pair.two, 17)
        pair.wait(pair.one, 0)
        if by == "bridge":
            wait_until(lambda: pair.link("acknowledged_messages_total") == 17, _SECONDS, "17 acknowledged")
            assert pair.link("sent_messages_total") == 17
            assert pair.link("messages") == 0


def test_a_mirror(tmp_path: Path) -> None:
    """Messages and acknowledgements are on the other broker; with it gone they wait in no user's queue."""
    with running("mirror", tmp_path) as pair:
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
        pair.processes["two"].kill()
        wait_until(lambda: pair.link("up") == 0, _SECONDS, "the mirror to be down")
        pair.send(5)
        pair.receive("one", 2)
        wait_until(lambda: pair.link("messages") == 7, _SECONDS, "5 messages and 2 acknowledgements to wait")
        status = pair.one.statuses[-1]
        assert [row["queue"] for row in status.snapshot.beans["queue"]] == ["orders", "plain"]
        pair.start("two")
        wait_until(lambda: pair.link("messages") == 0, _SECONDS, "the mirror to have all again")
        pair.wait(pair.two, 9)
        pair.wait(pair.one, 9)


def test_a_broker_that_hangs(tmp_path: Path) -> None:
    """It is down as no poll waits beyond its deadline, and so is the link to it as soon as its peer knows."""
    with running("mirror", tmp_path) as pair:
        pid = pair.processes["two"].pid
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
