"""A sender end: sends what its schedule wants, and keeps the ledger of the outcomes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection
from typing import Any, Final

from collectors.config.paths import Path
from collectors.contract.records import SECOND_NS, Outcome, UnsentReason, flow_hash
from collectors.probe.colours import SendingColour, SendingColours
from collectors.probe.durable.journal import LedgerJournal
from collectors.probe.engine.loop import Loop, Timer
from collectors.probe.measure.backlog import Backlog
from collectors.probe.measure.clock import RunClock
from collectors.probe.measure.guard import Guard, RateCap
from collectors.probe.measure.ledger import CODES, PRESETTLED, UNSETTLED, SenderLedger
from collectors.probe.measure.link_uptime import LinkUptime
from collectors.probe.measure.schedule import Schedule
from collectors.probe.measure.send_delay import SendDelays
from collectors.probe.message import Body, Properties, encode_body, sizes
from collectors.probe.publisher import Publisher
from collectors.probe.transport import Connection, SendingLink

_TICK_NS: Final = 500_000  # messages that are due within it go out together
_RETRY_NS: Final = 100_000_000  # where nothing is timed: unpaced, or all is due and waits
_MOST_IN_TURN: Final = 1_000  # messages in one go, then the socket's turn
_BYTES_IN_TURN: Final = 1 << 17  # of which no more than the first message goes beyond this


class Sender:
    """Sends one stream of numbers, by links that may come and go: the stream goes on."""

    def __init__(
        self,
        loop: Loop,
        connection: Connection,
        path: Path,
        schedule: Schedule,
        publisher: Publisher,
        *,
        run: int,
        clock: RunClock,
        guard: Guard,
        cap: RateCap,
        journal: LedgerJournal,
        warmup: bool = False,
        reply_to: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._loop, self._path = loop, path
        self._schedule, self._publisher, self._cap = schedule, publisher, cap
        self._clock, self._run, self._warmup, self._reply_to = clock, run, warmup, reply_to
        self._journal = journal
        self.started = False
        self.finished = False  # the schedule has come to its end, or was ended
        self._longest_bytes = 1  # of the messages
        self._random = random.Random(run)  # noqa: S311 -- sizes
        self._timer: Timer | None = None
        self.ledger: Final = SenderLedger(clock.now_ns() // SECOND_NS)
        self.backlog: Final = Backlog(path.name, schedule, self.ledger, guard, path.max_backlog)
        journal.follow(self.ledger)
        self._uptime = LinkUptime(f"path {path.name}: the sender", clock.now_ns())
        self._over = False
        self.outcomes = [0] * len(CODES)
        self.send_delays: Final = SendDelays()
        self.sent = 0
        self._colours = SendingColours(connection, self.linked_to(path), run, self)

    def linked_to(self, path: Path) -> Path:
        """Returns the path by whose address its links go."""
        return path

    @property
    def link(self) -> SendingLink:
        """Its link, the first one of a marked path's: both are on one connection, unless it was split."""
        return self._colours.first

    @property
    def link_up(self) -> bool:
        return self._colours.attached

    @property
    def problem(self) -> str:
        """Why there is no link."""
        return self._colours.problem or self._uptime.problem

    @property
    def has_credit(self) -> bool:
        """Whether it may send, in any colour."""
        return self._colours.all_have_credit

    @property
    def up(self) -> bool:
        """Attached, and the peer takes what is due."""
        if not self.link_up:
            return False
        takes = self._colours.at(self._clock.now_ns()).link.credit > 0
        return takes or (self.started and not self.backlog.waiting)

    @property
    def waits_for_peer(self) -> bool:
        """Whether all messages are due, so that only the peer decides when the last one is sent."""
        return self.started and not self.finished and (self._schedule.unpaced or self._schedule.done)

    # -- its links

    def on_attached(self, colour: SendingColour) -> None:
        if self.link_up:
            self._uptime.begins(self._clock.now_ns())
        self._make_templates(colour)
        self.on_credit()

    def on_credit(self) -> None:
        if self.started and (self.backlog.waiting or self._schedule.unpaced):
            self.send_due()

    def on_outcome(self, number: int, outcome: Outcome) -> None:
        code = CODES[outcome]
        self.ledger.settle(number, code)
        self.outcomes[code] += 1

    def on_lost(self, reason: str, numbers: Collection[int]) -> None:
        self._uptime.ends(self._clock.now_ns(), reason)
        # A presettled message that was not written counts as lost now, and stays in `outcomes` as sent.
        presettled = self._path.presettled
        for number in numbers:
            self.ledger.settle(number, UNSETTLED, final=not presettled)
        if not presettled:
            self.outcomes[UNSETTLED] += len(numbers)

    def before_write(self) -> None:
        """Writes the journal, so that nothing is out that it does not know."""
        if not self._over and (self.ledger.touched or self.ledger.settled):
            presettled = self._path.presettled
            written = self._colours.written_below(self.ledger.next_seq) if presettled else 0
            self._journal.write(self.ledger, written)

    def _make_templates(self, colour: SendingColour) -> None:
        flow = flow_hash(self._path.mesh, self._path.address)
        body = Body(self._warmup, flow, self._run, 0, 0, 0, self._clock.boot, self._clock.epoch_ns)
        properties = Properties(
            ttl_ns=self._path.ttl_ns,
            durable=self._path.durable,
            priority=self._path.priority,
            reply_to=self._reply_to(),
        )
        bodies = [encode_body(body, size) for size in sizes(*self._path.size)]
        colour.make_templates(bodies, properties)
        self._longest_bytes = max(len(template.message) for template, _ in colour.templates)

    def renew_templates(self) -> None:
        """Call when the address for answers has changed."""
        for colour in self._colours.prepared:
            self._make_templates(colour)

    def close(self) -> None:
        """Closes its links; nothing more is heard of them."""
        self._colours.close()

    # -- the schedule

    def start(self) -> None:
        """Begins the schedule now."""
        self.started = True
        self.backlog.start_ns = self._clock.now_ns()
        self._tick()

    def stop(self) -> None:
        """Sends nothing more; what is due counts as unsent."""
        self._schedule.next_ns = 1 << 62
        self.finished = True
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        self._timer = None
        if self.finished:
            return
        try:
            self.send_due()
        finally:  # whatever is raised, the next turn comes
            self._next_tick()

    def _next_tick(self) -> None:
        if self._schedule.done and not self.backlog.waiting:
            self.finished = True
            return
        now = self._clock.now_ns()
        if self._schedule.unpaced or self._schedule.done:
            wake = now + _RETRY_NS  # credit wakes it earlier
        else:
            wake = max(self.backlog.start_ns + self._schedule.next_ns, now + _TICK_NS)
            if self._colours.several and self.backlog.waiting:
                wake = min(wake, now + _RETRY_NS)  # the other colour may have credit
        self._timer = self._loop.call_at(wake - self._clock.epoch_ns, self._tick)

    def stood_still(self) -> None:
        """The process did not run until now: what was due meanwhile is not sent in one burst."""
        if self.started and not self.finished and not self._schedule.unpaced:
            self.backlog.pass_over(self._clock.now_ns())
            self.before_write()

    def _obstacle(self, link: SendingLink) -> UnsentReason:
        if not link.attached:
            return "no_connection"
        if link.credit <= 0 or link.held:
            return "no_credit"
        return "guard"  # with credit, it is the host's rate cap

    def send_due(self) -> None:
        """Sends what is due, as far as it may now."""
        if self.finished:
            return
        now, unpaced = self._clock.now_ns(), self._schedule.unpaced
        colour = self._colours.at(now)
        link = colour.link
        if not unpaced:
            self.backlog.collect(now, self._obstacle(link))
        if not (link.attached and (unpaced or self.backlog.waiting)):
            return
        if link.held:
            link.when_written(self.send_due)
            return
        most = min(_MOST_IN_TURN, max(1, _BYTES_IN_TURN // self._longest_bytes))
        room = min(link.credit, self._cap.room(now), most)
        room = self.backlog.take_unpaced(now, room) if unpaced else min(room, len(self.backlog.waiting))
        if room <= 0:
            return
        self._cap.take(room)
        first = self.ledger.next_seq
        while room and (count := self._send_within_second(colour, room)):
            room -= count
        link.flush(first, self.ledger.next_seq)
        if room:  # it is the other colour's time
            self._cap.take(-room)
            if unpaced:
                self.backlog.give_back_unpaced(room)
        if room or (link.credit > 0 and (self.backlog.waiting or unpaced)):
            self._loop.post(self.send_due)  # the socket's turn first

    def _send_within_second(self, colour: SendingColour, most: int) -> int:
        """Sends up to `most` messages, all in one second. Returns how many: none in another colour's."""
        waiting, unpaced = self.backlog.waiting, self._schedule.unpaced
        epoch, monotonic = self._clock.epoch_ns, time.monotonic_ns
        add_delay, caught_up = self.send_delays.add, self.ledger.caught_up
        templates = colour.templates
        several = len(templates) > 1
        template, send = templates[0]
        patch = template.patch
        seq = first = self.ledger.next_seq
        end = first + most
        body_bytes = 0
        sent = epoch + monotonic()
        if self._colours.at(sent) is not colour:
            return 0
        second_ends = sent // SECOND_NS * SECOND_NS + SECOND_NS  # colours change with seconds
        while sent < second_ends:
            if several:
                template, send = self._random.choice(templates)
                patch = template.patch
            if unpaced:
                intended = sent
            else:
                intended = waiting.popleft()
                caught_up(intended // SECOND_NS)
                add_delay(sent - intended)
            patch(seq, intended, sent)
            send(seq)
            body_bytes += template.body_bytes
            seq += 1
            if seq == end:
                break
            sent = epoch + monotonic()
        count, second = seq - first, second_ends // SECOND_NS - 1
        if unpaced:
            self.ledger.due(second, count)
            self.ledger.caught_up(second, count)
        presettled = self._path.presettled
        self.ledger.sent(second, count, body_bytes, PRESETTLED if presettled else UNSETTLED)
        self.sent += count
        if presettled:
            self.outcomes[PRESETTLED] += count
        return count

    # -- the records

    @property
    def refused(self) -> int:
        """How many messages the network gave back."""
        return sum(self.outcomes[CODES[outcome]] for outcome in ("rejected", "released", "modified"))

    @property
    def unsettled(self) -> int:
        """How many messages may still get another outcome, or be lost with the connection."""
        return self._colours.unsettled

    def publish(self, *, bye: bool = False) -> None:
        """Publishes the ledgers of the seconds that are over; with `bye` of all, and the end of the run."""
        now = self._clock.now_ns()
        until = now // SECOND_NS
        if bye:
            self.backlog.give_up(0, self._obstacle(self._colours.at(now).link))
            until += 1
        self.before_write()
        self._over = bye
        for entry in self.ledger.close(until):
            self._publisher.add_ledger(f"{self._run:016x}", entry, **self._state())
        frontier = now if bye else until * SECOND_NS
        last = {**self._state(), "peer": self.link.connection.peer, **self._uptime.take_spans(now)}
        self._publisher.end(frontier, kind="bye" if bye else "alive", always=True, **last)

    def _state(self) -> dict[str, Any]:
        return {**self._uptime.state, "oldest_due_ns": self.backlog.oldest_ns}
