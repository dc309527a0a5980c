"""All ends that a process runs: made from paths, started together, and ended so that nothing is lost."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from collectors import amqp
from collectors.config import Endpoint
from collectors.paths import Path
from collectors.probe.clock import RunClock
from collectors.probe.connection import Connection
from collectors.probe.limits import Guard, RateCap
from collectors.probe.loop import Loop
from collectors.probe.publisher import Publisher, Sink, header_for, new_run
from collectors.probe.receiver import Receiver
from collectors.probe.rows import MemoryRows
from collectors.probe.schedule import Schedule
from collectors.probe.sender import Sender
from collectors.records import SECOND_NS

_log: Final = logging.getLogger("inflight.probe")
_PUBLISH_NS: Final = SECOND_NS
_OUTCOMES_NS: Final = 150_000_000  # after a second's end, for the outcomes of its last messages
_QUIET_NS: Final = 300_000_000  # without a message: at the end, no more is expected
_START_SECONDS: Final = 3.0  # a sender waits so long for the receivers of its own process
_SUBSCRIBED_SECONDS: Final = 1.0  # a mesh needs a moment to know a multicast's receivers


@dataclass(frozen=True, slots=True)
class Settings:
    """What is not a path's own."""

    site: str
    max_rate: float = 0.0
    linger_seconds: float = 3.0  # at the end, for what is on its way


