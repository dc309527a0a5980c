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

_log: Final = logging.getLogger("inflight.relay")
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
_BACKLOG: Final = 1024
_ACCEPTED_AT_ONCE: Final = 64
_NO_FILES_SECONDS: Final = 1.0
Place = tuple[str, int]


@dataclass(frozen=True)
class Line:
    """A port, where it leads, the names of who dials and who is dialled, and where it can be moved to."""

    listen: Place
    to: Place
    dialler: str
    dialled: str
    moves: Mapping[str, Place]


class Link:
    def __init__(self, line: Line, loop: asyncio.AbstractEventLoop, held: Held) -> None:
        there, back = f"{line.dialler}>{line.dialled}", f"{line.dialled}>{line.dialler}"
        self._ways = {there: Way(loop, held), back: Way(loop, held)}
        self._line = line
        self._choices = Choices(KINDS, tuple(self._ways), tuple(line.moves))
        self._faults: Faults = {}
        self._connections: Final[set[_Connection]] = set()
        self._listener = _Listener(line.listen, loop, self._accepted)

    def tell(self, command: Mapping[str, Any]) -> Faults:
        """Carry a command out, and return all faults; raises Problem, and then nothing has changed."""
        before, self._faults = self._faults, faults.changed(self._faults, command, self._choices)
        if command["do"] in BEGIN_RESETS or END_RESETS & (before.keys() - self._faults.keys()):
            self._reset_all()
        for direction, way in self._ways.items():
            way.change(pace(self._faults, direction))
        # Connections over a stalled link wait in the backlog, unless it is cut: then they are reset.
        self._listener.accept(wanted="stall" not in self._faults or "cut" in self._faults)
        return self._faults

    def describe(self) -> dict[str, Any]:
        return {
            "faults": faults.told(self._faults),
            "connections": len(self._connections),
            "passed_bytes": {direction: way.passed_bytes for direction, way in self._ways.items()},
        }

    def close(self) -> None:
        self._listener.close()
        self._reset_all()

    def _reset_all(self) -> None:
        for connection in list(self._connections):
            connection.reset()

    def _accepted(self, client: socket.socket) -> None:
        if "cut" in self._faults:
            _reset(client)
            return
        there, back = self._ways.values()
        connection = _Connection(client, there, back, self._connections.discard)
        self._connections.add(connection)
        moved = self._faults.get("move")
        connection.dial(self._line.moves[moved["to"]] if moved else self._line.to)


class _Listener:
    def __init__(
        self,
        at: Place,
        loop: asyncio.AbstractEventLoop,
        accepted: Callable[[socket.socket], None],
    ) -> None:
        self._at, self._loop, self._accepted = at, loop, accepted
        family = socket.AF_INET6 if ":" in at[0] else socket.AF_INET
        self._server = socket.create_server(at, family=family, backlog=_BACKLOG)
        self._server.setblocking(False)
        self._wanted = False
        self._again: asyncio.TimerHandle | None = None
        self.accept(wanted=True)

    def accept(self, *, wanted: bool) -> None:
        self._wanted = wanted
        if wanted and self._again is None:
            self._loop.add_reader(self._server, self._ready)
        else:
            self._loop.remove_reader(self._server)

    def close(self) -> None:
        self.accept(wanted=False)
        self._server.close()

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
                self.accept(wanted=self._wanted)
                return
            _prepare(client)
            self._accepted(client)

    def _go_on(self) -> None:
        self._again = None
        self.accept(wanted=self._wanted)


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
