"""Ledgers of a second that come in several records."""

from __future__ import annotations

import pytest
from by_hand import ledger_rows
from hypothesis import given
from hypothesis import strategies as st
from writing import Path, Writer, finish, pair

from collectors.contract.records import OUTCOMES, Ledger, Outcome
from streaming.accounting import bounds, ledgers

Runs = list[tuple[int, int, Outcome]]


def expand(rows: Ledger) -> dict[int, str]:
    """Number by number; a number that stands there twice fails."""
    found: dict[int, str] = {}
    for first, length, outcome in zip(*(column.tolist() for column in rows), strict=True):
        for number in range(first, first + length):
            assert number not in found
            found[number] = OUTCOMES[outcome]
    return found


@st.composite
def contiguous(draw: st.DrawFn) -> Runs:
    at = draw(st.integers(0, 30))
    runs: Runs = []
    for length, outcome in draw(
        st.lists(st.tuples(st.integers(1, 6), st.sampled_from(OUTCOMES)), max_size=6)
    ):
        runs.append((at, length, outcome))
        at += length
    return runs


@given(st.lists(contiguous(), min_size=2, max_size=4))
def test_each_number_has_what_was_said_of_it_last(records: list[Runs]) -> None:
    """However records overlap, touch or leave holes; and what comes out is in order."""
    known, wanted = ledger_rows(records[0]), expand(ledger_rows(records[0]))
    for runs in records[1:]:
        newer = ledger_rows(runs)
        known, wanted = ledgers.merged(newer, known), {**wanted, **expand(newer)}
        assert expand(known) == wanted
        assert list(expand(known)) == sorted(wanted)


def _in_parts(sender: Writer, revision: int, outcomes: tuple[Outcome, Outcome]) -> None:
    """Numbers 0 to 5, three to a record; figures of the second stand in both."""
    for first, outcome in zip((0, 3), outcomes, strict=True):
        sender.ledger(0, [(first, 3, outcome)], 1.0, revision=revision, due=7, unsent={"guard": 1})


def test_a_second_in_two_records_is_one_ledger() -> None:
    """Each number has its outcome; what was due and unsent in the second is counted once."""
    path, sender, receiver = pair()
    _in_parts(sender, 0, ("accepted", "released"))
    finish(sender, receiver)
    row = path.row(0)
    assert (row["sent"], row["due"], row["unsent"]["guard"]) == (6, 7, 1)
    assert (row["classes"]["lost"], row["classes"]["refused"]) == (3, 3)
    assert path.revisions(0) == [0]


def test_a_higher_revision_in_parts_takes_the_place_of_the_lower() -> None:
    """Also when it is published twice, as after kill -9; a lower one that comes late changes nothing."""
    path, sender, receiver = pair()
    _in_parts(sender, 0, ("unsettled", "unsettled"))
    _in_parts(sender, 1, ("released", "accepted"))
    _in_parts(sender, 1, ("released", "accepted"))
    _in_parts(sender, 0, ("unsettled", "unsettled"))
    finish(sender, receiver)
    row = path.row(0)
    assert row["sent"] == 6
    assert (row["lost"]["accepted"], row["lost"]["unsettled"], row["refused"]["released"]) == (3, 0, 3)


def test_numbers_of_a_part_that_is_given_up_keep_what_was_known() -> None:
    """The gap in the sender's records is flagged; no message vanishes from what was sent."""
    path, sender, receiver = pair()
    _in_parts(sender, 0, ("unsettled", "unsettled"))
    sender.ledger(0, [(0, 3, "accepted")], 1.0, revision=1, due=7)
    finish(sender, receiver)
    row = path.row(0)
    assert row["sent"] == 6
    assert (row["lost"]["accepted"], row["lost"]["unsettled"]) == (3, 3)


def test_a_ledger_of_absurdly_many_pieces_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts without end do not grow the state; the window says that something is missing in it."""
    monkeypatch.setattr(bounds, "NUMBER_RANGES", 6)
    path = Path()
    sender, receiver = path.end("sender"), path.end("receiver")
    kinds: tuple[Outcome, Outcome] = ("accepted", "released")
    for part in range(2):
        sender.ledger(0, [(4 * part + n, 1, kinds[n % 2]) for n in range(4)], 1.0)
    assert path.state.rejection is not None
    assert path.state.rejection.reason == "runs"
    finish(sender, receiver)
    assert path.row(0)["sent"] == 4
    assert "dead_letters" in path.row(0)["flags"]
