"""Histories of a simulated network: the accounting against the oracle, and both against the truth."""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import Oracle
from simulation import History, Knobs, simulate

from collectors.config.paths import Rules
from collectors.contract.records import SECOND_NS, Record
from collectors.contract.window_rows import WindowRow, decode_window
from streaming.accounting import PathState


def rules(drawn: Knobs) -> Rules:
    """Short ones, so that short histories have everything in them."""
    return Rules(2 * SECOND_NS, 3 * SECOND_NS, 8 * SECOND_NS, drawn.horizon_ns)


SOMETIMES = st.sampled_from([0.0, 0.0, 0.1, 0.4])
knobs = st.builds(
    Knobs,
    seed=st.integers(0, 1 << 32),
    seconds=st.integers(8, 26),
    rate=st.integers(0, 4),
    senders=st.integers(1, 2),
    receivers=st.integers(1, 3),
    presettled=st.booleans(),
    multicast=st.booleans(),
    lose=SOMETIMES,
    duplicate=SOMETIMES,
    refuse=SOMETIMES,
    refuse_yet_deliver=SOMETIMES,
    late=SOMETIMES,
    unsettled=SOMETIMES,
    reorder=st.booleans(),
    foreign=st.booleans(),
    sender_restarts=st.sampled_from(["", "bye", "kill"]),
    receiver_restarts=st.sampled_from(["", "bye", "kill"]),
    spooled=st.booleans(),
    stays_away=st.booleans(),
    detach=st.booleans(),
    stands_still=st.booleans(),
    declared_gap=st.booleans(),
    withheld=st.booleans(),
    skew_ns=st.sampled_from([0, 0, 5_000_000, -7 * SECOND_NS, 5 * SECOND_NS]),
    clocks_known=st.sampled_from([True, True, False]),
    joined_late=st.booleans(),
    cut=st.sampled_from([0.0, 0.0, 0.0, 0.2]),
    drop=st.sampled_from([0.0, 0.0, 0.05, 0.15]),
    repeat=st.sampled_from([0.0, 0.2]),
    horizon_ns=st.sampled_from([60 * SECOND_NS, 7 * SECOND_NS]),
    no_ledger=st.booleans(),
    outage=st.sampled_from(["", "", "all", "senders", "receivers"]),
)
EXAMPLES = int(os.environ.get("INFLIGHT_EXAMPLES", "200"))  # a long search: INFLIGHT_EXAMPLES=5000
quick = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))


def account(records: list[tuple[Record, int]], by: Rules) -> list[WindowRow]:
    state = PathState("p", by)
    return [row for record, append_ns in records for row in state.apply(record, append_ns)]


def assert_same(ours: WindowRow, told: dict[str, Any]) -> None:
    """But for percentiles, which are buckets here and exact there, all is equal."""
    got: dict[str, Any] = dict(ours)
    for name, expected in told.items():
        value = got[name]
        if name in {"response", "service", "jitter"} and expected is not None:
            assert value is not None
            buckets, exact = value["percentiles"], expected["percentiles"]
            assert buckets.keys() == exact.keys()
            for quantile, true in exact.items():
                assert max(true, 0) <= buckets[quantile] <= max(true, 0) * 1.001
            rest = {key: value[key] for key in expected if key != "percentiles"}
            assert rest == {key: expected[key] for key in expected if key != "percentiles"}, name
        else:
            assert value == expected, (name, ours["window_start_ns"], ours["revision"])


@quick
@given(knobs)
def test_rows_agree_with_the_oracle(drawn: Knobs) -> None:
    """Every row, and the order of rows and revisions, is what the contract says, counted the slow way."""
    history = simulate(drawn)
    sent = Counter(m.sent_ns - m.sent_ns % rules(drawn).window_ns for m in history.messages)
    judge, state = Oracle(rules(drawn)), PathState("p", rules(drawn))
    at_first: dict[int, WindowRow] = {}
    for record, append_ns in history.records:
        ours = [decode_window(row) for row in state.apply(record, append_ns)]
        told = judge.feed(record, append_ns)
        assert [(r["window_start_ns"], r["revision"]) for r in ours] == [
            (r["window_start_ns"], r["revision"]) for r in told
        ]
        for our_row, told_row in zip(ours, told, strict=True):
            assert_same(our_row, told_row)
            assert_adds_up(our_row, at_first)
            assert our_row["sent"] <= sent[our_row["window_start_ns"]], "messages that nobody sent"
    counters = state.counters
    assert counters["before_start"] == judge.before_start
    assert counters["beyond_horizon"] == judge.beyond_horizon
    assert counters["repeats"] == judge.repeats
    assert_truth(history, judge)


def assert_adds_up(row: WindowRow, at_first: dict[int, WindowRow]) -> None:
    """Classes add up to sent, parts to their classes, and moves to what changed since revision 0."""
    counts: dict[str, int] = {**row["classes"]}
    assert sum(counts.values()) == row["sent"]
    assert sum(row["refused"].values()) == counts["refused"]
    assert sum(row["lost"].values()) == counts["lost"] >= row["lost_detached"]
    assert (row["response"]["count"] if row["response"] else 0) == counts["received"]
    first = at_first.setdefault(row["window_start_ns"], row)
    counts["none"] = 0
    for move, count in row["moves"].items():
        was, now = move.split(">")
        counts[was] += count
        counts[now] -= count
    del counts["none"]
    assert counts == first["classes"]


def assert_truth(history: History, judge: Oracle) -> None:
    """What the newest rows say, against what the network did."""
    truth = {(m.stream, m.seq): m for m in history.messages}
    deadline_ns = judge.rules.window_ns + judge.rules.settle_ns
    for window in judge.windows.values():
        if not window.final:
            continue
        row, classes = judge.row(window, at_first=False)
        told = {
            (stream, second, seq): outcome
            for (stream, second), (_, numbers) in window.ledgers.items()
            for seq, outcome in numbers
        }
        published = {(r.stream, r.second, r.seq) for r in window.rows}
        assert {key for key, kind in classes.items() if kind == "received"} == published
        for key, kind in classes.items():
            message = truth[key[0], key[2]]
            if kind == "received":
                assert message.arrivals
            if kind == "refused":
                assert told[key] in {"rejected", "released", "modified"}
            if kind == "lost" and not {"clock_unknown", "members_missing"} & set(row["flags"]):
                skew_ns = history.runs[message.stream].skew_ns
                arrived = [at + skew_ns for _, at in message.arrivals]
                assert not message.missed, "not lost: its receiver stood still"
                assert all(at >= window.start + deadline_ns for at in arrived), "not lost: it arrived"


@quick
@given(knobs, st.integers(0, 1 << 32))
def test_any_split_restart_and_replay_gives_the_same_rows(drawn: Knobs, seed: int) -> None:
    """State put away and taken up again between any two records, and records repeated, change no row."""
    records, by = simulate(drawn).records, rules(drawn)
    rng = random.Random(seed)  # noqa: S311 -- chance that can be repeated
    header: bytes | None = None
    kept: dict[int, bytes] = {}
    rows: list[WindowRow] = []
    place = 0
    while place < len(records):
        size = rng.choice([1, 2, 7, 40])
        batch = records[place : place + size]
        batch += [records[rng.randrange(place + len(batch))] for _ in range(rng.randrange(3))]
        state = PathState("p", by) if header is None else PathState.load("p", by, header, kept.get)
        rows += [row for record, append_ns in batch for row in state.apply(record, append_ns)]
        header = state.dump_header()
        kept.update(state.dirty_windows())
        for start in state.forgotten_windows():
            kept.pop(start, None)
        place += size
    assert rows == account(records, by)
