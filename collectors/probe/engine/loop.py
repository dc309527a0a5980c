"""The loop that all ends of a process share: sockets, timers, and calls from other threads."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import logging
import os
import select
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

_log: Final = logging.getLogger("inflight.probe")
_LONGEST_NS: Final = 500_000_000
_LONGEST_TEXT: Final = 300
_MOST_TEXTS: Final = 20
_RECENT_SECONDS: Final = 60.0
STILL_NS: Final = 500_000_000  # more than this between two steps, waits not counted: it did not run


class Handler(Protocol):
    """Is called when its socket is ready."""

    def ready(self, *, readable: bool, writable: bool) -> None: ...


class Timer:
    """A call that is due later, unless it is cancelled."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class Loop:
    """Only `post` and `stop` may be called by other threads.

    It notices when it stood still: the process or its machine was stopped, frozen or swapped out, or a call
    took very long. Then all sockets are read before any timer is called.
    """

    def __init__(self) -> None:
        self.on_stood_still: Callable[[int, int], None] = lambda _from_ns, _to_ns: None
        self.read_ns = self._stepped_ns = time.monotonic_ns()  # all that had come by `read_ns` is read
        self._unread_until_ns = 0  # after it stood still: sockets come first, at most until then
        self._epoll = select.epoll()
        self._handlers: dict[int, Handler] = {}
        self._timers: list[tuple[int, int, Timer]] = []
        self._count = itertools.count()
        self._posted: deque[Callable[[], None]] = deque()
        self._after: dict[Callable[[], None], None] = {}
        self._stopping = False
        self._failures: dict[str, float] = {}  # unexpected errors, and when each was last
        self._wake_in, self._wake_out = os.pipe()
        os.set_blocking(self._wake_in, False)
        os.set_blocking(self._wake_out, False)
        self._epoll.register(self._wake_in, select.EPOLLIN)

    def call_at(self, monotonic_ns: int, call: Callable[[], None]) -> Timer:
        timer = Timer(call)
        heapq.heappush(self._timers, (monotonic_ns, next(self._count), timer))
        return timer

    def call_in(self, seconds: float, call: Callable[[], None]) -> Timer:
        return self.call_at(time.monotonic_ns() + round(seconds * 1e9), call)

    def before_waiting(self, call: Callable[[], None]) -> None:
        """Calls it once, at the end of this round: what a round writes is written in one piece."""
        self._after[call] = None

    def post(self, call: Callable[[], None]) -> None:
        """Calls it in the loop's thread; may be used from any thread."""
        self._posted.append(call)
        self._wake()

    def stop(self) -> None:
        """Ends `run`; may be used from any thread, and from a signal handler."""
        self._stopping = True
        self._wake()

    def watch(self, fd: int, handler: Handler, *, writable: bool) -> None:
        events = select.EPOLLIN | (select.EPOLLOUT if writable else 0)
        if fd in self._handlers:
            self._epoll.modify(fd, events)
        else:
            self._epoll.register(fd, events)
        self._handlers[fd] = handler

    def forget(self, fd: int) -> None:
        if self._handlers.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def run(self) -> None:
        """Runs until `stop` is called."""
        self.read_ns = self._stepped_ns = time.monotonic_ns()
        try:
            while not self._stopping:
                self.round()
        finally:
            self._stopping = False

    def round(self) -> None:
        """Waits for the next thing to happen, and does all that is due."""
        self._flush()
        self._step()
        wait_ns = _LONGEST_NS
        if self._timers:
            wait_ns = min(wait_ns, self._timers[0][0] - time.monotonic_ns())
        if self._posted:
            wait_ns = 0
        # epoll counts in ms, which is too coarse for a schedule; select on the epoll does not.
        if wait_ns > 0:
            select.select([self._epoll], [], [], wait_ns / 1e9)
            self._step(wait_ns)
        begun_ns = self._stepped_ns
        ready = self._epoll.poll(0)
        if not ready or begun_ns >= self._unread_until_ns:
            self._unread_until_ns = 0
        for fd, events in ready:
            self._step()
            self._dispatch(fd, events)
        self._step()
        self.read_ns = begun_ns
        while self._posted and self._goes_on():
            self._call(self._posted.popleft())
        now = time.monotonic_ns()
        while self._timers and self._timers[0][0] <= now and self._goes_on():
            call = heapq.heappop(self._timers)[2].call
            if call is not None:
                self._call(call)
        self._flush()

    @property
    def problem(self) -> str | None:
        """An unexpected error of the last minute; may be read from any thread."""
        since = time.monotonic() - _RECENT_SECONDS
        return next((text for text, when in list(self._failures.items()) if when > since), None)

    def close(self) -> None:
        self._epoll.close()
        os.close(self._wake_in)
        os.close(self._wake_out)

    def _step(self, waited_ns: int = 0) -> None:
        now = time.monotonic_ns()
        if now - self._stepped_ns > STILL_NS + max(waited_ns, 0):
            self._unread_until_ns = now + STILL_NS
            self._call(lambda: self.on_stood_still(self.read_ns, now))
        self._stepped_ns = now

    def _goes_on(self) -> bool:
        """Returns whether no socket has to be read first."""
        self._step()
        return not self._unread_until_ns

    def _flush(self) -> None:
        while self._after:
            calls, self._after = self._after, {}
            for call in calls:
                self._call(call)

    def _dispatch(self, fd: int, events: int) -> None:
        if fd == self._wake_in:
            os.read(fd, 4096)
            return
        handler = self._handlers.get(fd)
        if handler is not None:
            broken = events & (select.EPOLLERR | select.EPOLLHUP)
            readable, writable = bool(events & select.EPOLLIN or broken), bool(events & select.EPOLLOUT)
            self._call(lambda: handler.ready(readable=readable, writable=writable))

    def _call(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 -- one part's error must not end all the others
            text = f"an unexpected error: {type(error).__name__}: {error}"[:_LONGEST_TEXT]
            if text not in self._failures:
                if len(self._failures) >= _MOST_TEXTS:
                    text = "unexpected errors of many kinds"
                _log.exception("%s, told once, in %r; the probe goes on", text, call)
            self._failures[text] = time.monotonic()

    def _wake(self) -> None:
        # A full pipe wakes as well, and a closed one belongs to a loop that has ended.
        with contextlib.suppress(OSError):
            os.write(self._wake_out, b"!")
