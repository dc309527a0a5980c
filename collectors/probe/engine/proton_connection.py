"""One connection of proton's engine over one socket: its bytes, its events, and the links attached to it.

The engine is driven directly, without proton's Container: that costs, for each delivery, several times what
the probe itself does.
"""

from __future__ import annotations

import logging
import random
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import cproton as c
from cproton_ffi import lib
from proton import Connection as Engine
from proton import Transport

from collectors.amqp.options import AmqpOptions
from collectors.probe.engine.causes import condition_text, error_text, with_hint
from collectors.probe.engine.link import EngineLink
from collectors.probe.engine.loop import Loop
from collectors.probe.engine.pipe import Pipe

_log: Final = logging.getLogger("inflight.probe")
_STABLE_SECONDS: Final = 10.0
_OPEN_SECONDS: Final = 10.0
_ATTACH_SECONDS: Final = 30.0


class Owner(Protocol):
    """What is told of a connection's life."""

    def on_open(self, name: str) -> None:
        """The peer has answered, and calls itself so."""

    def on_lost(self, reason: str) -> None:
        """It is of no use any more; `end` and `free` are to be called."""


class ProtonConnection:
    """Lasts as long as its socket; `AmqpConnection` makes another one after it."""

    def __init__(
        self, loop: Loop, owner: Owner, container: str, links: Sequence[EngineLink], peer: AmqpOptions
    ) -> None:
        """All `links` are attached when the connection opens; more may be added to the list."""
        self._loop, self._owner, self._links, self._peer = loop, owner, links, peer
        self.url = peer.url
        self.open = False
        self.backed_up = False  # the socket did not take all that there was to write
        self.complaint = ""  # why the peer closed it, in the peer's words
        self._closing = self._ended = False
        self._opened_at: float | None = None
        self._attached: dict[Any, EngineLink] = {}  # by cproton's pointer
        self._wrappers: dict[Any, tuple[Any, Any]] = {}  # of proton's links and sessions: kept alive
        self._when_written: dict[Callable[[], None], None] = {}
        self._unwritten: dict[Callable[[], bool], None] = {}
        self._engine: Any = Engine()
        self._transport: Any = Transport()
        self._collector = c.pn_collector()
        self._engine.container = container
        self._engine.properties = {"product": "inflight"}
        c.pn_connection_collect(self._engine._impl, self._collector)  # noqa: SLF001 -- cproton's pointer
        peer.prepare(self._transport, self._engine)
        self._transport_c = self._transport._impl  # noqa: SLF001 -- cproton's pointer
        self._pipe = Pipe(loop, self, self._transport_c)
        self._opening = loop.call_in(_OPEN_SECONDS, self._open_timed_out)

    # -- what its owner does with it

    def start(self, sock: socket.socket) -> None:
        self._engine.open()
        self._pipe.open(sock)
        self._tick()
        self._pump()

    def attach(self, link: EngineLink) -> None:
        session = self._engine.session()
        session.open()
        made = link.attach(session)
        pointer = made._impl  # noqa: SLF001 -- cproton's pointer
        self._wrappers[pointer] = made, session
        self._attached[pointer] = link
        made.open()
        self._loop.call_in(_ATTACH_SECONDS, lambda: self._attach_timed_out(pointer, link))
        self.touch()

    def detach(self, link: EngineLink) -> None:
        for pointer, known in list(self._attached.items()):
            if known is link:
                del self._attached[pointer]
                self._free(pointer)
        self.touch()

    def close(self) -> None:
        """Says goodbye; the peer's answer, or the end of the socket, ends it."""
        self._closing = True
        self._engine.close()
        self.touch()

    def end(self) -> list[EngineLink]:
        """Closes the socket. Returns the links that were attached, to be told before `free`."""
        self._ended = True
        self.open = False
        self._opening.cancel()
        self._pipe.close()
        attached, self._attached = list(self._attached.values()), {}
        return attached

    def free(self) -> None:
        self._wrappers = {}
        self._transport.unbind()
        self._engine.free()
        lib.pn_collector_release(self._collector)
        c.pn_collector_free(self._collector)

    @property
    def is_stable(self) -> bool:
        """Whether it has been open for a while."""
        return self._opened_at is None or time.monotonic() > self._opened_at + _STABLE_SECONDS

    @property
    def is_read(self) -> bool:
        """Whether all that had come is read."""
        return self._pipe.is_empty

    def touch(self) -> None:
        """Something was done with the engine: what comes of it goes out at the end of this round."""
        self._loop.before_waiting(self._pump)

    def when_written(self, call: Callable[[], None]) -> None:
        """Calls it once, when all that there is to write has been written."""
        self._when_written[call] = None

    def tell_written(self, call: Callable[[], bool]) -> None:
        """Calls it each time that all there is to write has been written, until it returns True."""
        self._unwritten[call] = None

    # -- the socket

    def ready(self, *, readable: bool, writable: bool) -> None:
        if readable and self._pipe.is_open:
            self._read()
        if writable and self._pipe.is_open:
            self.touch()

    def _read(self) -> None:
        try:
            count = self._pipe.read()
        except OSError as error:
            self._lose(with_hint(error_text(error.errno), self._peer))
            return
        if count is None:
            return
        self._handle_events()  # at the end of the stream, too: the last events may say why
        if count:
            self.touch()
        else:
            self._lose(self._why() or "the peer closed the connection")

    def _pump(self) -> None:
        if self._ended:
            return
        self._handle_events()
        if self._ended:
            return
        for link in self._links:
            link.before_write()
        try:
            all_out = self._pipe.write()
        except OSError as error:
            self._lose(with_hint(error_text(error.errno), self._peer))
            return
        self.backed_up = not all_out
        if not all_out:
            return
        for is_written in list(self._unwritten):
            if is_written():
                del self._unwritten[is_written]
        self._handle_events()
        calls, self._when_written = self._when_written, {}
        for call in calls:
            self._loop.post(call)
        if not self._ended and lib.pn_transport_closed(self._transport_c):
            self._lose(self._why() or "the connection ended")

    def _tick(self) -> None:
        """Lets the engine send heartbeats, and notice that the peer's are missing."""
        if not self._ended:
            self._transport.tick(time.monotonic())
            self.touch()
            self._loop.call_in(1.0, self._tick)

    # -- proton's events

    def _handle_events(self) -> None:
        collector = self._collector
        peek, pop, kind_of = lib.pn_collector_peek, lib.pn_collector_pop, lib.pn_event_type
        while not self._ended:
            event = peek(collector)
            if not event:
                return
            kind = kind_of(event)
            problem: Exception | None = None
            try:
                if kind == c.PN_DELIVERY:
                    delivery = lib.pn_event_delivery(event)
                    link = self._attached.get(lib.pn_delivery_link(delivery))
                    if link is not None:
                        link.on_delivery(delivery)
                elif kind == c.PN_LINK_FLOW:
                    link = self._attached.get(lib.pn_event_link(event))
                    if link is not None:
                        link.on_flow()
                elif kind in _RARE:
                    problem = self._handle_rare(kind, event)
            finally:
                pop(collector)  # also after an error: it must not come again and again
            if problem is not None:
                self._misunderstood(problem)

    def _handle_rare(self, kind: int, event: Any) -> Exception | None:
        """Returns an error if there was one: what the peer said is then not known."""
        try:
            _RARE[kind](self, event)
        except Exception as error:  # noqa: BLE001 -- of whatever kind
            return error
        return None

    def _misunderstood(self, error: Exception) -> None:
        _log.warning("%s says what is not understood: %s: %s", self.url, type(error).__name__, error)
        self._lose("not understood")

    def _on_open(self, event: Any) -> None:  # noqa: ARG002 -- as its neighbours
        self._opening.cancel()
        self.open = True
        name = self._engine.remote_container or ""
        self._opened_at = time.monotonic()
        self._owner.on_open(name)
        _log.info("connected to %s (%s)", self.url, name)
        for link in self._links:
            self.attach(link)

    def _on_close(self, event: Any) -> None:  # noqa: ARG002
        self.complaint = condition_text(lambda: self._engine.remote_condition)
        self._engine.close()
        if self._closing:
            return
        if self.complaint:
            _log.warning("%s closes the connection: %s", self.url, self.complaint)
        attached, self._attached = list(self._attached.values()), {}
        for link in attached:  # what is sent from now on would be lost
            link.on_lost(f"{self.url}: {self.complaint or 'the peer closed the connection'}")

    def _on_link_open(self, event: Any) -> None:
        pointer = lib.pn_event_link(event)
        link = self._attached.get(pointer)
        # A peer that refuses answers with an empty terminus, and a detach at once.
        if link is not None:
            link.on_open(pointer)

    def _on_link_close(self, event: Any) -> None:
        pointer = lib.pn_event_link(event)
        link = self._attached.pop(pointer, None)
        made, _ = self._wrappers.get(pointer, (None, None))
        reason = condition_text(lambda: made and made.remote_condition)
        self._free(pointer)
        if link is not None and not self._closing:
            link.on_lost(reason or "the peer detached the link")
            delay = random.uniform(0.5, 1.5)  # noqa: S311 -- to spread attempts
            self._loop.call_in(delay, lambda: self._attach_again(link))

    def _attach_again(self, link: EngineLink) -> None:
        if self.open and link in self._links and not self._closing:
            self.attach(link)

    def _free(self, pointer: Any) -> None:
        """Closes a link and its session; the engine drops them when the peer has been told."""
        for wrapper in self._wrappers.pop(pointer, ()):
            wrapper.close()
            wrapper.free()

    # -- its end

    def _open_timed_out(self) -> None:
        self._lose(f"no answer within {_OPEN_SECONDS:g} s")

    def _attach_timed_out(self, pointer: Any, link: EngineLink) -> None:
        if self._attached.get(pointer) is link and lib.pn_link_state(pointer) & c.PN_REMOTE_UNINIT:
            self._lose(f"no answer to an attach within {_ATTACH_SECONDS:g} s")

    def _lose(self, reason: str) -> None:
        if not self._ended:
            self._owner.on_lost(f"{self.url}: {reason}")

    def _why(self) -> str:
        """Returns what the peer, or else the engine, says of the end."""
        if text := condition_text(lambda: self._engine.remote_condition):
            return text
        return with_hint(condition_text(lambda: self._transport.condition), self._peer)


_RARE: Final[dict[int, Callable[[ProtonConnection, Any], None]]] = {
    c.PN_CONNECTION_REMOTE_OPEN: ProtonConnection._on_open,  # noqa: SLF001 -- a table of its own methods
    c.PN_CONNECTION_REMOTE_CLOSE: ProtonConnection._on_close,  # noqa: SLF001
    c.PN_LINK_REMOTE_OPEN: ProtonConnection._on_link_open,  # noqa: SLF001
    c.PN_LINK_REMOTE_CLOSE: ProtonConnection._on_link_close,  # noqa: SLF001
    c.PN_LINK_REMOTE_DETACH: ProtonConnection._on_link_close,  # noqa: SLF001
}
