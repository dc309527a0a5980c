"""Stand-ins as processes, and AMQP clients of them, all in one container."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import proton
from proton.handlers import MessagingHandler
from proton.reactor import AtLeastOnce, AtMostOnce, Container

from deploy.standin.faults import control

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def _die_with_parent() -> None:
    """Let the kernel end the stand-in when the test run is killed."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class StandIn:
    """One process; `start` after its end brings it back on the same port."""

    def __init__(self, directory: Path, name: str, *options: str) -> None:
        self.name = name
        self.id = f"{name}.stand-in"
        self.control = directory / f"{name}.sock"
        self._log = directory / f"{name}.log"
        self._options = options
        self.port = 0
        self.start()

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "deploy.standin",
            "--name",
            self.name,
            "--control",
            str(self.control),
        ]
        if not any(option == "--listen" for option in self._options):
            command += ["--listen", f"127.0.0.1:{self.port},strip=no"]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *self._options],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 -- it only makes one system call
            )
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line.startswith("ready "), self._log.read_text()
        self.port = int(line.split()[1])

    def tell(self, **command: Any) -> dict[str, Any]:
        return control.send(self.control, command)

    def log(self) -> str:
        return self._log.read_text()

    def stop(self) -> int:
        self.process.terminate()
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


class Outgoing:
    """A sender link; `outcomes` has the state of each delivery that was settled, in order of settling."""

    def __init__(self, clients: Clients, link: proton.Sender) -> None:
        self.clients = clients
        self.link = link
        self.outcomes: list[int] = []

    def send(self, count: int = 1, **fields: Any) -> None:
        """Send messages, each as soon as there is credit."""
        for number in range(count):
            self.clients.wait(lambda: self.link.credit > 0, f"credit for message {number}")
            self.link.send(proton.Message(**{"id": number, "body": f"body {number}", **fields}))

    def settled(self, count: int) -> list[int]:
        self.clients.wait(lambda: len(self.outcomes) >= count, f"{count} outcomes")
        return self.outcomes


class Incoming:
    """A receiver link; takes what it has credit for and, unless told otherwise, accepts it."""

    def __init__(self, clients: Clients, link: proton.Receiver, *, outcome: int | None) -> None:
        self.clients = clients
        self.link = link
        self.outcome = outcome
        self.messages: list[proton.Message] = []
        self.deliveries: list[proton.Delivery] = []
        self.presettled: list[bool] = []
        self.arrived: list[float] = []

    def got(self, count: int) -> list[proton.Message]:
        self.clients.wait(lambda: len(self.messages) >= count, f"{count} messages")
        return self.messages

    def ids(self) -> list[Any]:
        return [message.id for message in self.messages]


class Clients(MessagingHandler):
    def __init__(self) -> None:
        super().__init__(prefetch=0, auto_accept=False)
        self.container = Container(self)
        self.container.timeout = 0.01
        self.container.start()
        self.connections: dict[int, proton.Connection] = {}
        self._ends: dict[proton.Link, Incoming | Outgoing] = {}
        self.detached: list[proton.Link] = []

    def detach(self, end: Incoming | Outgoing) -> None:
        """Close a link and wait until the router has, too."""
        end.link.close()
        self.wait(lambda: end.link in self.detached, "answer to the detach")

    def pump(self, seconds: float) -> None:
        """Process events for a while, to see that something does not happen."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.container.process()

    def wait(self, condition: Callable[[], Any], what: str, seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"no {what} within {seconds} s"
            self.container.process()

    def connect(self, port: int, **options: Any) -> proton.Connection:
        if port not in self.connections:
            url = f"amqp://127.0.0.1:{port}"
            self.connections[port] = self.container.connect(url, reconnect=False, **options)
        return self.connections[port]

    def sender(self, port: int, address: str | None, *, presettled: bool = False) -> Outgoing:
        options = AtMostOnce() if presettled else AtLeastOnce()
        name = f"s{len(self._ends)}"
        link = self.container.create_sender(self.connect(port), address, name=name, options=options)
        end = self._ends[link] = Outgoing(self, link)
        self._open(link)
        return end

    def receiver(
        self,
        port: int,
        address: str | None,
        credit: int = 100,
        *,
        outcome: int | None = proton.Delivery.ACCEPTED,
        dynamic: bool = False,
        presettled: bool = False,
    ) -> Incoming:
        link = self.container.create_receiver(
            self.connect(port),
            address,
            name=f"r{len(self._ends)}",
            dynamic=dynamic,
            options=AtMostOnce() if presettled else None,
        )
        end = self._ends[link] = Incoming(self, link, outcome=outcome)
        self._open(link)
        if credit:
            link.flow(credit)
        return end

    def _open(self, link: proton.Link) -> None:
        self.wait(
            lambda: link.state & proton.Endpoint.REMOTE_ACTIVE or link in self.detached,
            f"answer to the attach of {link.name}",
        )

    def on_message(self, event: Any) -> None:
        end = self._ends[event.link]
        end.messages.append(event.message)
        end.deliveries.append(event.delivery)
        end.presettled.append(event.delivery.settled)
        end.arrived.append(time.monotonic())
        if end.outcome is not None and not event.delivery.settled:
            event.delivery.update(end.outcome)
            event.delivery.settle()

    def on_settled(self, event: Any) -> None:
        if event.link.is_sender:
            self._ends[event.link].outcomes.append(event.delivery.remote_state)

    def on_link_error(self, event: Any) -> None:
        self.detached.append(event.link)

    def on_link_closing(self, event: Any) -> None:
        self.detached.append(event.link)

    def on_link_closed(self, event: Any) -> None:
        self.detached.append(event.link)

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()
        self.pump(0.05)


class Requester:
    """A management client that sends one request after another."""

    def __init__(self, clients: Clients, port: int) -> None:
        self._clients = clients
        self._replies = clients.receiver(port, None, 1000, dynamic=True)
        self._anonymous = clients.sender(port, None)
        self._number = 0

    def ask(self, properties: dict[str, Any], body: Any = None, node: str = "$management") -> proton.Message:
        self._number += 1
        self._anonymous.send(
            address=node,
            reply_to=self._replies.link.remote_source.address,
            correlation_id=self._number,
            properties=properties,
            body=body,
        )
        reply: proton.Message = self._replies.got(self._number)[-1]
        assert reply.correlation_id == self._number
        return reply

    def query(
        self, entity: str, attributes: list[str] | None = None, node: str = "$management", **more: Any
    ) -> proton.Message:
        properties = {"operation": "QUERY", "entityType": entity, **more}
        return self.ask(properties, {"attributeNames": attributes or []}, node)

    def rows(self, entity: str, node: str = "$management") -> list[dict[str, Any]]:
        body = self.query(entity, node=node).body
        return [dict(zip(body["attributeNames"], row, strict=True)) for row in body["results"]]

    def knows(self, key: str, *, here: int = 0, elsewhere: int = 0, node: str = "$management") -> None:
        """Wait until a router knows so many consumers of its own, and so many routers with others."""

        def known() -> bool:
            rows = self.rows("org.apache.qpid.dispatch.router.address", node)
            row = next((row for row in rows if row["key"] == key), None)
            return row is not None and (row["subscriberCount"], row["remoteCount"]) == (here, elsewhere)

        self._clients.wait(known, f"{here} consumers of {key} here and {elsewhere} routers elsewhere")
