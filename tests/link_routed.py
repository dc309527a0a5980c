"""Routers with link routes to scripted brokers: of the program asked for, from one topology."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import proton
from helpers import free_port, optional
from proton import Message
from proton.utils import BlockingConnection
from raw_links import End, Seen, Wires, mirror

from deploy.embedded.supervise.ports import accepts
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.topology import load
from deploy.topology.mistakes import Source
from deploy.topology.outputs import router, stand_in
from deploy.topology.plan import Plan

LOST, NO_WAY = "qd:routed-link-lost", "qd:no-route-to-dest"
_SECONDS = 60.0

LINE: dict[str, Any] = {
    "version": 1,
    "routers": {"A": {}, "B": {}, "C": {}, "E": {"mode": "edge"}},
    "brokers": {"store": {}, "deep": {}, "edge-store": {}},
    "links": [
        {"from": "B", "to": "A"},
        {"from": "C", "to": "B"},
        {"from": "E", "to": "A"},
        {"from": "C", "to": "store", "link_routes": ["lr"]},
        {"from": "C", "to": "deep", "link_routes": ["lr.deep"]},
        {"from": "E", "to": "edge-store", "link_routes": ["of-edge"]},
    ],
}

LED = (
    ("A", "lr.q", "store"),
    ("A", "lr.deep", "deep"),
    ("C", "of-edge.q", "edge-store"),
    ("E", "lr.q", "store"),
)


class OneRouter:
    """A router's process; `start` after `kill` brings it back where it was."""

    def __init__(self, supervisor: Supervisor, spec: ProcessSpec) -> None:
        self._supervisor = supervisor
        self._spec = spec
        self.start()

    def start(self) -> None:
        self._running = self._supervisor.start(self._spec)

    def kill(self) -> None:
        self._running.kill()

    def pause(self) -> None:
        os.kill(self._running.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self._running.pid, signal.SIGCONT)


def argv(plan: Plan, name: str, folder: Path, program: str) -> list[str | Path]:
    if program == "stand-in":
        control = ["--control", str(folder / f"{name}.sock")]
        return [sys.executable, "-m", "deploy.standin", *control, *stand_in.arguments(plan, name)]
    found = shutil.which(program)
    if found is None:
        optional(program)
    file = folder / f"{name}.conf"
    file.write_text(router.configuration(plan, name))
    return [found or program, "-c", file]


