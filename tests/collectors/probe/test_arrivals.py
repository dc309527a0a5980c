"""A receiver's records against a slow and obvious reading of the rules."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract.records import FLAG_REDELIVERED, FLAG_REORDERED, SECOND_NS
from collectors.probe.measure.arrivals import ROW, Arrivals, Group

_RUN = 0xABC


def _rows(arrivals: list[tuple[int, int, int]], *, run: int = _RUN) -> np.ndarray:
    """Rows of (number, sent, received)."""
    rows = np.zeros(len(arrivals), ROW)
    for row, (seq, sent, received) in zip(rows, arrivals, strict=True):
        row["run"], row["seq"], row["sent_ns"], row["received_ns"] = run, seq, sent, received
        row["intended_ns"], row["body_bytes"] = sent, 100
    return rows


def _one(groups: list[Group]) -> Group:
    assert len(groups) == 1
    return groups[0]


def test_in_order() -> None:
    """Delay variation is against the arrival before, and the first has none."""
    group = _one(Arrivals().groups(_rows([(0, 1_000, 5_000), (1, 2_000, 6_500), (2, 3_000, 7_000)]), [])[0])
    assert group.stream == f"{_RUN:016x}"
    assert group.second == 0
    assert group.rows.has_ipdv.tolist() == [False, True, True]
    assert group.rows.ipdv_ns.tolist() == [0, 500, -500]
    assert group.body_bytes == 300
    assert group.rows.flags.tolist() == [0, 0, 0]


def test_attach_begins_a_new_chain() -> None:
    """After an attach the first arrival has no predecessor; without one, publications do not matter."""
    arrivals = Arrivals()
    arrivals.groups(_rows([(0, 1_000, 5_000)]), [])
    assert _one(arrivals.groups(_rows([(1, 2_000, 6_500)]), [])[0]).rows.ipdv_ns.tolist() == [500]
    arrivals.attached()
    assert _one(arrivals.groups(_rows([(2, 3_000, 9_000)]), [])[0]).rows.has_ipdv.tolist() == [False]


def test_repeats_and_stragglers() -> None:
    """A number seen before has no delay variation; one below the highest is reordered, unless a repeat."""
    rows = _rows([(0, 0, 10), (3, 30, 40), (1, 10, 50), (3, 30, 60), (2, 20, 70), (4, 40, 80)])
    group = _one(Arrivals().groups(rows, [])[0])
    assert group.rows.flags.tolist() == [0, 0, FLAG_REORDERED, 0, FLAG_REORDERED, 0]
    assert group.rows.has_ipdv.tolist() == [False, True, True, False, True, True]
    # The repeat of 3 is nobody's predecessor: 2 is compared with 1, (70 − 50) − (20 − 10).
    assert group.rows.ipdv_ns.tolist() == [0, 0, 30, 0, 10, -10]


def test_ipdv_goes_on_over_seconds() -> None:
    """The predecessor may have been sent in another second: splitting comes after."""
    rows = _rows([(0, SECOND_NS - 10, SECOND_NS), (1, SECOND_NS + 10, SECOND_NS + 50)])
    first, second = Arrivals().groups(rows, [])[0]
    assert (first.second, second.second) == (0, 1)
    assert second.rows.ipdv_ns.tolist() == [30]


def test_streams_and_routes() -> None:
    """Streams do not mix, and routes are counted by name."""
    both = np.concatenate((_rows([(0, 0, 5)], run=1), _rows([(7, 0, 9)], run=2), _rows([(1, 1, 6)], run=1)))
    both["route"] = [1, 2, 1]
    one, two = Arrivals().groups(both, ["A>B", "A>C>B"])[0]
    assert one.rows.seq.tolist() == [0, 1]
    assert one.routes == {"A>B": 2}
    assert two.routes == {"A>C>B": 1}


def test_redelivered_flag_is_kept() -> None:
    """What the receiver saw in the header stands beside what is found here."""
    rows = _rows([(5, 0, 1), (4, 0, 2)])
    rows["flags"] = FLAG_REDELIVERED
    group = _one(Arrivals().groups(rows, [])[0])
    assert group.rows.flags.tolist() == [FLAG_REDELIVERED, FLAG_REDELIVERED | FLAG_REORDERED]


def test_forged_numbers_are_none_of_ours() -> None:
    """Numbers out of all range are counted as foreign, and the rest is kept."""
    rows = _rows([(0, 0, 1), (0, 0, 2), (1, 1, 3)])
    rows["seq"][1] = 2**63
    groups, bad = Arrivals().groups(rows, [])
    assert bad == 1
    assert _one(groups).rows.seq.tolist() == [0, 1]


def test_records_have_a_bound() -> None:
    """A second of 40,000 messages is three records."""
    count = 40_000
    rows = np.zeros(count, ROW)
    rows["run"], rows["seq"], rows["received_ns"] = _RUN, np.arange(count), 10
    groups, _ = Arrivals().groups(rows, [])
    assert [len(group.rows.seq) for group in groups] == [16_384, 16_384, 7_232]


def test_many_streams_and_gaps_take_bounded_memory() -> None:
    """A peer that makes up runs, or numbers full of gaps, does not fill the memory."""
    arrivals = Arrivals(max_streams=4)
    for run in range(1, 50):
        arrivals.groups(
            _rows([(n * 2, n, n + 1) for n in range(9_000)] if run == 1 else [(0, 0, 1)], run=run), []
        )
    # A number far below, whose range was given up, counts as seen: no false reordering.
    arrivals.groups(_rows([(n * 2, n, n + 1) for n in range(9_000)], run=99), [])
    group = _one(arrivals.groups(_rows([(1, 0, 10**6)], run=99), [])[0])
    assert group.rows.flags.tolist() == [0]


_ARRIVALS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 3 * SECOND_NS), st.integers(0, SECOND_NS)),
    min_size=1,
    max_size=40,
)


@settings(max_examples=200)
@given(_ARRIVALS, st.lists(st.integers(0, 40), max_size=4))
def test_any_arrivals(found: list[tuple[int, int, int]], cuts: list[int]) -> None:
    """Every arrival stands in exactly one record, as the rules say, wherever publications fall."""
    sent_of: dict[int, int] = {}
    story, now = [], 4 * SECOND_NS
    for seq, sent, later in found:
        now += later
        story.append((seq, sent_of.setdefault(seq, sent), now))
    expected = _by_the_rules(story)
    told: dict[tuple[int, int, int], list[tuple[int | None, int, int]]] = {}
    arrivals, smoothed = Arrivals(), 0
    for start, end in _pieces(len(story), cuts):
        groups, bad = arrivals.groups(_rows(story[start:end]), [])
        assert bad == 0
        for group in groups:
            if (group.rows.seq[-1], group.rows.received_ns[-1]) == (story[end - 1][0], story[end - 1][2]):
                smoothed = group.rfc3550_ns
            for place in range(len(group.rows.seq)):
                rows = group.rows
                key = int(rows.received_ns[place]), int(rows.seq[place]), int(rows.sent_ns[place])
                ipdv = int(rows.ipdv_ns[place]) if rows.has_ipdv[place] else None
                told.setdefault(key, []).append((ipdv, int(rows.flags[place]), group.second))
    wanted: dict[tuple[int, int, int], list[tuple[int | None, int, int]]] = {}
    for (seq, sent, received), (ipdv, flags) in zip(story, expected, strict=True):
        wanted.setdefault((received, seq, sent), []).append((ipdv, flags, sent // SECOND_NS))
    assert told == wanted
    assert smoothed == pytest.approx(_rfc3550(expected), abs=2)


def _pieces(length: int, cuts: list[int]) -> list[tuple[int, int]]:
    edges = sorted({0, length, *(cut for cut in cuts if cut < length)})
    return list(itertools.pairwise(edges))


def _by_the_rules(story: list[tuple[int, int, int]]) -> list[tuple[int | None, int]]:
    """Delay variation and flags of each arrival."""
    seen: set[int] = set()
    before: tuple[int, int] | None = None
    found: list[tuple[int | None, int]] = []
    for seq, sent, received in story:
        if seq in seen:
            found.append((None, 0))
            continue
        reordered = FLAG_REORDERED if seen and seq < max(seen) else 0
        ipdv = None if before is None else (received - before[1]) - (sent - before[0])
        seen.add(seq)
        before = sent, received
        found.append((ipdv, reordered))
    return found


def _rfc3550(expected: list[tuple[int | None, int]]) -> float:
    estimate = 0.0
    for ipdv, _ in expected:
        if ipdv is not None:
            estimate += (abs(ipdv) - estimate) / 16
    return estimate
