"""A probe process: its loop, its connections, its ends, and how they end so that nothing is lost."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File
from typing import Final

from collectors.amqp import containers
from collectors.config.model import Endpoint
from collectors.config.paths import Path
from collectors.probe.durable.journal import FileJournals, Journals, MemoryJournals
from collectors.probe.ends import Ends, SendingEnd
from collectors.probe.engine.amqp_transport import AmqpTransport
from collectors.probe.engine.loop import Loop
from collectors.probe.measure.clock import STEP_NS
from collectors.probe.measure.guard import RateCap
from collectors.probe.publisher import Sink, new_run
from collectors.probe.receiver import Receiver
from collectors.probe.specs import ReceiverSpec, SenderSpec, receiver_specs, sender_specs
from collectors.probe.transport import Connection, Transport
from collectors.process.worker import Worker

_log: Final = logging.getLogger("inflight.probe")
_CLOSE_SECONDS: Final = 1.0
_CLOCK_SECONDS: Final = 1.0
_SWITCH_SECONDS: Final = 0.0005  # how long another thread may keep messages waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is the same for all paths."""

    site: str
    max_rate: float = 0.0  # of all senders together; 0 for no bound
    linger_seconds: float = 3.0  # at the end, for what is on its way
    drain_seconds: float = 0.0  # how much longer, while some of it still comes in
    journals: File | None = None  # the folder, where what is measured has to survive kill -9
    compare_clocks: bool = True  # with ends in other processes
    stop_when_finished: bool = False  # when all schedules have come to their end
    numbers: frozenset[int] | None = None  # of paths with several senders or receivers, only these
    may_send: Callable[[], bool] = lambda: True  # senders begin when it says so, and receivers are there


