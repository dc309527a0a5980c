"""One direction of a connection: bytes in, held as the link's pace has it, bytes out."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Final

from deploy.lab.relay.pace import READ_BYTES, Pace, Timetable

_ALL_HELD_BYTES: Final = 268_435_456  # of all connections: beyond it, each holds what it has read last


class End(Enum):
    """What follows a source's last byte."""

    CLOSED = "no more comes, the other direction goes on"
    RESET = "both directions are over"


class Held:
    """The bytes that this process holds."""

    bytes = 0


_buffer: Final = memoryview(bytearray(READ_BYTES))  # of all: what is not passed on at once is copied


class Way:
    """One direction of a link, with the connections that use it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, held: Held) -> None:
        self.loop: Final = loop
        self.held: Final = held
        self.timetable: Final = Timetable(random.Random())  # noqa: S311 -- spread out, not secret
        self.flows: Final[set[Flow]] = set()
        self.passed_bytes = 0
        self._in_line: deque[Flow] = deque()  # who wait for a limited link to be free
        self._timer: asyncio.TimerHandle | None = None

    @property
    def pace(self) -> Pace:
        return self.timetable.pace

    def change(self, pace: Pace) -> None:
        if pace == self.pace:
            return
        if pace.bytes_per_second != self.pace.bytes_per_second:
            self.timetable.free_ns = 0
        self.timetable.pace = pace
        latest_ns = self.timetable.latest_ns(time.monotonic_ns())
        self._serve()
        for flow in list(self.flows):
            flow.go_on(latest_ns)

    def free(self) -> bool:
        return self.pace.bytes_per_second is None or self.timetable.free_ns <= time.monotonic_ns()

    def line_up(self, flow: Flow) -> None:
        self._in_line.append(flow)
        self._wait()

    def _wait(self) -> None:
        if self._timer is None and self._in_line:
            seconds = (self.timetable.free_ns - time.monotonic_ns()) / 1e9
            self._timer = self.loop.call_later(max(0.0, seconds), self._serve)

    def _serve(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._in_line and self.free():
            self._in_line.popleft().take_turn()
        self._wait()


class Flow:
    """Calls `ended` when all has gone and no more comes, and when either side has failed.

    What it holds is bounded: while that is full nothing is read, so that who sends is held back.
    """

    def __init__(
        self, way: Way, source: socket.socket, target: socket.socket, ended: Callable[[Flow, End], None]
    ) -> None:
        self._way, self._source, self._target, self._ended = way, source, target, ended
        self._loop = way.loop
        self._waiting: deque[tuple[int, memoryview | End]] = deque()  # when it is due, and what
        self._held_bytes = 0
        self._last_due_ns = 0
        self._reading = self._writing = self._in_line = self._heard_all = False
        self._timer: asyncio.TimerHandle | None = None
        self._wake_ns: int | None = None
        way.flows.add(self)
        self._settle()

    def close(self) -> None:
        """Forget the sockets, which whoever made them closes."""
        self._heard_all = True
        self._way.flows.discard(self)
        self._way.held.bytes -= self._held_bytes
        self._held_bytes = 0
        self._waiting.clear()
        self._settle()

    def go_on(self, latest_ns: int) -> None:
        """The pace has changed; what is held waits until then at most."""
        self._waiting = deque((min(due_ns, latest_ns), piece) for due_ns, piece in self._waiting)
        self._last_due_ns = min(self._last_due_ns, latest_ns)
        self._pass_on()

    def take_turn(self) -> None:
        """The link is free for this flow, which was the first in line."""
        self._in_line = False
        if self._may_read():
            self._read()
        self._settle()

    def _may_read(self) -> bool:
        room = self._way.pace.held_bytes if self._way.held.bytes < _ALL_HELD_BYTES else 1
        return not (self._heard_all or self._in_line or self._way.pace.stalled) and self._held_bytes < room

    def _settle(self) -> None:
        """Have the loop tell what is of use by now, and nothing else: it would tell it for ever."""
        if (wanted := self._may_read()) != self._reading:
            self._reading = wanted
            if wanted:
                self._loop.add_reader(self._source, self._readable)
            else:
                self._loop.remove_reader(self._source)
        now_ns = time.monotonic_ns()
        due_ns = self._waiting[0][0] if self._waiting and not self._way.pace.stalled else None
        self._wake_at(due_ns if due_ns is not None and due_ns > now_ns else None, now_ns)
        if (wanted := due_ns is not None and due_ns <= now_ns) != self._writing:
            self._writing = wanted
            if wanted:
                self._loop.add_writer(self._target, self._pass_on)
            else:
                self._loop.remove_writer(self._target)

    def _wake_at(self, due_ns: int | None, now_ns: int) -> None:
        if due_ns == self._wake_ns:
            return
        self._wake_ns = due_ns
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due_ns is not None:
            self._timer = self._loop.call_later((due_ns - now_ns) / 1e9, self._woken)

    def _woken(self) -> None:
        self._timer = self._wake_ns = None
        self._pass_on()

    def _readable(self) -> None:
        if self._way.free():
            self._read()
            if not self._waiting and not self._heard_all:
                return  # all has gone: nothing has changed
        else:
            self._in_line = True
            self._way.line_up(self)
        self._settle()

    def _read(self) -> None:
        try:
            count = self._source.recv_into(_buffer, self._way.pace.piece_bytes)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._hold(End.RESET, 0)
            return
        if not count:
            self._hold(End.CLOSED, 0)
            return
        self._way.passed_bytes += count
        sent = 0
        if not self._waiting and self._way.pace.at_once:
            try:
                sent = self._target.send(_buffer[:count])
            except (BlockingIOError, InterruptedError):
                pass
            except OSError:
                self._ended(self, End.RESET)
                return
        if sent < count:
            self._hold(memoryview(bytes(_buffer[sent:count])), count - sent)

    def _hold(self, piece: memoryview | End, size_bytes: int) -> None:
        self._heard_all = isinstance(piece, End)
        due_ns = self._way.timetable.due_ns(size_bytes, time.monotonic_ns())
        self._last_due_ns = max(due_ns, self._last_due_ns)
        self._waiting.append((self._last_due_ns, piece))
        self._held_bytes += size_bytes
        self._way.held.bytes += size_bytes
        if self._heard_all:
            self._pass_on()

    def _pass_on(self) -> None:
        now_ns = time.monotonic_ns()
        while self._waiting and self._waiting[0][0] <= now_ns and not self._way.pace.stalled:
            due_ns, piece = self._waiting[0]
            if isinstance(piece, End):
                self._ended(self, piece)
                return
            try:
                sent = self._target.send(piece)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                self._ended(self, End.RESET)
                return
            self._held_bytes -= sent
            self._way.held.bytes -= sent
            if sent < len(piece):
                self._waiting[0] = (due_ns, piece[sent:])
                break
            self._waiting.popleft()
        self._settle()
