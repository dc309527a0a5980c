"""Random histories with an outage of Kafka: a catch-up against a live run, and against the truth."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import pytest
from simulation import History, Knobs, simulate

from collectors.config.paths import Rules
from collectors.contract.records import SECOND_NS
from collectors.contract.window_rows import WindowRow, decode_window
from streaming.accounting import PathState

pytestmark = pytest.mark.slow

RULES = Rules(2 * SECOND_NS, 3 * SECOND_NS, 8 * SECOND_NS, 120 * SECOND_NS)
HISTORIES = int(os.environ.get("INFLIGHT_EXAMPLES", "200"))  # a long search: INFLIGHT_EXAMPLES=5000

# What tells of the way to a row, not of its window, or of an arrival of which two receivers have one each:
# the one that comes first in the partition is measured.
OF_THE_WAY = {"revision", "moves", "late", "clock", "outage_since_ns"}
OF_FIRST_ARRIVALS = {"response", "service", "jitter", "slowest", "reordered"}


def drawn(seed: int) -> Knobs:
    """Long enough for all that the outage put off to become final. Clocks are known: others tell too much.

    Some end lives at any time: append time goes on by records, and where all have said bye nobody is waited
    for.
    """
    rng = random.Random(seed)  # noqa: S311 -- chance that can be repeated
    sometimes = [0.0, 0.0, 0.1, 0.4]
    receivers = rng.randint(1, 3)
    return Knobs(
        seed=seed,
        seconds=rng.randint(76, 86),
        rate=rng.randint(1, 4),
        senders=rng.randint(1, 2),
        receivers=receivers,
        presettled=rng.random() < 0.5,
        multicast=rng.random() < 0.5,
        lose=rng.choice(sometimes),
        duplicate=rng.choice(sometimes),
        refuse=rng.choice(sometimes),
        refuse_yet_deliver=rng.choice(sometimes),
        late=rng.choice([0.0, 0.0, 0.1]),
        unsettled=rng.choice(sometimes),
        reorder=rng.random() < 0.5,
        foreign=rng.random() < 0.5,
        sender_restarts=rng.choice(["", "bye", "kill"]),
        receiver_restarts=rng.choice(["", "kill", "bye"] if receivers > 1 else ["", "kill"]),
        spooled=rng.random() < 0.7,
        stays_away=rng.random() < 0.3 and receivers > 1,
        detach=rng.random() < 0.5,
        skew_ns=rng.choice([0, 0, 5_000_000, -7 * SECOND_NS, 5 * SECOND_NS]),
        no_ledger=rng.random() < 0.3,
        horizon_ns=RULES.horizon_ns,
    )


def account(history: History) -> tuple[dict[int, WindowRow], dict[int, WindowRow]]:
    """Revision 0 and the newest revision of each window."""
    state = PathState("p", RULES)
    at_first: dict[int, WindowRow] = {}
    newest: dict[int, WindowRow] = {}
    for record, append_ns in history.records:
        for text in state.apply(record, append_ns):
            row = decode_window(text)
            at_first.setdefault(row["window_start_ns"], row)
            newest[row["window_start_ns"]] = row
    return at_first, newest


def without(row: WindowRow, fields: Iterable[str]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in fields}


def has_stragglers(knobs: Knobs) -> bool:
    """What comes after its window has settled may still be in time in the one run or the other."""
    killed = "kill" in {knobs.sender_restarts, knobs.receiver_restarts}
    return bool(knobs.late) or (killed and knobs.spooled)


def moved(rows: dict[int, WindowRow]) -> int:
    return sum(sum(row["moves"].values()) for row in rows.values())


@pytest.mark.parametrize("cut", ["all", "senders", "receivers"])
def test_a_catch_up_ends_with_the_rows_of_a_live_run(cut: str) -> None:
    """Whichever hosts had no Kafka. Where none had, what a live run never revised is right at first, too."""
    moves = Counter[str]()
    for seed in range(HISTORIES if cut == "all" else HISTORIES // 3):
        knobs = drawn(seed)
        left_out = OF_THE_WAY | (OF_FIRST_ARRIVALS if knobs.duplicate else set())
        live_first, live = account(simulate(knobs))
        history = simulate(replace(knobs, outage=cut))
        first, newest = account(history)
        assert newest.keys() == live.keys(), seed
        for start, row in live.items():
            assert without(newest[start], left_out) == without(row, left_out), (seed, start)
            if cut == "all" and row["revision"] == 0 and not has_stragglers(knobs):
                assert without(first[start], left_out) == without(live_first[start], left_out), (seed, start)
        moves["live"] += moved(live)
        moves["caught up"] += moved(newest)
    if cut == "all":
        assert moves["caught up"] <= moves["live"]


def test_what_is_caught_up_is_the_truth_at_once() -> None:
    """Where ends publish all they saw, and messages settle in time, all are in their class from the first."""
    for seed, restarts in product(range(HISTORIES // 6), ["", "bye"]):
        knobs = replace(
            drawn(seed), outage="all", late=0.0, sender_restarts=restarts, receiver_restarts="", detach=False
        )
        history = simulate(knobs)
        sent: Counter[int] = Counter()
        received: Counter[int] = Counter()
        for message in history.messages:
            start = message.sent_ns - message.sent_ns % RULES.window_ns
            sent[start] += 1
            received[start] += bool(message.arrivals)
        first, newest = account(history)
        assert moved(newest) == 0, seed
        for start, row in first.items():
            assert (row["sent"], row["classes"]["received"]) == (sent[start], received[start]), (seed, start)
