"""The demonstration's own audit: what the ledgers say was sent, and what became of it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import bombs
import pytest
from by_hand import ledger_rows
from made_rows import window
from spark_job import produce
from synthetic import Flow

from collectors.contract import record_codec
from collectors.contract.records import Outcome
from collectors.contract.topics import SAMPLES, WINDOWS
from collectors.contract.window_rows import encode
from deploy.demo import audit
from deploy.demo.audit import numbers_sent

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka


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
    assert numbers_sent(map(record_codec.decode, records)) == {"a": 10, "b": 10}


def test_two_senders_numbers_are_their_own() -> None:
    """Of one path: the same numbers of two streams are two messages each."""
    records = [*Flow("a", 5).records(3), *Flow("a", 5, seed=1).records(3)]
    assert numbers_sent(map(record_codec.decode, records)) == {"a": 30}


@pytest.mark.e2e
def test_junk_is_passed_over_and_counted(kafka: Kafka) -> None:
    """Records that are none of ours, and a batch that unpacks to a gigabyte, change nothing in the totals."""
    prefix = f"totals-{uuid.uuid4().hex[:8]}"
    kafka.make_topics(prefix, [SAMPLES, WINDOWS])
    junk = [("a", value) for value in (b"", b"junk", b"[" * 5_000, b'{"v": 1}')]
    row = window("a", values_ns=[1_000_000] * 30)
    produce(
        kafka.bootstrap, SAMPLES.name(prefix), [*junk, *(("a", each) for each in Flow("a", 10).records(3))]
    )
    produce(kafka.bootstrap, WINDOWS.name(prefix), [*junk, ("a", encode(row))])
    for topic in (SAMPLES, WINDOWS):
        assert bombs.produce(kafka.bootstrap, topic.name(prefix), 0, bombs.batch(bombs.ZSTD, [1 << 30])) == 0
    found = audit.read(kafka.bootstrap, prefix)
    assert found.junk == 2 * len(junk) + 2
    assert found.paths["a"].ledger_sent == found.paths["a"].sent == 30
    assert found.complete
