"""A small network with hidden truth: what senders sent, what arrived where, and the records that ends wrote.

All of it is plain Python over lists. Times are true time; an end's own clock is off by its skew.
"""

# ruff: noqa: S311 -- chance here is to be repeatable, not secret

from __future__ import annotations

import random
from dataclasses import replace

from simulation_outage import after, drawn
from simulation_parts import T0_NS, History, Knobs, Message, Run
from simulation_records import write_ledgers, write_samples

from collectors.contract.records import SECOND_NS, Gap, Record


def simulate(knobs: Knobs) -> History:
    rng = random.Random(knobs.seed)
    senders = [run for n in range(knobs.senders) for run in _runs(knobs, rng, "sender", n)]
    receivers = [run for n in range(knobs.receivers) for run in _runs(knobs, rng, "receiver", n)]
    downs = _downs(knobs, rng, receivers)
    if knobs.stands_still:
        for run in receivers:
            run.still = _still(rng, run)
    messages = [message for run in senders for message in _send(knobs, rng, run)]
    for message in messages:
        _deliver(knobs, rng, message, senders, receivers, downs)
    for run in senders:
        write_ledgers(knobs, rng, run, [m for m in messages if m.stream == run.run])
    for run in receivers:
        write_samples(knobs, rng, run, messages, senders, downs.get(run.run, []))
    runs = [*senders, *receivers]
    topic = _topic(knobs, rng, runs)
    if topic and knobs.outage:
        topic = after(drawn(rng, topic, knobs.outage), topic)
    return History(topic, messages, {run.run: run for run in runs}, knobs)


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


def _still(rng: random.Random, run: Run) -> tuple[int, int] | None:
    latest = run.stop_ns - 2 * SECOND_NS
    if latest <= run.start_ns:
        return None
    start = rng.randrange(run.start_ns, latest)
    return start, min(start + rng.randrange(SECOND_NS // 2, 6 * SECOND_NS), latest)


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
            _arrive(rng, message, rng.choice(there), at)


def _arrive(rng: random.Random, message: Message, run: Run, at: int) -> None:
    """Where the receiver stands still, the network keeps some messages for it, and drops others."""
    if run.still is not None and run.still[0] <= at < run.still[1]:
        if rng.random() < 0.5:
            message.missed = True
            return
        at = run.still[1] + rng.randrange(SECOND_NS // 4)
    message.arrivals.append((run.run, at))


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
    told = following._replace(header=following.header._replace(gaps=(gap,)))
    return [*records[:first], (at, told), *records[last + 2 :]]


__all__ = ["History", "Knobs", "simulate"]
