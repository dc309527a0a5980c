"""The ends that a process runs with one clock: makes them, starts them, and tells each what it needs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from collectors.amqp.options import MAX_FRAME_BYTES
from collectors.config.paths import Path
from collectors.contract.records import SECOND_NS
from collectors.probe.durable.journal import Journals
from collectors.probe.engine.loop import Loop
from collectors.probe.measure.clock import RunClock
from collectors.probe.measure.clock_exchange import ClockAsker, ClockExchanges
from collectors.probe.measure.guard import Guard, RateCap
from collectors.probe.measure.schedule import Schedule
from collectors.probe.publisher import Publisher, Sink, header_for, new_run
from collectors.probe.receiver import Receiver
from collectors.probe.sender import Sender
from collectors.probe.specs import ReceiverSpec, SenderSpec
from collectors.probe.transport import Connection

_log: Final = logging.getLogger("inflight.probe")
# From a second's end until it is published: the outcomes of its last messages come late.
_OUTCOMES_NS: Final = 150_000_000
_START_NS: Final = 3_000_000_000  # how long a sender waits for the receivers of its own process
_SUBSCRIBED_NS: Final = 2_000_000_000  # routers tell each other of a multicast's receivers once a second
_QUIET_NS: Final = 300_000_000  # without a message for so long, no more is expected at the end
_ASK_SECONDS: Final = 2.0
_HEARTBEAT_SECONDS: Final = 0.1


class Connect(Protocol):
    """Returns the connection that the ends of an endpoint and a role share."""

    def __call__(
        self, endpoint: str, role: str, subscription: str | None = None, alone: str = ""
    ) -> Connection: ...


class SendingEnd:
    """A sender, and the one before it that warms the path up under a run of its own."""

    def __init__(self, spec: SenderSpec, sender: Sender, warmup: Sender | None) -> None:
        self.path: Final = spec.paths[0]
        self.name: Final = spec.name
        self.sender: Final = sender
        self.warmup = warmup


class Ends:
    """All ends of a process, until its clock is found wrong; for the loop's thread only."""

    def __init__(
        self,
        loop: Loop,
        connection: Connect,
        specs: tuple[Sequence[SenderSpec], Sequence[ReceiverSpec]],
        sink: Sink,
        *,
        cap: RateCap,
        journals: Journals,
        compare_clocks: bool,
        warm_up: bool,
        may_send: Callable[[], bool] = lambda: True,
    ) -> None:
        self._may_send = may_send
        self.loop, self._connection, self._sink, self._cap = loop, connection, sink, cap
        self.clock: Final = RunClock.start()
        self._began_second = self.clock.now_ns() // SECOND_NS
        self._journals = journals
        self._guards: dict[str, Guard] = {}
        self._clocks = ClockExchanges(
            self.clock.now_ns, self._received_up_to, self._address_changed, active=compare_clocks
        )
        self._asker_of: dict[Receiver, ClockAsker] = {}
        self.receivers: Final = [self._receiver(spec) for spec in specs[1]]
        self.senders: Final = [self._sender(spec, warm_up=warm_up) for spec in specs[0]]
        self._begun_ns = 0
        self._over = False
        self._asked = 0

    # -- making them

    def _sender(self, spec: SenderSpec, *, warm_up: bool) -> SendingEnd:
        path = spec.paths[0]
        warmup = None
        if warm_up and path.warmup_ns:
            schedule = Schedule(path.rate, path.arrivals, share=path.senders, duration_ns=path.warmup_ns)
            warmup = self._one_sender(spec, schedule, warmup=True)
        schedule = Schedule(
            path.rate,
            path.arrivals,
            share=path.senders,
            position=spec.number,
            count=path.count,
            duration_ns=path.duration_ns,
        )
        return SendingEnd(spec, self._one_sender(spec, schedule, warmup=False), warmup)

    def new_sender(self, loop: Loop, connection: Connection, path: Path, *parts: Any, **more: Any) -> Sender:
        """Makes a sender of these parts; other loads than a stream have senders of other kinds."""
        return Sender(loop, connection, path, *parts, **more)

    def alone(self, path: Path, name: str) -> str:  # noqa: ARG002 -- loads know an end by it
        """Returns what those have in common that share a connection with no others; empty for all others.

        It is the flow where messages are long: others would have to wait behind them.
        """
        return path.flow if path.size[1] > MAX_FRAME_BYTES else ""

    def new_receiver(self, connection: Connection, path: Path, *parts: Any, **more: Any) -> Receiver:
        return Receiver(connection, path, *parts, **more)

    def _one_sender(self, spec: SenderSpec, schedule: Schedule, *, warmup: bool) -> Sender:
        path, run, now = spec.paths[0], new_run(), self.clock.now_ns()
        connection = self._connection(path.source, "sender", alone=self.alone(path, spec.name))
        guard = Guard(path.max_backlog, all_receivers=path.multicast and path.via is not None)
        self._guards[f"{run:016x}"] = guard
        headers = [header_for(p, "sender", spec.name, run, now, warmup=warmup) for p in spec.paths]
        journal = self._journals.ledger(headers)
        sender = self.new_sender(
            self.loop,
            connection,
            path,
            schedule,
            Publisher(headers, self._sink, journal.commit),
            run=run,
            clock=self.clock,
            guard=guard,
            cap=self._cap,
            journal=journal,
            warmup=warmup,
            reply_to=lambda: self._reply_to(connection, path),
        )
        self._clocks.answer_on(connection)
        return sender

    def _receiver(self, spec: ReceiverSpec) -> Receiver:
        path, run = spec.path, new_run()
        subscription = path.subscription and f"{path.subscription}-{spec.name}"
        connection = self._connection(path.target, "receiver", subscription, self.alone(path, spec.name))
        asker = self._clocks.asker_on(connection)
        header = header_for(path, "receiver", spec.name, run, self.clock.now_ns())
        store = self._journals.rows(header)
        receiver = self.new_receiver(
            connection,
            path,
            Publisher([header], self._sink, store.commit),
            name=spec.name,
            run=run,
            clock=self.clock,
            store=store,
            read_ns=self._read_ns,
            comparisons=self._clocks.comparisons(path.flow),
            received_up_to=lambda stream, highest: self._received_up_to(
                stream, f"{path.name} {spec.name}", highest
            ),
            sender_listens_at=asker.sender_listens_at if asker else lambda _stream, _address: None,
            address_changed=self._address_changed,
        )
        if asker:
            self._asker_of[receiver] = asker  # also when its link is moved to another connection
        return receiver

    # -- clocks, and what other ends report

    def _reply_to(self, connection: Connection, path: Path) -> str | None:
        for receiver in self.receivers:
            if receiver.path.flow == path.flow and receiver.dynamic_address is not None:
                return receiver.dynamic_address  # a round trip comes back to this process
        return self._clocks.answer_address(connection)

    def _address_changed(self) -> None:
        """Answers or echoes have to be sent to another address now."""
        for end in self.senders if not self._over else ():
            end.sender.renew_templates()

    def _received_up_to(self, stream: str, receiver: str, highest: int) -> bool:
        """Returns whether the stream is of a sender of this process."""
        guard = self._guards.get(stream)
        if guard is not None:
            guard.report(receiver, self.clock.now_ns(), highest)
        return guard is not None

    def _ask(self) -> None:
        if self._over:
            return
        self.loop.call_in(_ASK_SECONDS, self._ask)
        self._asked += 1
        for receiver in self.receivers:
            asker = self._asker_of.get(receiver)
            if asker is None:
                continue
            if self._asked % 5 == 1:
                receiver.ask_for_reply_address()
            for stream in receiver.streams:
                if stream not in self._guards:
                    name = f"{receiver.path.name} {receiver.name}"
                    asker.ask(stream, name, receiver.highest.get(stream, -1))

    # -- their life

    def begin(self) -> None:
        """Publishes now and every second, and sends as soon as receivers are there.

        Now, as a sender may end before its receiver's first second does: without a record of before, the
        receiver would not be known to have been there.
        """
        calls: list[tuple[int, Callable[[], None]]] = []
        for end in self.senders:
            calls += [(_OUTCOMES_NS, s.publish) for s in (end.warmup, end.sender) if s is not None]
        calls += [(0, receiver.publish) for receiver in self.receivers]
        for place, (delay_ns, publish) in enumerate(calls):
            # Spread over the second: making a record takes time that messages would wait for.
            self._every_second(publish, delay_ns + place * 77_125_000 % 700_000_000)
        self._begun_ns = self.clock.now_ns()
        self._start_senders()
        self._ask()
        self._beat()

    def _every_second(self, publish: Callable[[], None], phase_ns: int) -> None:
        now = self.clock.now_ns()
        # The last such time: the first call is now.
        next_ns = (now - phase_ns) // SECOND_NS * SECOND_NS + phase_ns

        def call() -> None:
            nonlocal next_ns
            if self._over:
                return
            next_ns = max(next_ns + SECOND_NS, self.clock.now_ns() - SECOND_NS)
            # First: whatever `publish` raises, the next call comes.
            self.loop.call_at(next_ns - self.clock.epoch_ns, call)
            publish()

        self.loop.call_at(next_ns - self.clock.epoch_ns, call)

    def _beat(self) -> None:
        """Writes to the journals that the ends are alive: after kill -9 they count as alive until then."""
        if self._over:
            return
        self.loop.call_in(_HEARTBEAT_SECONDS, self._beat)
        self._journals.beat(self._read_ns())

    def _read_ns(self) -> int:
        return self.clock.epoch_ns + self.loop.read_ns

    def stood_still(self, from_ns: int, to_ns: int) -> None:
        """The loop did not run between these times of the monotonic clock: nothing was watched or sent."""
        self._begun_ns += to_ns - from_ns
        for guard in self._guards.values():
            guard.stood_still(to_ns - from_ns)
        for receiver in self.receivers:
            receiver.stood_still(self.clock.epoch_ns + from_ns, self.clock.epoch_ns + to_ns)
        for end in self.senders:
            for sender in (end.warmup, end.sender):
                if sender is not None:
                    sender.stood_still()

    def _start_senders(self) -> None:
        """Starts the senders whose receivers in this process are there, or that have waited some seconds."""
        if self._over:
            return
        left = False
        for end in self.senders:
            if end.sender.started:
                continue
            if end.warmup is not None:
                left = True
                self._advance_warmup(end, end.warmup)
            elif self._may_start(end.path, end.sender):
                end.sender.start()
            else:
                left = True
        if left:
            self.loop.call_in(0.02, self._start_senders)

    def _may_start(self, path: Path, sender: Sender) -> bool:
        if not self._may_send():
            self._begun_ns = self.clock.now_ns()
            return False
        now = self.clock.now_ns()
        receivers = [receiver for receiver in self.receivers if receiver.path.flow == path.flow]
        if not (sender.has_credit and all(receiver.link_up for receiver in receivers)):
            return now - self._begun_ns > _START_NS
        # A router takes a multicast from its sender, and throws it away where it knows of no receiver.
        subscribed_ns = max([self._begun_ns, *(receiver.link_since_ns for receiver in receivers)])
        subscribed = not path.multicast or now - subscribed_ns >= _SUBSCRIBED_NS
        # Of a lost message only the second is known: if that were the first one, nobody could tell whether
        # the receiver was there already.
        return subscribed and now // SECOND_NS > self._began_second

    def _advance_warmup(self, end: SendingEnd, warmup: Sender) -> None:
        if not warmup.started:
            if self._may_start(end.path, warmup):
                warmup.start()
        elif warmup.finished and not warmup.unsettled:
            warmup.publish(bye=True)
            end.warmup = None
            warmup.close()

    @property
    def finished(self) -> bool:
        """Whether all schedules have come to their end."""
        return bool(self.senders) and all(end.sender.finished for end in self.senders)

    def stop_sending(self) -> None:
        for end in self.senders:
            if end.warmup is not None:
                end.warmup.stop()
            end.sender.stop()

    def complete(self) -> bool:
        """Returns whether all that was sent here is accounted for, and nothing comes in any more."""
        if any(end.sender.unsettled for end in self.senders):
            return False
        now = self.clock.now_ns()
        if any(now - receiver.last_received_ns < _QUIET_NS for receiver in self.receivers):
            return False
        return all(self._received(name) >= self._expected(name) for name in self._own_paths())

    def _own_paths(self) -> dict[str, Path]:
        return {receiver.path.name: receiver.path for receiver in self.receivers}

    def _received(self, name: str) -> int:
        return sum(receiver.received for receiver in self.receivers if receiver.path.name == name)

    def _expected(self, name: str) -> int:
        flow = self._own_paths()[name].flow
        return sum(end.sender.sent - end.sender.refused for end in self.senders if end.path.flow == flow)

    def bye(self) -> None:
        """Ends all runs: publishes all that is known."""
        self._over = True
        for end in self.senders:
            if end.warmup is not None:
                end.warmup.publish(bye=True)
            end.sender.publish(bye=True)
        for receiver in self.receivers:
            receiver.publish(bye=True)
        self._journals.close()

    def detach(self) -> None:
        """Closes all links; the connections stay, for the ends that come after these."""
        for end in self.senders:
            for sender in (end.warmup, end.sender):
                if sender is not None:
                    sender.close()
        for receiver in self.receivers:
            receiver.close()
        self._clocks.close()
