"""Both ends of links in one thread, in raw proton: what each end sees, and nothing that is not asked for."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import proton
from proton import Handler
from proton.reactor import Container


@dataclass
class Seen:
    """What came by one link."""

    link: Any
    credits: list[tuple[int, bool]] = field(default_factory=list)  # (credit, drain) of each flow
    bodies: list[bytes] = field(default_factory=list)
    deliveries: list[Any] = field(default_factory=list)
    aborted: int = 0
    partial: bytes = b""
    outcomes: list[tuple[str, bool]] = field(default_factory=list)  # (state, settled) of each change
    ended: tuple[str, str | None] | None = None  # (detach or close, condition)
    text: str | None = None
    sent: int = 0

    @property
    def up(self) -> bool:
        return bool(self.link.state & proton.Endpoint.REMOTE_ACTIVE) and self.ended is None

    def end(self, how: str, condition: proton.Condition) -> None:
        self.link.condition = condition
        self.link._update_cond()  # noqa: SLF001 -- proton's detach leaves the condition out, its close does not
        getattr(self.link, how)()


class End(Handler):
    """A client, or with `listen` a peer that waits for connections; `seen` has its links by name."""

    def __init__(self, answer: Callable[[Any], None] | None = None) -> None:
        super().__init__()
        self._answer = answer or mirror
        self.seen: dict[str, Seen] = {}
        self.in_order: list[Seen] = []
        self.connection: Any = None
        self.connections: list[Any] = []
        self.acceptor: Any = None

    def on_connection_remote_open(self, event: Any) -> None:
        self.connections.append(event.connection)
        self.connection = event.connection
        if event.connection.state & proton.Endpoint.LOCAL_UNINIT:
            event.connection.container = "scripted"
            event.connection.open()

    def stop_listening(self) -> None:
        if self.acceptor is not None:
            self.acceptor.close()
            self.acceptor = None

    def on_session_remote_open(self, event: Any) -> None:
        if event.session.state & proton.Endpoint.LOCAL_UNINIT:
            event.session.open()

    def on_session_remote_close(self, event: Any) -> None:
        event.session.close()

    def on_connection_remote_close(self, event: Any) -> None:
        event.connection.close()

    def on_link_remote_open(self, event: Any) -> None:
        link = event.link
        if link.state & proton.Endpoint.LOCAL_UNINIT:
            self.add(link)
            self._answer(link)

    def add(self, link: Any) -> Seen:
        seen = self.seen[link.name] = Seen(link)
        self.in_order.append(seen)
        return seen

    def _of(self, link: Any) -> Seen | None:
        found = self.seen.get(link.name)
        return found if found is not None and found.link == link else None

    def on_link_flow(self, event: Any) -> None:
        seen = self._of(event.link)
        if seen:
            seen.credits.append((event.link.credit, bool(event.link.drain_mode)))

    def _ended(self, event: Any, how: str) -> None:
        seen = self._of(event.link)
        if seen and seen.ended is None:
            condition = event.link.remote_condition
            seen.ended = (how, condition.name if condition else None)
            seen.text = condition.description if condition else None

    def on_link_remote_close(self, event: Any) -> None:
        self._ended(event, "close")

    def on_link_remote_detach(self, event: Any) -> None:
        self._ended(event, "detach")

    def on_delivery(self, event: Any) -> None:
        delivery, seen = event.delivery, self._of(event.link)
        if seen is None:
            return
        if event.link.is_sender:
            if delivery.updated:
                state = getattr(delivery.remote_state, "name", delivery.remote_state)
                seen.outcomes.append((str(state), bool(delivery.settled)))
            return
        if delivery.aborted:
            seen.aborted += 1
            seen.partial = b""
            delivery.settle()
            return
        if delivery.readable:
            data = event.link.recv(delivery.pending)
            seen.partial += data or b""
            if not delivery.partial:
                event.link.advance()
                seen.bodies.append(seen.partial)
                seen.deliveries.append(delivery)
                seen.partial = b""
        elif delivery.updated:
            state = getattr(delivery.remote_state, "name", delivery.remote_state)
            seen.outcomes.append((str(state), bool(delivery.settled)))


def mirror(link: Any) -> None:
    link.source.copy(link.remote_source)
    link.target.copy(link.remote_target)
    link.open()


class Wires:
    """All ends of a test."""

    def __init__(self) -> None:
        self.container = Container()
        self.container.timeout = 0.01
        self.container.start()
        self._listening: list[End] = []
        self._ends: list[End] = []
        self._numbers = itertools.count()

    def listen(self, port: int, answer: Callable[[Any], None] | None = None) -> End:
        end = End(answer)
        end.acceptor = self.container.acceptor("127.0.0.1", port, end)
        self._listening.append(end)
        return end

    def client(self, port: int) -> End:
        end = End()
        end.connection = self.container.connect(f"amqp://127.0.0.1:{port}", handler=end, reconnect=False)
        end.connection.container = f"client{next(self._numbers)}"
        self._ends.append(end)
        return end

    def pump(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.container.process()

    def wait(self, condition: Callable[[], Any], what: str, seconds: float = 20) -> None:
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, f"no {what} within {seconds} s"
            self.container.process()

    def sender(self, end: End, address: str | None, name: str, **settings: Any) -> Seen:
        session = end.connection.session()
        session.open()
        link = session.sender(name)
        link.target.address = address
        return self._opened(end, link, settings)

    def receiver(self, end: End, address: str | None, name: str, **settings: Any) -> Seen:
        session = end.connection.session()
        session.open()
        link = session.receiver(name)
        link.source.address = address
        return self._opened(end, link, settings)

    def _opened(self, end: End, link: Any, settings: dict[str, Any]) -> Seen:
        for key, value in settings.items():
            setattr(link, key, value)
        link.open()
        return end.add(link)

    def close_clients(self) -> None:
        for end in self._ends:
            end.connection.close()
        self._ends.clear()
        self.pump(0.1)

    def close(self) -> None:
        self.close_clients()
        for end in self._listening:
            end.stop_listening()
            if end.connection is not None:
                end.connection.close()
        self.pump(0.1)
