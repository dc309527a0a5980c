"""The demonstration's own audit: what the ledgers say was sent."""

from by_hand import ledger_rows
from synthetic import Flow

from collectors import record_codec
from collectors.records import Outcome
from deploy.demo.books import numbers_sent


def ledger(flow: Flow, revision: int, *runs: tuple[int, int, Outcome]) -> bytes:
    """Of the flow's first second, with these runs."""
    (_, plain) = flow.second(0)
    header = record_codec.decode(plain).header._replace(revision=revision)
    return record_codec.encode(header, ledger_rows(runs))


def test_a_second_in_parts_and_revisions_counts_once() -> None:
    """Parts add up; what a later revision says again was counted."""
    flow = Flow("a", 10)
    records = [
        ledger(flow, 0, (0, 4, "accepted"), (4, 2, "unsettled")),
        ledger(flow, 0, (6, 3, "accepted")),
        ledger(flow, 1, (0, 6, "accepted")),
        ledger(flow, 1, (6, 4, "accepted")),
        *Flow("b", 5).records(2),
    ]
    assert numbers_sent(records) == {"a": 10, "b": 10}


def test_two_senders_numbers_are_their_own() -> None:
    """Of one path: the same numbers of two streams are two messages each."""
    records = [*Flow("a", 5).records(3), *Flow("a", 5, seed=1).records(3)]
    assert numbers_sent(records) == {"a": 30}
