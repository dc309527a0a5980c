"""One AMQP connection on proton's engine: fail-over, back-off with jitter, and links that attach again.

The engine is driven directly, without proton's Container: per delivery, that costs several times what the
probe itself does.
"""

from __future__ import annotations

import logging
import random
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import cproton as c
from cproton_ffi import lib
from proton import Connection as Engine
from proton import Transport

from collectors.amqp.options import Options
from collectors.probe.engine.causes import condition_text, error_text, with_hint
from collectors.probe.engine.link import Link
from collectors.probe.engine.loop import Loop, Timer
from collectors.probe.engine.pipe import Pipe
from collectors.probe.engine.reconnect import Dialler
from collectors.process.trouble import Trouble

_log: Final = logging.getLogger("inflight.probe")
_STABLE_SECONDS: Final = 10.0
_NOT_YET: Final = "not connected yet"
_OPEN_SECONDS: Final = 10.0
_ATTACH_SECONDS: Final = 30.0


class Connection:
    """To the first of several peers that answers; the next one when that is lost."""

    def __init__(
        self,
        loop: Loop,
        peers: Callable[[], Sequence[Options]],
        container: str,
        ended: Callable[[Connection], None] = lambda _: None,
    ) -> None:
        """`peers` is asked at each attempt: files of secrets may have changed.

        `ended` is told where the peer ends a connection for what came over it.
        """
        self._loop, self._peers, self._ended = loop, peers, ended
        self._dialler = Dialler(loop, peers, self._connected, self._failed)
        self._pipe = Pipe(loop, self)
        self._container = container
        self._links: list[Link] = []
        self._by_pointer: dict[Any, Link] = {}
        self._wrappers: dict[Any, tuple[Any, Any]] = {}  # of the engine's links and sessions: kept alive
        self._opening: Timer | None = None
        self._stable_at = 0.0
        self._is_part = False
        self._when_written: dict[Callable[[], None], None] = {}
        self._reset()
        self.problem = _NOT_YET
        self._trouble = Trouble(_log)
        self.url = ""
        self.remote_container = ""
        self._closing = False

    def _reset(self) -> None:
        self._engine: Any = None
        self._transport: Any = None
        self._t: Any = None
        self._collector: Any = None
        self.open = False
        self.backed_up = False
        self._complaint = ""

    # -- what its owner does with it

    def add(self, link: Link) -> None:
        link.connection = self
        self._links.append(link)
        if self.open:
            self._attach(link)

    def remove(self, link: Link) -> None:
        """Close the link; nothing of it is reported any more."""
        self._links.remove(link)
        link.forget()
        for pointer, known in list(self._by_pointer.items()):
            if known is link:
                del self._by_pointer[pointer]
                self._free(pointer)
        self.touch()
        if self._is_part and not self._links:
            self.close()

    @property
    def measuring(self) -> list[Link]:
        """The links for which it is there."""
        return [link for link in self._links if link.measures]

    def part(self, name: str, links: Sequence[Link]) -> Connection:
        """Another one to the same peers, which gets these links; for a connection that was lost."""
        part = Connection(self._loop, self._peers, f"{self._container}-{name}", self._ended)
        part._is_part = True
        part._pipe.written_bytes = self.written_bytes  # links count on from there
        for link in links:
            self._links.remove(link)
            part.add(link)
        return part

    def start(self) -> None:
        self._dialler.dial()

    def close(self) -> None:
        """Say goodbye; the socket is closed when that is out, or by `abort`."""
        self._closing = True
        self._dialler.cancel()
        if self._engine is not None and self.open:
            self._engine.close()
            self.touch()
        else:
            self.abort()

    def abort(self) -> None:
        """Close the socket at once."""
        self._closing = True
        self._dialler.cancel()
        self._lost("closed here")

    @property
    def closed(self) -> bool:
        return self._closing and not self._pipe.is_open

    def touch(self) -> None:
        """Something was done with the engine: what comes of it goes out at the end of this round."""
        self._loop.before_waiting(self._pump)

    def when_written(self, call: Callable[[], None]) -> None:
        """Call it once, when something has been written or has come: there may be room for more then."""
        self._when_written[call] = None

    @property
    def is_read(self) -> bool:
        """Whether all that had come is read."""
        return self._pipe.is_empty

    @property
    def written_bytes(self) -> int:
        """To the socket, and to all sockets before it."""
        return self._pipe.written_bytes

    def pending_bytes(self) -> int:
        """Bytes that the engine has for the peer; all that was sent on links is among them or written."""
        return self._pipe.pending_bytes()

    # -- connecting

    def _connected(self, peer: Options, sock: socket.socket) -> None:
        self._peer, self.url = peer, peer.url
        if self.problem == _NOT_YET:
            self.problem = (
                f"{peer.url} took the connection, and did not answer AMQP yet: it stands still, or speaks "
                "something else there"
            )
        engine, transport = Engine(), Transport()
        engine.container = self._container
        engine.properties = {"product": "inflight"}
        self._collector = c.pn_collector()
        c.pn_connection_collect(engine._impl, self._collector)  # noqa: SLF001 -- the engine's own object
        peer.prepare(transport, engine)
        self._engine, self._transport, self._t = engine, transport, transport._impl  # noqa: SLF001
        engine.open()
        self._pipe.open(sock, self._t)
        self._opening = self._loop.call_in(_OPEN_SECONDS, self._too_slow)
        self._tick()
        self._pump()

    def _too_slow(self) -> None:
        self._lost(f"{self.url}: no answer within {_OPEN_SECONDS:g} s")

    def _tick(self) -> None:
        transport = self._transport
        if transport is None:
            return
        transport.tick(time.monotonic())
        self.touch()
        self._loop.call_in(1.0, lambda: self._tick() if self._transport is transport else None)

    # -- the socket

    def ready(self, *, readable: bool, writable: bool) -> None:
        if readable and self._pipe.is_open:
            self._read()
        if writable and self._pipe.is_open:
            self.touch()

    def _misunderstood(self, error: Exception) -> None:
        """What a peer said of the connection or a link is not known then: begin anew."""
        _log.warning("%s says what is not understood: %s: %s", self.url, type(error).__name__, error)
        self._lost(f"{self.url}: not understood")

    def _read(self) -> None:
        try:
            count = self._pipe.read()
        except OSError as error:
            self._lost(f"{self.url}: {with_hint(error_text(error.errno), self._peer)}")
            return
        if count is None:
            return
        self._events()  # at the end, too: what came before it may say why
        if count:
            self.touch()
        else:
            self._lost(f"{self.url}: {self._why() or 'the peer closed the connection'}")

    def _pump(self) -> None:
        if self._t is None:
            return
        self._events()
        for link in self._links:
            link.journal()
        try:
            all_out = self._pipe.write()
        except OSError as error:
            self._lost(f"{self.url}: {with_hint(error_text(error.errno), self._peer)}")
            return
        self.backed_up = not all_out
        if not all_out:
            return
        self._events()
        calls, self._when_written = self._when_written, {}
        for call in calls:
            self._loop.post(call)
        if self._t is not None and lib.pn_transport_closed(self._t):
            self._lost(f"{self.url}: {self._why() or 'the connection ended'}")

    # -- the engine's events

    def _events(self) -> None:
        collector = self._collector
        if collector is None:
            return
        peek, pop, kind_of = lib.pn_collector_peek, lib.pn_collector_pop, lib.pn_event_type
        while collector is self._collector:
            event = peek(collector)
            if not event:
                return
            kind = kind_of(event)
            problem: Exception | None = None
            try:
                if kind == c.PN_DELIVERY:
                    delivery = lib.pn_event_delivery(event)
                    link = self._by_pointer.get(lib.pn_delivery_link(delivery))
                    if link is not None:
                        link.on_delivery(delivery)
                elif kind == c.PN_LINK_FLOW:
                    link = self._by_pointer.get(lib.pn_event_link(event))
                    if link is not None:
                        link.on_flow()
                elif kind in _RARE:
                    problem = self._rare(kind, event)
            finally:
                pop(collector)  # also after an error: it must not come again and again
            if problem is not None:
                self._misunderstood(problem)

    def _rare(self, kind: int, event: Any) -> Exception | None:
        """What went wrong, and left half of it undone."""
        try:
            _RARE[kind](self, event)
        except Exception as error:  # noqa: BLE001 -- of whatever kind
            return error
        return None

    def _on_open(self, event: Any) -> None:  # noqa: ARG002 -- as its neighbours
        self._cancel_opening()
        self.open = True
        self.problem = ""
        self.remote_container = self._engine.remote_container or ""
        self._stable_at = time.monotonic() + _STABLE_SECONDS
        _log.info("connected to %s (%s)", self.url, self.remote_container)
        self._trouble = Trouble(_log)
        for link in self._links:
            self._attach(link)

    def _on_close(self, event: Any) -> None:  # noqa: ARG002
        self._complaint = condition_text(lambda: self._engine.remote_condition)
        self._engine.close()
        if self._closing:
            return
        if self._complaint:
            _log.warning("%s closes the connection: %s", self.url, self._complaint)
        attached, self._by_pointer = list(self._by_pointer.values()), {}
        for link in attached:  # what is sent from now on would only be lost
            link.on_lost(f"{self.url}: {self._complaint or 'the peer closed the connection'}")

    def _on_link_open(self, event: Any) -> None:
        pointer = lib.pn_event_link(event)
        link = self._by_pointer.get(pointer)
        # A peer that refuses answers with an empty terminus, and a detach at once.
        if link is not None:
            link.on_open(pointer)

    def _on_link_close(self, event: Any) -> None:
        pointer = lib.pn_event_link(event)
        link = self._by_pointer.pop(pointer, None)
        made, _ = self._wrappers.get(pointer, (None, None))
        reason = condition_text(lambda: made and made.remote_condition)
        self._free(pointer)
        if link is not None and not self._closing:
            link.on_lost(reason or "the peer detached the link")
            engine = self._engine
            delay = random.uniform(0.5, 1.5)  # noqa: S311 -- to spread attempts
            self._loop.call_in(delay, lambda: self._reattach(link, engine))

    def _reattach(self, link: Link, engine: Any) -> None:
        if engine is self._engine and self.open and link in self._links and not self._closing:
            self._attach(link)

    def _attach(self, link: Link) -> None:
        session = self._engine.session()
        session.open()
        made = link.attach(session)
        pointer = made._impl  # noqa: SLF001 -- the engine's own object
        self._wrappers[pointer] = made, session
        self._by_pointer[pointer] = link
        made.open()
        self._loop.call_in(_ATTACH_SECONDS, lambda: self._unanswered(pointer, link))
        self.touch()

    def _unanswered(self, pointer: Any, link: Link) -> None:
        if self._by_pointer.get(pointer) is link and lib.pn_link_state(pointer) & c.PN_REMOTE_UNINIT:
            self._lost(f"{self.url}: no answer to an attach within {_ATTACH_SECONDS:g} s")

    def _free(self, pointer: Any) -> None:
        """Close a link and its session; the engine lets go of them when the peer has been told."""
        wrappers = self._wrappers.pop(pointer, None)
        if wrappers is not None:
            for wrapper in wrappers:
                wrapper.close()
                wrapper.free()

    # -- the end of a connection

    def _why(self) -> str:
        engine, transport = self._engine, self._transport
        if engine is not None and (text := condition_text(lambda: engine.remote_condition)):
            return text
        return with_hint(condition_text(lambda: transport and transport.condition), self._peer)

    def _cancel_opening(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            self._opening = None

    def _failed(self, reason: str) -> None:
        self._trouble.tell(f"no connection: {reason}")
        self.problem = reason
        self._dialler.dial_later()

    def _lost(self, reason: str) -> None:
        if not self._pipe.is_open and self._engine is None:
            return
        was_open, stable = self.open, time.monotonic() > self._stable_at
        # By the peer with a reason, or soon: for what came over it. A router that is stopped says nothing.
        ended = was_open and (self._complaint or not stable)
        self._cancel_opening()
        self._pipe.close()
        attached = list(self._by_pointer.values())
        self._by_pointer = {}
        engine, collector, transport = self._engine, self._collector, self._transport
        if was_open and stable:
            self._dialler.forgive()
        self._reset()
        for link in attached:
            if self._closing:
                link.forget()
            else:
                link.on_lost(reason)
        self._wrappers = {}
        if transport is not None:
            transport.unbind()
        if engine is not None:
            engine.free()
            lib.pn_collector_release(collector)
            c.pn_collector_free(collector)
        if self._closing:
            self.problem = "closed"
            return
        self._trouble.tell(f"{'connection lost' if was_open else 'no connection'}: {reason}")
        self.problem = reason
        if ended:
            self._ended(self)
        self._dialler.dial_later()


_RARE: Final[dict[int, Callable[[Connection, Any], None]]] = {
    c.PN_CONNECTION_REMOTE_OPEN: Connection._on_open,  # noqa: SLF001 -- a table of its own methods
    c.PN_CONNECTION_REMOTE_CLOSE: Connection._on_close,  # noqa: SLF001
    c.PN_LINK_REMOTE_OPEN: Connection._on_link_open,  # noqa: SLF001
    c.PN_LINK_REMOTE_CLOSE: Connection._on_link_close,  # noqa: SLF001
    c.PN_LINK_REMOTE_DETACH: Connection._on_link_close,  # noqa: SLF001
}