class Prober:
    """Its loop runs in a thread of its own, or in `loop.run()` of the caller's."""

    def __init__(
        self,
        send: Sequence[Path],
        receive: Sequence[Path],
        endpoints: Mapping[str, Endpoint],
        sink: Sink,
        settings: Settings,
    ) -> None:
        """Paths of one multicast flow are sent once: give all of them."""
        self.loop = Loop()
        self._endpoints, self._sink, self._settings = endpoints, sink, settings
        self._clock = RunClock.start()
        self._cap = RateCap(settings.max_rate)
        self._connections: dict[tuple[str, str], Connection] = {}
        self.senders: list[tuple[Path, str, Sender]] = []
        self.receivers: list[tuple[Path, str, Receiver]] = []
        self._guards: dict[str, Guard] = {}
        for path in receive:
            for number in range(path.receivers):
                self._add_receiver(path, f"{path.target}-{number}")
        flows: dict[str, list[Path]] = {}
        for path in send:
            flows.setdefault(path.flow, []).append(path)
        for group in flows.values():
            for number in range(group[0].senders):
                self._add_sender(group, f"{group[0].source}-{number}", number)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Connect and begin; runs in a thread of its own."""
        self.loop.post(self._begin)
        self._thread = self.loop.run_in_thread("probe")

    def stop(self) -> None:
        """End cleanly; blocks for `linger_seconds` and a second at most, for what is on its way."""
        if self._thread is None:
            return
        self.loop.post(self._end)
        self._thread.join(self._settings.linger_seconds + 5)
        self._thread = None
        self.loop.close()

    clock_steps = 0

    def not_ready(self) -> str | None:
        """Why not every end is at work."""
        for path, name, sender in self.senders:
            if not sender.link_up:
                return f"path {path.name}: sender {name} is not attached"
        for path, name, receiver in self.receivers:
            if not receiver.link_up:
                return f"path {path.name}: receiver {name} is not attached"
        return None

    # -- making ends

    def _connection(self, endpoint: str, role: str) -> Connection:
        key = endpoint, role
        if key not in self._connections:
            config = self._endpoints[endpoint]
            container = f"inflight-{role}-{self._settings.site}-{endpoint}-{new_run():016x}"
            self._connections[key] = Connection(self.loop, lambda: _peers(config), container)
        return self._connections[key]

    def _add_sender(self, paths: list[Path], name: str, number: int) -> None:
        path, run = paths[0], new_run()
        headers = [header_for(p, "sender", name, run, self._clock.now_ns()) for p in paths]
        guard = Guard(path.max_backlog, all_receivers=path.multicast and path.via is not None)
        self._guards[f"{run:016x}"] = guard
        connection = self._connection(path.source, "sender")
        schedule = Schedule(
            path.rate,
            path.arrivals,
            share=path.senders,
            position=number,
            count=path.count,
            duration_ns=path.duration_ns,
        )
        sender = Sender(
            self.loop,
            connection,
            path,
            schedule,
            Publisher(headers, self._sink, lambda _number, _frontier: None),
            run=run,
            clock=self._clock,
            guard=guard,
            cap=self._cap,
        )
        connection.add(sender)
        self.senders.append((path, name, sender))

    def _add_receiver(self, path: Path, name: str) -> None:
        run = new_run()
        header = header_for(path, "receiver", name, run, self._clock.now_ns())
        connection = self._connection(path.target, "receiver")
        end = f"{path.name} {name}"
        receiver = Receiver(
            connection,
            path,
            Publisher([header], self._sink, lambda _number, _frontier: None),
            run=run,
            clock=self._clock,
            store=MemoryRows(),
            heard=lambda stream, highest: self._heard(stream, end, highest),
        )
        connection.add(receiver)
        self.receivers.append((path, name, receiver))

    def _heard(self, stream: str, end: str, highest: int) -> None:
        guard = self._guards.get(stream)
        if guard is not None:
            guard.heard(end, self._clock.now_ns(), highest)

    # -- in the loop's thread

    def _begin(self) -> None:
        for connection in self._connections.values():
            connection.start()
        ends: list[tuple[int, Callable[[], None]]] = [
            *((_OUTCOMES_NS, sender.publish) for _, _, sender in self.senders),
            *((0, receiver.publish) for _, _, receiver in self.receivers),
        ]
        for place, (delay_ns, publish) in enumerate(ends):
            # Spread over the second: making a record takes time that messages would wait for.
            phase = delay_ns + (place * 617_000_000 // 8) % 700_000_000
            self._publish_every_second(publish, phase)
        self._waited_since = time.monotonic()
        self._start_senders()

    def _publish_every_second(self, publish: Callable[[], None], phase_ns: int) -> None:
        now = self._clock.now_ns()
        next_ns = (now - phase_ns) // _PUBLISH_NS * _PUBLISH_NS + _PUBLISH_NS + phase_ns

        def run() -> None:
            nonlocal next_ns
            if self._ending:
                return
            publish()
            next_ns = max(next_ns + _PUBLISH_NS, self._clock.now_ns() - _PUBLISH_NS)
            self.loop.call_at(next_ns - self._clock.epoch_ns, run)

        self.loop.call_at(next_ns - self._clock.epoch_ns, run)

    _ending = False
    _waited_since = 0.0

    def _start_senders(self) -> None:
        """A sender begins when the receivers of its flow in this process are there, or after some seconds."""
        if self._ending:
            return
        waited = time.monotonic() - self._waited_since
        left = False
        for path, _, sender in self.senders:
            if sender.started:
                continue
            ends = [r for p, _, r in self.receivers if p.flow == path.flow]
            ready = sender.up and all(r.link_up for r in ends)
            if waited > _START_SECONDS or (ready and not (path.multicast and waited < _SUBSCRIBED_SECONDS)):
                sender.start()
            else:
                left = True
        if left:
            self.loop.call_in(0.02, self._start_senders)

    def _end(self) -> None:
        self._ending = True
        for _, _, sender in self.senders:
            sender.stop()
        self._end_by = time.monotonic() + self._settings.linger_seconds
        self._end_when_quiet()

    _end_by = 0.0

    def _end_when_quiet(self) -> None:
        now = time.monotonic()
        quiet = all(not sender.unsettled for _, _, sender in self.senders) and all(
            self._clock.now_ns() - receiver.last_received_ns > _QUIET_NS for _, _, receiver in self.receivers
        )
        if not quiet and now < self._end_by:
            self.loop.call_in(0.05, self._end_when_quiet)
            return
        for _, _, sender in self.senders:
            sender.publish(bye=True)
        for _, _, receiver in self.receivers:
            receiver.publish(bye=True)
        for connection in self._connections.values():
            connection.close()
        self._end_by = now + 1.0
        self._end_when_closed()

    def _end_when_closed(self) -> None:
        open_ones = [connection for connection in self._connections.values() if not connection.closed]
        if open_ones and time.monotonic() < self._end_by:
            self.loop.call_in(0.02, self._end_when_closed)
            return
        for connection in open_ones:
            connection.abort()
        self.loop.stop()


def _peers(endpoint: Endpoint) -> list[amqp.Options]:
    return [amqp.options(url, endpoint.tls, endpoint.sasl) for url in endpoint.url]
