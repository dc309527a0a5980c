"""Peers that misbehave, for tests to connect to."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable

from proton import Condition, Connection, Endpoint, Transport


class Peer(threading.Thread):
    """Accepts connections and serves each in a thread."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self.url = f"amqp://127.0.0.1:{self.port}"
        self.served = 0

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                self.served += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _serve(self, client: socket.socket) -> None:
        raise NotImplementedError


class Between(Peer):
    """Passes bytes on between probes and a router, changed by `_filter`."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._to = port
        self.active, self.done = True, 0
        self.deaf = False  # nothing is read of what probes send
        self.cut = False  # the connections end

    def _filter(self) -> Callable[[bytes], bytes]:
        """Make the filter of one connection: it returns what to pass on; empty bytes cut the connection."""
        raise NotImplementedError

    def _serve(self, client: socket.socket) -> None:
        passed_on = self._filter()
        with (
            client,
            socket.create_connection(("127.0.0.1", self._to)) as router,
            contextlib.suppress(OSError),
        ):
            while not self.cut:
                sources = [router] if self.deaf else [client, router]
                for source in select.select(sources, [], [], 0.1)[0]:
                    data = source.recv(1_024)
                    if data and self.active:
                        data = passed_on(data)
                    if not data:
                        return
                    (router if source is client else client).sendall(data)


class Dripping(Peer):
    """Writes something at once, and something else again and again; reads nothing."""

    def __init__(self, first: bytes, again: bytes, pause_seconds: float = 0.02) -> None:
        super().__init__()
        self._first, self._again, self._pause_seconds = first, again, pause_seconds

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            client.sendall(self._first)
            while True:
                time.sleep(self._pause_seconds)
                client.sendall(self._again)


class Evil(Peer):
    """A peer whose name, or whose reason to close each connection, is not UTF-8; it answers no attach."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place

    def _serve(self, client: socket.socket) -> None:
        engine, transport = Connection(), Transport(Transport.SERVER)
        engine.container = "xxxxxxxx" if self._place == "container" else "evil"
        engine.condition = Condition("amqp:x", "xxxxxxxx" if self._place == "reason" else "go away")
        transport.bind(engine)
        engine.open()
        if self._place == "reason":
            engine.close()
        data = b" "
        client.settimeout(0.2)
        while data:  # until the other side has had enough
            while (count := transport.pending()) > 0:
                client.sendall(transport.peek(count).replace(b"xxxxxxxx", b"\xff" * 8))
                transport.pop(count)
            try:
                data = client.recv(4_096)
            except TimeoutError:
                transport.tick(time.monotonic())  # it is alive, whatever else
                continue
            if transport.capacity() > 0:
                transport.push(data)
            session = engine.session_head(Endpoint.LOCAL_UNINIT)
            if session is not None:
                session.open()


class Phased(Peer):
    """A peer that answers up to a point, and then closes the socket or stands still."""

    PHASES = ("nothing", "header", "open", "begin", "attach", "credit")

    def __init__(self, last: str, *, closes: bool) -> None:
        super().__init__()
        self._last, self._closes = self.PHASES.index(last), closes
        self._kept: list[socket.socket] = []

    def _serve(self, client: socket.socket) -> None:
        engine, transport = Connection(), Transport(Transport.SERVER)
        engine.container = "phased"
        transport.sasl().allowed_mechs("ANONYMOUS")
        transport.bind(engine)
        all_said = False
        with contextlib.suppress(ConnectionError):  # the other side may have given up
            while not all_said and (data := client.recv(4_096)):
                if self._last:
                    transport.push(data)
                all_said = self._answer(engine)
                while self._last and (count := transport.pending()) > 0:
                    client.sendall(transport.peek(count))
                    transport.pop(count)
        if self._closes:
            client.close()
        else:
            self._kept.append(client)

    def _answer(self, engine: Connection) -> bool:
        """Whether the other side has sent what this peer answers last."""
        if self._last >= self.PHASES.index("open"):
            engine.open()
        session = engine.session_head(Endpoint.REMOTE_ACTIVE)
        if session is not None and self._last >= self.PHASES.index("begin"):
            session.open()
        link = engine.link_head(Endpoint.REMOTE_ACTIVE)
        if link is not None and self._last >= self.PHASES.index("attach"):
            link.source.copy(link.remote_source)
            link.target.copy(link.remote_target)
            link.open()
            if self._last == self.PHASES.index("credit") and link.is_receiver:
                link.flow(100)
        asked = (True, engine.state & Endpoint.REMOTE_ACTIVE, session is not None)
        return bool(asked[self._last]) if self._last < len(asked) else link is not None


class Babbler(Peer):
    """A peer that writes what is not AMQP to each connection, and closes it or not."""

    def __init__(self, words: bytes) -> None:
        super().__init__()
        self._words = words
        self._kept: list[socket.socket] = []

    def _serve(self, client: socket.socket) -> None:
        client.sendall(self._words)
        self._kept.append(client)
