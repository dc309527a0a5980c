"""The sender's ledger against a plain list of what happened."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract.records import OUTCOMES, Ledger
from collectors.probe.measure.ledger import CODES, UNSETTLED, LedgerSecond, SenderLedger


def expand(rows: Ledger) -> dict[int, str]:
    """Each number's outcome."""
    return {
        seq: OUTCOMES[outcome]
        for first, length, outcome in zip(rows.first_seq, rows.length, rows.outcome, strict=True)
        for seq in range(first, first + length)
    }


def _closed(ledger: SenderLedger, until: int) -> dict[int, tuple[int, dict[int, str]]]:
    return {entry.second: (entry.revision, expand(entry.rows())) for entry in ledger.close(until)}


def test_every_second_is_told() -> None:
    """Seconds in which nothing was due have a ledger, too; the open one has none yet."""
    ledger = SenderLedger(10)
    ledger.due(12)
    assert sorted(_closed(ledger, 12)) == [10, 11]
    assert sorted(_closed(ledger, 14)) == [12, 13]
    assert _closed(ledger, 14) == {}


def test_late_outcome_is_a_revision() -> None:
    """An outcome that comes after its second was told is told again, under the next revision."""
    ledger = SenderLedger(10)
    ledger.due(10, 3)
    ledger.caught_up(10, 3)
    ledger.sent(10, 3, 300, UNSETTLED)
    ledger.settle(0, CODES["accepted"])
    assert _closed(ledger, 11)[10] == (0, {0: "accepted", 1: "unsettled", 2: "unsettled"})
    ledger.settle(2, CODES["released"])
    for second in range(11, 60):
        ledger.due(second)
        ledger.give_up(second, "no_credit")
    closed = _closed(ledger, 60)
    assert closed[10] == (1, {0: "accepted", 1: "unsettled", 2: "released"})
    ledger.settle(1, CODES["rejected"])
    assert _closed(ledger, 61)[10] == (2, {0: "accepted", 1: "rejected", 2: "released"})


def test_sent_later_lowers_the_backlog() -> None:
    """A message due in one second and sent in another changes the ledgers of both."""
    ledger = SenderLedger(10)
    ledger.due(10, 2)
    first = next(iter(ledger.close(11)))
    assert (first.due, first.backlog, len(first.outcomes)) == (2, 2, 0)
    list(ledger.close(11))
    ledger.caught_up(10)
    ledger.give_up(10, "no_credit")
    ledger.sent(12, 1, 64, UNSETTLED)
    entries = {entry.second: entry for entry in ledger.close(13)}
    assert (entries[10].due, entries[10].backlog) == (2, 0)
    assert entries[10].unsent_by_reason() == {"no_credit": 1}
    assert expand(entries[12].rows()) == {0: "unsettled"}


def test_runs_are_as_long_as_they_can_be() -> None:
    """A thousand equal outcomes are one row."""
    ledger = SenderLedger(0)
    ledger.sent(0, 1_000, 64_000, CODES["presettled"])
    entry = next(iter(ledger.close(1)))
    rows = entry.rows()
    assert (rows.first_seq.tolist(), rows.length.tolist()) == ([0], [1_000])
    assert entry.body_bytes == 64_000


def test_more_runs_than_a_record_takes() -> None:
    """A second that needs several records has each number in one of them, with its own outcome."""
    outcomes = [1, 2] * 20_000
    parts = LedgerSecond(0, 7, bytearray(outcomes)).parts()
    assert [len(part.first_seq) for part in parts] == [16_384, 16_384, 7_232]
    told: dict[int, str] = {}
    for part in parts:
        told |= expand(part)
    assert told == {7 + n: OUTCOMES[code] for n, code in enumerate(outcomes)}


def test_a_second_with_nothing_has_a_record() -> None:
    """Also where nothing was sent, one says so."""
    (part,) = LedgerSecond(0).parts()
    assert len(part.first_seq) == 0


def test_old_seconds_are_forgotten() -> None:
    """What cannot change any more takes no memory."""
    ledger = SenderLedger(0)
    for second in range(1_000):
        ledger.due(second)
        ledger.caught_up(second)
        ledger.sent(second, 1, 64, UNSETTLED)
        ledger.settle(second, CODES["accepted"])
        list(ledger.close(second))
        ledger.touched.clear()
    assert len(ledger.seconds()) < 5


_OPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 5)),
        st.tuples(st.just("tick"), st.integers(0, 3)),
        st.tuples(st.just("settle"), st.integers(0, 60), st.integers(1, 5)),
        st.tuples(st.just("due"), st.integers(1, 4)),
        st.tuples(st.just("drop"), st.integers(1, 2)),
        st.tuples(st.just("close")),
    ),
    max_size=60,
)


class _Story:
    """Does the same to a ledger and to plain lists."""

    def __init__(self) -> None:
        self.ledger, self.now = SenderLedger(100), 100
        self.truth: dict[int, tuple[int, str]] = {}  # number: second, outcome
        self.due_in: dict[int, list[int]] = {}  # second: due, sent, given up
        self.waiting: list[int] = []
        self.told: dict[int, tuple[int, int, int, int, dict[int, str]]] = {}

    def tick(self, seconds: int) -> None:
        self.now += seconds

    def due(self, count: int) -> None:
        self.ledger.due(self.now, count)
        self.waiting += [self.now] * count
        self.due_in.setdefault(self.now, [0, 0, 0])[0] += count

    def send(self, count: int) -> None:
        for _ in range(min(count, len(self.waiting))):
            second = self.waiting.pop(0)
            self.ledger.caught_up(second)
            self.due_in[second][1] += 1
            self.truth[self.ledger.next_seq] = self.now, "unsettled"
            self.ledger.sent(self.now, 1, 64, UNSETTLED)

    def drop(self, count: int) -> None:
        for _ in range(min(count, len(self.waiting))):
            second = self.waiting.pop(0)
            self.ledger.give_up(second, "guard")
            self.due_in[second][2] += 1

    def settle(self, seq: int, code: int) -> None:
        if seq in self.truth and self.truth[seq][1] == "unsettled":
            self.ledger.settle(seq, code)
            self.truth[seq] = self.truth[seq][0], OUTCOMES[code]

    def close(self, until: int | None = None) -> None:
        for entry in self.ledger.close(until or self.now):
            assert entry.second not in self.told or self.told[entry.second][0] < entry.revision
            unsent = sum(entry.unsent_by_reason().values())
            told = (entry.revision, entry.due, entry.backlog, unsent, expand(entry.rows()))
            self.told[entry.second] = told


@settings(max_examples=150)
@given(_OPS)
def test_books_always_add_up(operations: list[tuple[Any, ...]]) -> None:
    """Whatever happens in whatever order, the last revisions tell exactly what happened."""
    story = _Story()
    for verb, *values in operations:
        getattr(story, verb)(*values)
    story.close(story.now + 1)
    for second in range(100, story.now + 1):
        _, told_due, backlog, unsent, outcomes = story.told[second]
        assert outcomes == {seq: outcome for seq, (at, outcome) in story.truth.items() if at == second}
        wanted, sent, dropped = story.due_in.get(second, [0, 0, 0])
        assert (told_due, backlog, unsent) == (wanted, wanted - sent - dropped, dropped)


def test_rows_are_plain_integers() -> None:
    """The columns have the types that the record's format wants."""
    rows = LedgerSecond(0, 5, bytearray([1, 1, 2])).rows()
    assert [column.dtype.name for column in rows] == ["int64", "int64", "uint8"]
