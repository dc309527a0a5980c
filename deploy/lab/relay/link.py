"""A link: its listener, the connections over it, and the faults in force."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from deploy.lab import faults
from deploy.lab.faults import Choices, Faults
from deploy.lab.relay.faults import BEGIN_RESETS, END_RESETS, KINDS, pace
from deploy.lab.relay.flow import End, Flow, Held, Way
from deploy.lab.relay.listeners import Listeners

_log: Final = logging.getLogger("inflight.relay")
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
_BACKLOG: Final = 1024
_ACCEPTED_AT_ONCE: Final = 64
_NO_FILES_SECONDS: Final = 1.0
Place = tuple[str, int]
_LOOK_SECONDS: Final = 0.05  # while nobody listens where a link leads


@dataclass(frozen=True)
class Line:
    """A port, where it leads, the names of who dials and who is dialled, and where it can be moved to."""

    listen: Place
    to: Place
    dialler: str
    dialled: str
    moves: Mapping[str, Place]


class Link:
    def __init__(self, line: Line, loop: asyncio.AbstractEventLoop, held: Held, listeners: Listeners) -> None:
        there, back = f"{line.dialler}>{line.dialled}", f"{line.dialled}>{line.dialler}"
        self._ways = {there: Way(loop, held), back: Way(loop, held)}
        self._line = line
        self._choices = Choices(KINDS, tuple(self._ways), tuple(line.moves))
        self._faults: Faults = {}
        self._connections: Final[set[_Connection]] = set()
        self._loop, self._listeners = loop, listeners
        self._look_again: asyncio.TimerHandle | None = None
        self._listener = _Listener(line.listen, loop, self._accepted)
        self._look()

    def tell(self, command: Mapping[str, Any]) -> Faults:
        """Carry a command out, and return all faults; raises Problem, and then nothing has changed."""
        before, self._faults = self._faults, faults.changed(self._faults, command, self._choices)
        if command["do"] in BEGIN_RESETS or END_RESETS & (before.keys() - self._faults.keys()):
            self._reset_all()
        for direction, way in self._ways.items():
            way.change(pace(self._faults, direction))
        self._look()
        return self._faults

    def describe(self) -> dict[str, Any]:
        return {
            "faults": faults.told(self._faults),
            "connections": len(self._connections),
            "passed_bytes": {direction: way.passed_bytes for direction, way in self._ways.items()},
        }

    def close(self) -> None:
        self._reset_all()
        if self._look_again is not None:
            self._look_again.cancel()
        self._listener.close()

    def _look(self) -> None:
        """Refuse whom a cut link or a part that is down would refuse; over a stalled one they wait.

        To take a connection and reset it is another thing: Artemis may then wait for a minute.
        """
        if self._look_again is not None:
            self._look_again.cancel()
            self._look_again = None
        is_cut, is_stalled = "cut" in self._faults, "stall" in self._faults
        is_down = not (is_cut or is_stalled or self._listeners.at(self._target()[1]))
        self._listener.set(refuse=is_cut or is_down, accept=not is_stalled)
        if is_down:
            self._look_again = self._loop.call_later(_LOOK_SECONDS, self._look)

    def _target(self) -> Place:
        moved = self._faults.get("move")
        return self._line.moves[moved["to"]] if moved else self._line.to

    def _gone(self, connection: _Connection) -> None:
        self._connections.discard(connection)
        self._look()  # a part that ends takes its connections with it, some before it stops to listen
        if self._look_again is None:
            self._look_again = self._loop.call_later(_LOOK_SECONDS, self._look)

    def _reset_all(self) -> None:
        for connection in list(self._connections):
            connection.reset()

    def _accepted(self, client: socket.socket) -> None:
        there, back = self._ways.values()
        connection = _Connection(client, there, back, self._gone)
        self._connections.add(connection)
        connection.dial(self._target())


class _Listener:
    def __init__(
        self,
        at: Place,
        loop: asyncio.AbstractEventLoop,
        accepted: Callable[[socket.socket], None],
    ) -> None:
        self._at, self._loop, self._accepted = at, loop, accepted
        self._refuses, self._accepts = True, False
        self._server = self._bound()
        self._again: asyncio.TimerHandle | None = None

    def set(self, *, refuse: bool, accept: bool) -> None:
        """Refuse who dials; or else accept them, or let them wait."""
        self._accepts = accept and not refuse
        if refuse != self._refuses:
            self._loop.remove_reader(self._server)
            if refuse:
                self._server.close()  # with all who wait; bound anew, nobody else gets the port
                self._server = self._bound()
            else:
                self._server.listen(_BACKLOG)
            self._refuses = refuse
        if self._accepts and self._again is None:
            self._loop.add_reader(self._server, self._ready)
        else:
            self._loop.remove_reader(self._server)

    def close(self) -> None:
        self._loop.remove_reader(self._server)
        self._server.close()

    def _bound(self) -> socket.socket:
        """A socket that refuses whoever dials it, until it listens."""
        made = socket.socket(socket.AF_INET6 if ":" in self._at[0] else socket.AF_INET)
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(self._at)
        return made

    def _ready(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                client, _address = self._server.accept()
            except (BlockingIOError, InterruptedError, ConnectionError):
                return
            except OSError as error:
                # Without a pause the loop would do nothing else: the connection still waits.
                _log.error("port %d takes no connection for a second: %s", self._at[1], error)
                self._again = self._loop.call_later(_NO_FILES_SECONDS, self._go_on)
                self._loop.remove_reader(self._server)
                return
            _prepare(client)
            self._accepted(client)
            if self._refuses:
                return  # where it leads nobody listens any more

    def _go_on(self) -> None:
        self._again = None
        self.set(refuse=self._refuses, accept=self._accepts)


class _Connection:
    """A client's connection and the one dialled for it: both end together, but may be half closed."""

    def __init__(
        self, client: socket.socket, there: Way, back: Way, gone: Callable[[_Connection], None]
    ) -> None:
        self._client, self._there, self._back, self._gone = client, there, back, gone
        self._loop = there.loop
        self._server: socket.socket | None = None
        self._flows: dict[Flow, socket.socket] = {}  # with what each writes to

    def dial(self, target: Place) -> None:
        try:
            self._server = server = socket.socket(socket.AF_INET6 if ":" in target[0] else socket.AF_INET)
        except OSError as error:
            _log.error("a connection to port %d is reset: %s", target[1], error)
            self.reset()
            return
        _prepare(server)
        if server.connect_ex(target) in {0, errno.EINPROGRESS}:
            self._loop.add_writer(server, self._connected, server)
        else:
            self.reset()

    def reset(self) -> None:
        """End both connections at once; what was on its way is lost."""
        self._close(_reset)

    def _connected(self, server: socket.socket) -> None:
        self._loop.remove_writer(server)
        if server.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.reset()
            return
        for way, source, target in (
            (self._there, self._client, server),
            (self._back, server, self._client),
        ):
            self._flows[Flow(way, source, target, self._flow_ended)] = target

    def _flow_ended(self, flow: Flow, end: End) -> None:
        flow.close()
        target = self._flows.pop(flow, None)
        if end is End.RESET or target is None:
            self.reset()
            return
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
        if not self._flows:
            self._close(socket.socket.close)

    def _close(self, close: Callable[[socket.socket], None]) -> None:
        for flow in self._flows:
            flow.close()
        self._flows.clear()
        for sock in (self._client, self._server):
            if sock is not None and sock.fileno() >= 0:
                self._loop.remove_writer(sock)
                close(sock)
        self._gone(self)


def _prepare(sock: socket.socket) -> None:
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _reset(sock: socket.socket) -> None:
    """Close a socket such that its peer is told of a reset, not of an end."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    sock.close()
