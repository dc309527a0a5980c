"""A small network with hidden truth: what senders sent, what arrived where, and the records that ends wrote.

All of it is plain Python over lists. Times are true time; an end's own clock is off by its skew.
"""

# ruff: noqa: S311 -- chance here is to be repeatable, not secret

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from collectors.records import (
    SECOND_NS,
    Clock,
    Gap,
    Header,
    Ledger,
    Received,
    Record,
    Span,
    ledger_rows,
    received_rows,
)

T0_NS = 1_700_000_000 * SECOND_NS
FLUSH_NS = SECOND_NS


@dataclass(kw_only=True)
class Knobs:
    """What the network does; the rest is drawn from the seed."""

    seed: int = 0
    seconds: int = 24
    rate: int = 3  # messages a second, of each sender
    senders: int = 1
    receivers: int = 1
    presettled: bool = False
    multicast: bool = False
    lose: float = 0.0
    duplicate: float = 0.0
    refuse: float = 0.0
    refuse_yet_deliver: float = 0.0
    late: float = 0.0  # arrive after they have settled
    unsettled: float = 0.0
    reorder: bool = False
    foreign: bool = False
    sender_restarts: str = ""  # "", "bye" or "kill"
    receiver_restarts: str = ""
    spooled: bool = False  # what a killed end had not published comes later, instead of being lost
    stays_away: bool = False  # a killed end has no successor
    detach: bool = False
    declared_gap: bool = False
    withheld: bool = False  # one end's records come late, in a burst
    skew_ns: int = 0
    clocks_known: bool = True
    joined_late: bool = False  # the receiver begins in the middle
    cut: float = 0.0  # of the topic, at the front
    drop: float = 0.0  # records that are lost undeclared
    repeat: float = 0.0
    horizon_ns: int = 60 * SECOND_NS
    no_ledger: bool = False  # a killed sender's ledger is lost as a whole


@dataclass
class Message:
    """The truth of one message."""

    stream: str
    seq: int
    sent_ns: int  # as the sender's clock says
    intended_ns: int
    outcome: str
    arrivals: list[tuple[str, int]] = field(default_factory=list)  # receiver run, true time


@dataclass
class Run:
    """One process of an end, in true time."""

    role: str
    name: str
    run: str
    start_ns: int
    stop_ns: int
    clean: bool
    skew_ns: int
    published: list[tuple[int, Record]] = field(default_factory=list)  # when, and what

    def clock(self, true_ns: int) -> int:
        return true_ns + self.skew_ns


@dataclass
class History:
    """The records in their order in the partition, with their append times; and the truth."""

    records: list[tuple[Record, int]]
    messages: list[Message]
    runs: dict[str, Run]
    knobs: Knobs


def simulate(knobs: Knobs) -> History:
    rng = random.Random(knobs.seed)
    senders = [run for n in range(knobs.senders) for run in _runs(knobs, rng, "sender", n)]
    receivers = [run for n in range(knobs.receivers) for run in _runs(knobs, rng, "receiver", n)]
    downs = _downs(knobs, rng, receivers)
    messages = [message for run in senders for message in _send(knobs, rng, run)]
    for message in messages:
        _deliver(knobs, rng, message, senders, receivers, downs)
    for run in senders:
        _write_ledgers(knobs, rng, run, [m for m in messages if m.stream == run.run])
    for run in receivers:
        _write_samples(knobs, rng, run, messages, senders, downs.get(run.run, []))
    runs = [*senders, *receivers]
    return History(_topic(knobs, rng, runs), messages, {run.run: run for run in runs}, knobs)