class Prober:
    """Runs in a thread of its own from `start` to `stop`."""

    def __init__(
        self,
        send: Sequence[Path],
        receive: Sequence[Path],
        endpoints: Mapping[str, Endpoint],
        sink: Sink,
        settings: Settings,
        transport: Callable[[Loop], Transport] = AmqpTransport,
        ends: Callable[..., Ends] = Ends,
        specs: tuple[Sequence[SenderSpec], Sequence[ReceiverSpec]] | None = None,
    ) -> None:
        """Paths of one multicast flow are sent once: give all of them. `specs` replace all their ends."""
        self.loop: Final = Loop()
        self.loop.on_stood_still = self._stood_still
        self._endpoints, self._sink, self._settings = endpoints, sink, settings
        self._cap = RateCap(settings.max_rate)
        self._connections: dict[tuple[str, str, str], Connection] = {}
        self._transport = transport(self.loop)
        self._specs = specs or (
            sender_specs(send, settings.numbers),
            receiver_specs(receive, settings.numbers),
        )
        self._make_ends = ends
        self._ends = self._new_ends(warm_up=True)
        self._worker = Worker("probe", self._run, again=False)
        self._started = False
        self._stopping = False
        self._end_by = self._drain_by = 0.0
        self._arrived = 0
        self.clock_steps = 0
        self.stood_still_seconds = 0.0

    @property
    def ended(self) -> threading.Event:
        """Set when the thread has ended, asked to or not: see `failure`."""
        return self._worker.ended

    @property
    def failure(self) -> str | None:
        """Why it ended without being asked to."""
        return self._worker.problem

    @property
    def senders(self) -> list[SendingEnd]:
        return self._ends.senders

    @property
    def receivers(self) -> list[Receiver]:
        return self._ends.receivers

    def start(self) -> None:
        """Connects, and begins to send and to receive."""
        sys.setswitchinterval(_SWITCH_SECONDS)
        self.loop.post(self._begin)
        self._worker.start()
        self._started = True

    def stop_sending(self) -> None:
        """Ends all schedules; what is on its way is still received."""
        self.loop.post(lambda: self._ends.stop_sending())  # noqa: PLW0108 -- those of then

    @property
    def ends(self) -> Ends:
        """Its ends as of now."""
        return self._ends

    def end(self) -> None:
        """Ends after a wait for what is on its way; sets `ended` then."""
        self.loop.post(self._stop)

    def stop(self) -> None:
        """Ends, and blocks until then: at most `linger_seconds`, `drain_seconds` and some seconds more."""
        if not self._started:
            return
        self.end()
        longest = self._settings.linger_seconds + self._settings.drain_seconds
        self._worker.join(longest + _CLOSE_SECONDS + 3)
        self._started = False

    def not_ready(self) -> str | None:
        """Returns why not every end is at work; None where all are."""
        if (problem := self.failure or self.loop.problem) is not None:
            return problem
        for end in self.senders:
            if not end.sender.link_up:
                return f"path {end.path.name}: sender {end.name} is not attached: {end.sender.problem}"
        for receiver in self.receivers:
            if not receiver.link_up:
                name = f"path {receiver.path.name}: receiver {receiver.name}"
                return f"{name} is not attached: {receiver.problem}"
        return None

    def problems(self) -> list[str]:
        """Returns what keeps connections from being made, each reason once."""
        found = [each.problem for each in self._transport.connections() if not (each.open or each.closed)]
        return sorted({problem for problem in found if problem})

    # -- its parts

    def _connection(
        self, endpoint: str, role: str, subscription: str | None = None, alone: str = ""
    ) -> Connection:
        """Returns the connection that the ends of an endpoint and a role share, or one of `alone`'s own.

        A durable subscription has a connection of its own, as a peer knows it by the connection's name.
        """
        key = endpoint, role, subscription or alone
        if key not in self._connections:
            own = subscription or f"{new_run():016x}"
            name = containers.of_probe(role, self._settings.site, endpoint, own)
            self._connections[key] = self._transport.connection(self._endpoints[endpoint], name)
        return self._connections[key]

    def _new_ends(self, *, warm_up: bool) -> Ends:
        folder = self._settings.journals
        journals: Journals = FileJournals(folder) if folder is not None else MemoryJournals()
        return self._make_ends(
            self.loop,
            self._connection,
            self._specs,
            self._sink,
            cap=self._cap,
            journals=journals,
            compare_clocks=self._settings.compare_clocks,
            warm_up=warm_up,
            may_send=self._settings.may_send,
        )

    # -- in the loop's thread

    def _run(self) -> None:
        gc.collect()
        gc.freeze()  # collecting what is there again and again would hold up messages
        try:
            self.loop.run()
        finally:
            self.loop.close()

    def _begin(self) -> None:
        for connection in self._connections.values():
            connection.start()
        self._ends.begin()
        self._watch_clock()
        if self._settings.stop_when_finished:
            self._stop_when_finished()

    def _watch_clock(self) -> None:
        if self._stopping:
            return
        self.loop.call_in(_CLOCK_SECONDS, self._watch_clock)
        step = self._ends.clock.step_ns()
        if abs(step) > STEP_NS:
            self.clock_steps += 1
            _log.warning("the clock went %+.3f s from this run's; all ends begin a new run", step / 1e9)
            old = self._ends
            old.stop_sending()
            old.bye()
            old.detach()
            self._ends = self._new_ends(warm_up=False)
            self._ends.begin()

    def _stood_still(self, from_ns: int, to_ns: int) -> None:
        seconds = (to_ns - from_ns) / 1e9
        self.stood_still_seconds += seconds
        self._end_by += seconds
        _log.warning("the process stood still for %.1f s: nothing was sent or received meanwhile", seconds)
        self._ends.stood_still(from_ns, to_ns)

    def _stop_when_finished(self) -> None:
        if self._ends.finished:
            self._stop()
        elif not self._stopping:
            self.loop.call_in(0.02, self._stop_when_finished)

    def _stop(self) -> None:
        if self._stopping:
            return
        self._stopping = True
        self._ends.stop_sending()
        self._end_by = time.monotonic() + self._settings.linger_seconds
        self._drain_by = self._end_by + self._settings.drain_seconds
        self._wait_for_last()

    def _wait_for_last(self) -> None:
        now = time.monotonic()
        arrived = sum(receiver.received for receiver in self.receivers)
        if arrived > self._arrived:
            self._arrived = arrived
            self._end_by = min(now + self._settings.linger_seconds, self._drain_by)
        if not self._ends.complete() and now < self._end_by:
            self.loop.call_in(0.02, self._wait_for_last)
            return
        self._ends.bye()
        for connection in self._transport.connections():
            connection.close()
        self._end_by = time.monotonic() + _CLOSE_SECONDS
        self._wait_for_close()

    def _wait_for_close(self) -> None:
        left = [connection for connection in self._transport.connections() if not connection.closed]
        if left and time.monotonic() < self._end_by:
            self.loop.call_in(0.02, self._wait_for_close)
            return
        for connection in left:
            connection.abort()
        self.loop.stop()
