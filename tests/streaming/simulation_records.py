"""The records that the simulated ends write of what they did and saw. See simulation.py."""

from __future__ import annotations

import random

from by_hand import ledger_rows, received_rows
from simulation_parts import FLUSH_NS, Knobs, Message, Run

from collectors.contract.records import SECOND_NS, Clock, Header, Received, Record, Span


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
    if run.still is not None:  # what was due meanwhile is done at once
        start, end = run.still
        times = sorted({end if start <= at < end else at for at in times})
    return [*times, run.stop_ns] if run.clean else times


def write_ledgers(knobs: Knobs, rng: random.Random, run: Run, messages: list[Message]) -> None:
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
            # Some seconds come in parts, as those do whose outcomes change too often for one record.
            size = 2 if second % 3 == 0 else max(len(runs), 1)
            fresh += [
                Record(header, ledger=ledger_rows(runs[place : place + size]))
                for place in range(0, max(len(runs), 1), size)
            ]
        _publish(knobs, run, at, fresh)


def write_samples(  # noqa: C901 -- a receiver does all of it at once
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
        unwatched = ()
        if run.still is not None and before <= run.still[0] < at:
            read_ns = max(before, run.still[0] - rng.randrange(SECOND_NS // 10))
            unwatched = (Span(run.clock(read_ns), run.clock(at)),)
        overlaps = [(max(a, before), min(b, at)) for a, b in downs if a < at and b > before]
        fresh[0] = fresh[0]._replace(
            header=fresh[0].header._replace(
                detached=tuple(Span(run.clock(a), run.clock(b)) for a, b in overlaps),
                unwatched=unwatched,
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
        header = record.header._replace(number=len(run.published), frontier_ns=frontier)
        run.published.append((at, record._replace(header=header)))