def _runs(knobs: Knobs, rng: random.Random, role: str, n: int) -> list[Run]:
    start = T0_NS + rng.randrange(3 * SECOND_NS)
    if role == "receiver" and knobs.joined_late and n == 0:
        start += knobs.seconds // 3 * SECOND_NS
    stop = T0_NS + knobs.seconds * SECOND_NS - (0 if role == "receiver" else 4 * SECOND_NS)
    restarts = knobs.sender_restarts if role == "sender" else knobs.receiver_restarts
    skew = knobs.skew_ns * (n + 1) if role == "receiver" else 0
    first = Run(role, f"{role}-{n}", f"{rng.getrandbits(64):016x}", start, stop, clean=True, skew_ns=skew)
    if not restarts or n:
        return [first]
    middle = start + (stop - start) * rng.randrange(30, 70) // 100
    first.stop_ns, first.clean = middle, restarts == "bye"
    if knobs.stays_away:
        return [first]
    again = middle + rng.randrange(3 * SECOND_NS)
    run = f"{rng.getrandbits(64):016x}"
    stop = max(stop, again + SECOND_NS)
    return [first, replace(first, run=run, start_ns=again, stop_ns=stop, clean=True, published=[])]


def _downs(knobs: Knobs, rng: random.Random, receivers: list[Run]) -> dict[str, list[tuple[int, int]]]:
    if not knobs.detach:
        return {}
    run = receivers[0]
    start = run.start_ns + rng.randrange(max((run.stop_ns - run.start_ns) // 2, 1))
    return {run.run: [(start, start + rng.randrange(4 * SECOND_NS))]}


def _send(knobs: Knobs, rng: random.Random, run: Run) -> list[Message]:
    found = []
    count = (run.stop_ns - run.start_ns) * knobs.rate // SECOND_NS
    times = sorted(rng.randrange(run.start_ns, run.stop_ns) for _ in range(count)) if count > 0 else []
    for seq, true_ns in enumerate(times):
        sent_ns = run.clock(true_ns)
        found.append(Message(run.run, seq, sent_ns, sent_ns - rng.choice([0, 0, 1_000, 300_000_000]), ""))
    return found


def _deliver(
    knobs: Knobs,
    rng: random.Random,
    message: Message,
    senders: list[Run],
    receivers: list[Run],
    downs: dict[str, list[tuple[int, int]]],
) -> None:
    sender = next(run for run in senders if run.run == message.stream)
    sent_ns = message.sent_ns - sender.skew_ns
    settled = "presettled" if knobs.presettled else "accepted"
    message.outcome = settled
    if rng.random() < knobs.unsettled:
        message.outcome = "unsettled"
    copies = 1 + (rng.random() < knobs.duplicate)
    if rng.random() < knobs.lose:
        copies = 0
    if rng.random() < knobs.refuse:
        message.outcome, copies = rng.choice(["rejected", "released", "modified"]), 0
    elif rng.random() < knobs.refuse_yet_deliver:
        message.outcome = "released"
    for _ in range(copies):
        delay = rng.randrange(1, 40_000_000)
        if knobs.reorder and rng.random() < 0.2:
            delay += rng.randrange(1_500_000_000)
        if rng.random() < knobs.late:
            delay += 4 * SECOND_NS
        at = sent_ns + delay
        there = [run for run in receivers if run.start_ns <= at < run.stop_ns]
        there = [run for run in there if not any(a <= at < b for a, b in downs.get(run.run, []))]
        if there:
            message.arrivals.append((rng.choice(there).run, at))


def _header(knobs: Knobs, run: Run, **more: object) -> Header:
    return Header(
        mesh="m",
        path="p",
        address="a",
        source="east",
        target="west",
        role=run.role,
        name=run.name,
        run=run.run,
        number=0,
        observed_from_ns=run.clock(run.start_ns),
        senders=knobs.senders,
        receivers=knobs.receivers,
        multicast=knobs.multicast,
        presettled=knobs.presettled,
        **more,
    )


def _flushes(rng: random.Random, run: Run) -> list[int]:
    times = list(range(run.start_ns + rng.randrange(1, FLUSH_NS), run.stop_ns, FLUSH_NS))
    return [*times, run.stop_ns] if run.clean else times


def _write_ledgers(knobs: Knobs, rng: random.Random, run: Run, messages: list[Message]) -> None:
    """A ledger of each second once it is over; a revision when what was open is settled."""
    if knobs.no_ledger and not run.clean:
        return
    done: dict[int, tuple[int, list[str]]] = {}  # by second: revision, outcomes told
    first = run.clock(run.start_ns) // SECOND_NS
    for at in _flushes(rng, run):
        now = run.clock(at)
        last = now // SECOND_NS + (run.clean and at == run.stop_ns)
        fresh = []
        for second in range(first, last):
            sent = [m for m in messages if m.sent_ns // SECOND_NS == second and m.sent_ns < now]
            # What was sent less than 100 ms ago is not settled yet.
            told = [
                m.outcome if m.sent_ns + 100_000_000 <= now or knobs.presettled else "unsettled" for m in sent
            ]
            if second in done and done[second][1] == told:
                continue
            revision = done[second][0] + 1 if second in done else 0
            done[second] = revision, told
            runs: list[tuple[int, int, str]] = []
            for m, outcome in zip(sent, told, strict=True):
                if runs and runs[-1][2] == outcome and runs[-1][0] + runs[-1][1] == m.seq:
                    runs[-1] = runs[-1][0], runs[-1][1] + 1, outcome
                else:
                    runs.append((m.seq, 1, outcome))
            due = len(sent) + rng.randrange(2)
            header = _header(
                knobs,
                run,
                kind="ledger",
                frontier_ns=0,
                stream=run.run,
                second=second,
                revision=revision,
                due=due,
                unsent={"no_credit": due - len(sent)} if due > len(sent) else {},
                body_bytes=100 * len(sent),
            )
            fresh.append(Record(header, ledger=ledger_rows(runs)))
        _publish(knobs, run, at, fresh)


def _write_samples(  # noqa: C901 -- a receiver does all of it at once
    knobs: Knobs,
    rng: random.Random,
    run: Run,
    messages: list[Message],
    senders: list[Run],
    downs: list[tuple[int, int]],
) -> None:
    arrived = sorted(
        (at, m.stream, m.seq, m) for m in messages for where, at in m.arrivals if where == run.run
    )
    highest: dict[str, int] = {}
    last: dict[str, tuple[int, int]] = {}
    seen: set[tuple[str, int]] = set()
    before = run.start_ns
    for at in _flushes(rng, run):
        rows: dict[tuple[str, int], list[tuple[Message, int, int | None, int]]] = {}
        for true_ns, stream, seq, message in arrived:
            if not before <= true_ns < at:
                continue
            received_ns = run.clock(true_ns)
            flags = 0
            ipdv = None
            if (stream, seq) in seen:
                flags |= 1
            else:
                if stream in last:
                    ipdv = (received_ns - last[stream][0]) - (message.sent_ns - last[stream][1])
                last[stream] = received_ns, message.sent_ns
                if seq < highest.get(stream, -1):
                    flags |= 2
                highest[stream] = max(seq, highest.get(stream, -1))
            seen.add((stream, seq))
            rows.setdefault((stream, message.sent_ns // SECOND_NS), []).append(
                (message, received_ns, ipdv, flags)
            )
        clock = {}
        if knobs.clocks_known:
            for sender in senders:
                error = rng.randrange(-1_000, 1_001)
                clock[sender.run] = Clock(run.skew_ns - sender.skew_ns + error, 1_000)
        fresh = []
        for (stream, second), found in rows.items():
            header = _header(
                knobs,
                run,
                kind="received",
                frontier_ns=0,
                stream=stream,
                second=second,
                clock=clock,
                body_bytes=100 * len(found),
                rfc3550_ns=rng.randrange(1_000_000),
                routes={rng.choice("ab"): len(found)},
            )
            fresh.append(Record(header, received=_rows(found)))
        if not fresh:
            fresh.append(Record(_header(knobs, run, kind="alive", frontier_ns=0, clock=clock)))
        overlaps = [(max(a, before), min(b, at)) for a, b in downs if a < at and b > before]
        fresh[0] = replace(
            fresh[0],
            header=replace(
                fresh[0].header,
                detached=tuple(Span(run.clock(a), run.clock(b)) for a, b in overlaps),
                foreign=rng.randrange(2) if knobs.foreign else 0,
                link="detached" if any(a <= at < b for a, b in downs) else "attached",
            ),
        )
        _publish(knobs, run, at, fresh)
        before = at


def _rows(found: list[tuple[Message, int, int | None, int]]) -> Received:
    return received_rows(
        [m.seq for m, _, _, _ in found],
        [m.intended_ns for m, _, _, _ in found],
        [m.sent_ns for m, _, _, _ in found],
        [received for _, received, _, _ in found],
        [ipdv for _, _, ipdv, _ in found],
        [flags for _, _, _, flags in found],
    )


def _publish(knobs: Knobs, run: Run, at: int, fresh: list[Record]) -> None:
    """Number the records; only the last of a flush can say that all until now is published."""
    if not fresh:
        fresh = [Record(_header(knobs, run, kind="alive", frontier_ns=0))]
    before = run.published[-1][1].header.frontier_ns if run.published else run.clock(run.start_ns)
    if run.clean and at == run.stop_ns:
        fresh = [*fresh, Record(_header(knobs, run, kind="bye", frontier_ns=0))]
    for record in fresh:
        frontier = run.clock(at) if record is fresh[-1] else before
        header = replace(record.header, number=len(run.published), frontier_ns=frontier)
        run.published.append((at, replace(record, header=header)))


def _topic(knobs: Knobs, rng: random.Random, runs: list[Run]) -> list[tuple[Record, int]]:
    """The order in which the records come to lie in the partition: each end's own is kept."""
    placed: list[tuple[int, int, Record]] = []
    withheld = rng.choice(runs) if knobs.withheld else None
    for run in runs:
        records = _with_gap(rng, run) if knobs.declared_gap and run is runs[-1] else run.published
        lag = rng.randrange(1, SECOND_NS)
        spool_ns = rng.choice([1, 6, 12]) * SECOND_NS
        hold = None
        if run is withheld and records:
            hold = records[rng.randrange(len(records))][0]
        kept = 0
        for at, record in records:
            when = at + lag
            if hold is not None and at >= hold:
                when = max(when, min(hold + 14 * SECOND_NS, T0_NS + (knobs.seconds + 2) * SECOND_NS))
            if not run.clean and at > run.stop_ns - 1_500_000_000:
                if not knobs.spooled:
                    continue  # died with the process
                when += spool_ns
            if rng.random() < knobs.drop:
                continue
            placed.append((when, kept, record))
            kept += 1
            if rng.random() < knobs.repeat:
                placed.append((when + rng.randrange(3 * SECOND_NS), kept, record))
    placed.sort(key=lambda item: item[0])
    placed = placed[int(len(placed) * knobs.cut) :]
    return [(record, when) for when, _, record in placed]


def _with_gap(rng: random.Random, run: Run) -> list[tuple[int, Record]]:
    """The sink gave up some records, and the next one says so."""
    records = run.published
    if len(records) < 8:
        return records
    first = rng.randrange(1, len(records) - 5)
    last = first + rng.randrange(3)
    at, following = records[last + 1]
    gap = Gap(first, last, records[first - 1][1].header.frontier_ns, records[last][1].header.frontier_ns)
    told = replace(following, header=replace(following.header, gaps=(gap,)))
    return [*records[:first], (at, told), *records[last + 2 :]]


__all__ = ["History", "Knobs", "Ledger", "Message", "Run", "simulate"]
