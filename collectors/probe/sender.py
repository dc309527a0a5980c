"""A sender end: sends what its schedule wants, and keeps the ledger of what became of it."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from typing import Any, Final

import cproton as c
from cproton_ffi import ffi, lib
from proton import Link as EngineLink

from collectors.config.paths import Path
from collectors.contract.records import SECOND_NS, UnsentReason, flow_hash
from collectors.probe.durable.journal import LedgerJournal
from collectors.probe.durable.socket_watermark import Written
from collectors.probe.engine.connection import Connection
from collectors.probe.engine.loop import Loop, Timer
from collectors.probe.measure.backlog import Backlog
from collectors.probe.measure.clock import RunClock
from collectors.probe.measure.guard import Guard, RateCap
from collectors.probe.measure.ledger import CODES, PRESETTLED, UNSETTLED, SenderLedger
from collectors.probe.measure.link_uptime import Attachment
from collectors.probe.measure.schedule import Schedule
from collectors.probe.measure.send_delay import Lag
from collectors.probe.message import Body, Properties, Template, sizes
from collectors.probe.publisher import Publisher

_TICK_NS: Final = 500_000  # what is due within it goes out together
_BURST: Final = 1_000  # messages in one go, then the socket's turn
_BURST_BYTES: Final = 1 << 18  # of which no more than the first message goes beyond this
_STATES: Final = {
    c.PN_ACCEPTED: CODES["accepted"],
    c.PN_REJECTED: CODES["rejected"],
    c.PN_RELEASED: CODES["released"],
    c.PN_MODIFIED: CODES["modified"],
}


class Sender:
    """One stream of numbers on one link; the link may come and go, the stream goes on."""

    measures = True

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
        self._loop, self.connection, self._path = loop, connection, path
        self._schedule, self._publisher, self._cap = schedule, publisher, cap
        self._clock, self._run, self._warmup, self._reply_to = clock, run, warmup, reply_to
        self._journal = journal
        self.started = False
        self.finished = False  # the schedule has come to its end, or was ended
        self._link: Any = None
        self._session: Any = None
        self._tags = itertools.count()
        self._tag_bytes = bytearray(8)
        self._tag = ffi.new("pn_bytes_t *")
        self._tag.size, self._tag.start = 8, ffi.from_buffer(self._tag_bytes)
        self._unsettled: dict[Any, int] = {}  # the engine's delivery: number
        self._written = Written()  # of presettled ones
        self._templates: list[tuple[Template, Any]] = []
        self._longest = 1  # bytes of the longest of them
        self._choice = random.Random(run)  # noqa: S311 -- sizes
        self._timer: Timer | None = None
        self.ledger: Final = SenderLedger(clock.now_ns() // SECOND_NS)
        self.backlog: Final = Backlog(path.name, schedule, self.ledger, guard, path.max_backlog)
        journal.follow(self.ledger)
        self._attachment = Attachment(f"path {path.name}: the sender", clock.now_ns())
        self._over = False
        self.outcomes = [0] * len(CODES)
        self.lag: Final = Lag()
        self.sent = 0

    @property
    def link_up(self) -> bool:
        return self._attachment.up

    @property
    def problem(self) -> str:
        """Why there is no link."""
        return self._attachment.problem

    @property
    def has_credit(self) -> bool:
        return self._link is not None and lib.pn_link_credit(self._link) > 0

    @property
    def up(self) -> bool:
        """Attached, and the peer takes what is due."""
        return self.has_credit or (self._link is not None and self.started and not self.backlog.waiting)

    @property
    def waits_for_peer(self) -> bool:
        """Whether it is only up to the peer when the last message is sent: all of them are due."""
        return self.started and not self.finished and (self._schedule.unpaced or self._schedule.done)

    # -- the link

    def attach(self, session: Any) -> Any:
        link = session.sender(f"inflight-{self._run:016x}-{next(self._tags)}")
        link.target.address = self._path.address
        presettled = self._path.presettled
        link.snd_settle_mode = EngineLink.SND_SETTLED if presettled else EngineLink.SND_UNSETTLED
        self._session = session._impl  # noqa: SLF001 -- the engine's own object
        return link

    def on_open(self, link: Any) -> None:
        if not c.pn_terminus_get_address(lib.pn_link_remote_target(link)):
            return  # refused: the detach that says why is on its way
        self._link = link
        self._attachment.begins(self._clock.now_ns())
        self._make_templates()
        self.on_flow()

    def on_flow(self) -> None:
        if self.started and (self.backlog.waiting or self._schedule.unpaced):
            self._send_due()

    def on_delivery(self, delivery: Any) -> None:
        if not lib.pn_delivery_updated(delivery):
            return
        seq = self._unsettled.get(delivery)
        if seq is None:
            return
        code = _STATES.get(lib.pn_delivery_remote_state(delivery), UNSETTLED)
        settled = lib.pn_delivery_settled(delivery)
        if code != UNSETTLED or settled:
            # A terminal state is the outcome even where the peer leaves settling to us.
            self.ledger.settle(seq, code)
            self.outcomes[code] += 1
            del self._unsettled[delivery]
            lib.pn_delivery_settle(delivery)

    def on_lost(self, reason: str) -> None:
        self._link = self._session = None
        self._attachment.ends(self._clock.now_ns(), reason)
        for seq in self._unsettled.values():
            self.ledger.settle(seq, UNSETTLED)
        self.outcomes[UNSETTLED] += len(self._unsettled)
        self._unsettled.clear()
        if self._path.presettled:
            # No new mark: the engine's count of what is left to write is gone with the connection.
            self._written.advance(self.connection.written_bytes)
            for seq in self._written.lost(self.ledger.next_seq):
                self.ledger.settle(seq, UNSETTLED, final=False)

    def forget(self) -> None:
        self._link = self._session = None
        self._attachment.up = False
        self._unsettled.clear()

    def journal(self) -> None:
        if self._path.presettled:
            self._mark_written()
        if not self._over and (self.ledger.touched or self.ledger.settled):
            self._journal.write(self.ledger, self._written.below)

    def _mark_written(self) -> None:
        out = self.connection.written_bytes
        if self._link is not None and not lib.pn_link_queued(self._link):
            self._written.mark(out + self.connection.pending_bytes(), self.ledger.next_seq)
        self._written.advance(out)

    def _make_templates(self) -> None:
        flow = flow_hash(self._path.mesh, self._path.address)
        body = Body(self._warmup, flow, self._run, 0, 0, 0, self._clock.boot, self._clock.epoch_ns)
        properties = Properties(
            ttl_ns=self._path.ttl_ns,
            durable=self._path.durable,
            priority=self._path.priority,
            reply_to=self._reply_to(),
        )
        made = [Template(body, size, properties) for size in sizes(*self._path.size)]
        self._templates = [(template, ffi.from_buffer(template.buffer)) for template in made]
        self._longest = max(len(template.buffer) for template in made)

    def renew_templates(self) -> None:
        """The address for answers is another one."""
        if self._templates:
            self._make_templates()

    # -- the schedule

    def start(self) -> None:
        """Begin the schedule now."""
        self.started = True
        self.backlog.start_ns = self._clock.now_ns()
        self._tick()

    def stop(self) -> None:
        """Send nothing more; what is due is left as unsent."""
        self._schedule.next_ns = 1 << 62
        self.finished = True
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        self._timer = None
        if self.finished:
            return
        try:
            self._send_due()
        finally:  # it goes on whatever one turn does
            self._next_tick()

    def _next_tick(self) -> None:
        if self._schedule.done and not self.backlog.waiting:
            self.finished = True
            return
        now = self._clock.now_ns()
        if self._schedule.unpaced:
            wake = now + 100_000_000  # credit wakes it earlier
        elif self._schedule.done:
            wake = now + 100_000_000
        else:
            wake = max(self.backlog.start_ns + self._schedule.next_ns, now + _TICK_NS)
        self._timer = self._loop.call_at(wake - self._clock.epoch_ns, self._tick)

    def stood_still(self) -> None:
        """The process did, until now: what was due meanwhile would go out in one burst."""
        if self.started and not self.finished and not self._schedule.unpaced:
            self.backlog.pass_over(self._clock.now_ns())
            self.journal()

    def _obstacle(self) -> UnsentReason:
        if not self.link_up:
            return "no_connection"
        if not self.has_credit or self._held:
            return "no_credit"
        return "guard"  # with credit, it is the host's rate cap

    @property
    def _held(self) -> bool:
        """Whether what was sent before is still here: the rest waits, and is not lost with the connection."""
        here = lib.pn_session_outgoing_bytes(self._session) if self._session is not None else 0
        return self.connection.backed_up or here > _BURST_BYTES

    def _send_due(self) -> None:
        if self.finished:
            return
        now = self._clock.now_ns()
        unpaced = self._schedule.unpaced
        if not unpaced:
            self.backlog.collect(now, self._obstacle())
        link = self._link
        if link is None or not (unpaced or self.backlog.waiting):
            return
        if self._held:
            self.connection.when_written(self._send_due)
            return
        burst = min(_BURST, max(1, _BURST_BYTES // self._longest))
        room = min(lib.pn_link_credit(link), self._cap.room(now), burst)
        room = self.backlog.take_unpaced(now, room) if unpaced else min(room, len(self.backlog.waiting))
        if room <= 0:
            return
        self._cap.take(room)
        if self._path.presettled:
            self._mark_written()  # in a rush there is no other moment at which nothing waits here
        while room:
            room -= self._send_within_second(link, room)
        self.connection.touch()
        if lib.pn_link_credit(link) > 0 and (self.backlog.waiting or unpaced):
            self._loop.post(self._send_due)  # the socket's turn first

    def _send_within_second(self, link: Any, most: int) -> int:
        """Send so many, or until the second is over; how many."""
        waiting, unsettled, unpaced = self.backlog.waiting, self._unsettled, self._schedule.unpaced
        epoch, monotonic = self._clock.epoch_ns, time.monotonic_ns
        presettled, lag = self._path.presettled, self.lag.add
        make, send, advance, settle = (
            lib.pn_delivery, lib.pn_link_send, lib.pn_link_advance, lib.pn_delivery_settle
        )  # fmt: skip
        tag, tag_bytes = self._tag, self._tag_bytes
        several = len(self._templates) > 1
        template, data = self._templates[0]
        length = len(template.buffer)
        seq = first = self.ledger.next_seq
        body_bytes = 0
        second_ends = (epoch + monotonic()) // SECOND_NS * SECOND_NS + SECOND_NS
        while seq - first < most:
            sent = epoch + monotonic()
            if sent >= second_ends:
                if seq > first:
                    break
                second_ends += SECOND_NS
            if several:
                template, data = self._choice.choice(self._templates)
                length = len(template.buffer)
            if unpaced:
                intended = sent
            else:
                intended = waiting.popleft()
                self.ledger.caught_up(intended // SECOND_NS)
                lag(sent - intended)
            template.patch(seq, intended, sent)
            tag_bytes[:] = seq.to_bytes(8, "big")
            delivery = make(link, tag[0])
            send(link, data, length)
            if presettled:
                settle(delivery)
            else:
                advance(link)
                unsettled[delivery] = seq
            body_bytes += template.body_bytes
            seq += 1
        count, second = seq - first, second_ends // SECOND_NS - 1
        if unpaced:
            self.ledger.due(second, count)
            self.ledger.caught_up(second, count)
        self.ledger.sent(second, count, body_bytes, PRESETTLED if presettled else UNSETTLED)
        self.sent += count
        if presettled:
            self.outcomes[PRESETTLED] += count
        return count

    # -- the records

    @property
    def refused(self) -> int:
        """Messages that the network gave back."""
        return sum(self.outcomes[CODES[outcome]] for outcome in ("rejected", "released", "modified"))

    @property
    def unsettled(self) -> int:
        return len(self._unsettled) + (
            self.ledger.next_seq - self._written.below if self._path.presettled else 0
        )

    def publish(self, *, bye: bool = False) -> None:
        """Ledgers of the seconds that are over; with `bye`, of all, and the end."""
        now = self._clock.now_ns()
        until = now // SECOND_NS
        if bye:
            self.backlog.give_up(0, self._obstacle())
            until += 1
        self.journal()
        self._over = bye
        for entry in self.ledger.close(until):
            self._publisher.add_ledger(f"{self._run:016x}", entry, **self._state())
        frontier = now if bye else until * SECOND_NS
        last = {**self._state(), **self._attachment.take_spans(now)}
        self._publisher.end(frontier, kind="bye" if bye else "alive", always=True, **last)

    def _state(self) -> dict[str, Any]:
        return {**self._attachment.state, "oldest_due_ns": self.backlog.oldest_ns}