class Routed:
    def __init__(self, supervisor: Supervisor, folder: Path, program: str, document: dict[str, Any]) -> None:
        self.plan = load.made(document, Source("test"), pick=lambda _address, _role: free_port()).plan
        self.folder = folder
        self.wires = Wires()
        self._answers: dict[str, Callable[[Any], None]] = {}
        self._names = (f"link{number}" for number in itertools.count())
        self.brokers = {name: self._listen(name) for name in self.plan.brokers}
        self.routers = {
            name: OneRouter(
                supervisor,
                ProcessSpec(
                    name=f"router-{name}",
                    argv=argv(self.plan, name, folder, program),
                    ready=lambda name=name: accepts(self.port(name)),
                    timeout_seconds=30,
                ),
            )
            for name in self.plan.routers
        }

    def port(self, name: str) -> int:
        return self.plan.routers[name].listener("normal").port

    # -- brokers ------------------------------------------------------------------------------------------

    def _listen(self, name: str) -> End:
        def answer(link: Any) -> None:
            self._answers.get(name, mirror)(link)

        return self.wires.listen(self.plan.brokers[name].port, answer)

    @contextmanager
    def answering(self, broker: str, answer: Callable[[Any], None]) -> Iterator[None]:
        self._answers[broker] = answer
        yield
        del self._answers[broker]

    def drop_connection(self, broker: str) -> None:
        """Cut it off, as a killed process does."""
        transport = self.brokers[broker].connection.transport
        transport.close_tail()
        transport.close_head()

    @contextmanager
    def away(self, broker: str) -> Iterator[None]:
        """Have a broker neither listen nor be connected."""
        self.brokers[broker].stop_listening()
        self.drop_connection(broker)
        self.wires.pump(0.5)
        yield
        self.brokers[broker] = self._listen(broker)

    # -- links --------------------------------------------------------------------------------------------

    def _routed(self, kind: str, client: End, address: str, broker: str) -> tuple[Seen, Seen]:
        at = self.brokers[broker].in_order
        before = len(at)
        near = getattr(self.wires, kind)(client, address, next(self._names))
        self.wires.wait(lambda: near.up and len(at) > before, f"{kind} of {address}")
        return near, at[-1]

    def sender(self, client: End, address: str, broker: str = "store") -> tuple[Seen, Seen]:
        return self._routed("sender", client, address, broker)

    def receiver(self, client: End, address: str, broker: str = "store") -> tuple[Seen, Seen]:
        return self._routed("receiver", client, address, broker)

    def answered(self, client: End, address: str) -> Seen:
        """A sender's link that is up, or refused."""
        near = self.wires.sender(client, address, next(self._names))
        self.wires.wait(lambda: near.up or near.ended, f"an answer to {address}")
        return near

    def leads(self, client: End, address: str) -> str | None:
        """Which broker gets a sender's link; None for an ordinary address, or a refusal."""
        before = {name: len(end.in_order) for name, end in self.brokers.items()}
        near = self.answered(client, address)
        near.link.close()
        near.link.session.close()
        return next((n for n, end in self.brokers.items() if len(end.in_order) > before[n]), None)

    def wait_led(self, client: End, address: str, broker: str) -> None:
        def led() -> bool:
            self.wires.pump(0.05)
            return self.leads(client, address) == broker

        self.wires.wait(led, f"{address} at {broker}", _SECONDS)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        def holds() -> bool:
            self.wires.pump(0.1)
            return condition()

        self.wires.wait(holds, "state of the mesh as told", _SECONDS)

    # -- management ---------------------------------------------------------------------------------------

    def routed_rows(self, router: str) -> list[dict[str, Any]]:
        return [row for row in self.rows(router, "router.link") if row["peer"] is not None]

    def rows(self, router: str, entity: str, names: list[str] | None = None) -> list[dict[str, Any]]:
        """All entities of a type, asked at the router itself."""

        def ask() -> list[dict[str, Any]]:
            connection = BlockingConnection(f"amqp://127.0.0.1:{self.port(router)}", timeout=20)
            replies = connection.create_receiver(None, dynamic=True)
            connection.create_sender("$management").send(
                Message(
                    reply_to=replies.link.remote_source.address,
                    properties={"operation": "QUERY", "entityType": f"org.apache.qpid.dispatch.{entity}"},
                    body={"attributeNames": names or []},
                )
            )
            body = replies.receive(timeout=20).body
            connection.close()
            return [dict(zip(body["attributeNames"], row, strict=True)) for row in body["results"]]

        found: list[dict[str, Any]] = self._aside(ask)
        return found

    def _aside(self, ask: Callable[[], Any]) -> Any:
        """Call something that blocks, while the ends go on."""
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(ask()))
        thread.start()
        while thread.is_alive():
            self.wires.pump(0.05)
        return found[0]


@contextmanager
def running_routed(
    program: str, folder: Path, document: dict[str, Any] = LINE, led: tuple[tuple[str, str, str], ...] = LED
) -> Iterator[Routed]:
    """Start them, and wait until each (router, address, broker) of `led` is as told."""
    with Supervisor(folder) as supervisor:
        routed = Routed(supervisor, folder, program, document)
        for name, address, broker in led:
            client = routed.wires.client(routed.port(name))
            routed.wires.wait(
                lambda client=client: client.connection.state & proton.Endpoint.REMOTE_ACTIVE, name
            )
            routed.wait_led(client, address, broker)
        try:
            yield routed
        finally:
            routed.wires.close()
