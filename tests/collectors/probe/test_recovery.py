"""After kill -9 at any moment, what was measured is published under the old run, once and right."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.config.paths import Path as ProbePath
from collectors.contract.record_codec import decode
from collectors.contract.records import OUTCOMES, SECOND_NS, Gap, Record, Span
from collectors.probe.durable.journal import FileJournals
from collectors.probe.durable.recovery import recover
from collectors.probe.measure.ledger import CODES, PRESETTLED, UNSETTLED, SenderLedger
from collectors.probe.message import Body, encode_body
from collectors.probe.publisher import Publisher, header_for

_START = 1_700_000_000
_RUN = 0xFEED


class Kept:
    """A sink that keeps records as they would be read."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def put(self, record: bytes, key: str) -> None:
        decoded = decode(record)
        assert decoded.header.path == key
        self.records.append(decoded)

    def gaps(self, path: str, role: str, name: str, run: str) -> tuple[Gap, ...]:  # noqa: ARG002 -- the interface
        return ()


def _header(path: ProbePath, role: Any) -> Any:
    return header_for(path, role, "end-0", _RUN, _START * SECOND_NS)


def _counted(seq: int, sent_ns: int) -> memoryview:
    body = encode_body(Body(False, 1, 77, seq, sent_ns, sent_ns, 0, 0))
    return memoryview(body)[16:48]


def test_rows_survive(tmp_path: Path, probe_path: ProbePath) -> None:
    """Rows not yet published are, by the next start, and the frontier is the last sign of life."""
    journals, sink = FileJournals(tmp_path), Kept()
    store = journals.rows(_header(probe_path, "receiver"))
    for seq in range(3_000):
        store.add(_counted(seq, _START * SECOND_NS + seq), _START * SECOND_NS + 10**9 + seq, 100, 0, 0)
    alive = (_START + 2) * SECOND_NS
    journals.beat(alive)
    assert recover(tmp_path, sink) == 1
    received, *rest = sink.records
    assert rest == []
    assert received.received is not None
    assert received.received.seq.tolist() == list(range(3_000))
    assert received.header.run == f"{_RUN:016x}"
    assert received.header.stream == f"{77:016x}"
    assert (received.header.number, received.header.frontier_ns) == (0, alive)
    assert list(tmp_path.iterdir()) == []


def test_published_rows_do_not_come_back(tmp_path: Path, probe_path: ProbePath) -> None:
    """What the sink has is not published again, and the numbers of records go on."""
    journals, sink = FileJournals(tmp_path), Kept()
    store = journals.rows(_header(probe_path, "receiver"))
    for seq in range(100):
        store.add(_counted(seq, _START * SECOND_NS), 5, 100, 0, 0)
    store.commit(7, (_START + 1) * SECOND_NS)
    store.add(_counted(100, _START * SECOND_NS), (_START + 1) * SECOND_NS + 5, 100, 0, 0)
    recover(tmp_path, sink)
    (received,) = sink.records
    assert received.received is not None
    assert received.received.seq.tolist() == [100]
    assert received.header.number == 7
    assert received.header.frontier_ns == (_START + 1) * SECOND_NS + 5


def test_time_unwatched_is_told_by_the_next_start(tmp_path: Path, probe_path: ProbePath) -> None:
    """A receiver stood still, went on, and was killed before it could say so."""
    journals, sink = FileJournals(tmp_path), Kept()
    store = journals.rows(_header(probe_path, "receiver"))
    journals.beat(_START * SECOND_NS)
    store.unwatched(_START * SECOND_NS - 5)
    store.add(_counted(0, _START * SECOND_NS), (_START + 20) * SECOND_NS, 100, 0, 0)
    journals.beat((_START + 21) * SECOND_NS)
    recover(tmp_path, sink)
    (received,) = sink.records
    assert received.header.frontier_ns == (_START + 21) * SECOND_NS
    assert received.header.unwatched == (Span(_START * SECOND_NS - 5, (_START + 21) * SECOND_NS),)


def test_time_unwatched_that_was_told_is_not_told_again(tmp_path: Path, probe_path: ProbePath) -> None:
    """What a record in the sink says of it is enough."""
    journals, sink = FileJournals(tmp_path), Kept()
    store = journals.rows(_header(probe_path, "receiver"))
    store.unwatched(_START * SECOND_NS)
    store.commit(1, (_START + 1) * SECOND_NS)
    store.unwatched(None)
    journals.beat((_START + 2) * SECOND_NS)
    recover(tmp_path, sink)
    assert [record.header.unwatched for record in sink.records] == [()]


def test_killed_before_it_knew_that_it_stood_still(tmp_path: Path, probe_path: ProbePath) -> None:
    """A row that came long after the last sign of life: nobody watched between them."""
    journals, sink = FileJournals(tmp_path), Kept()
    store = journals.rows(_header(probe_path, "receiver"))
    journals.beat((_START + 1) * SECOND_NS)
    store.add(_counted(0, _START * SECOND_NS), (_START + 20) * SECOND_NS, 100, 0, 0)
    recover(tmp_path, sink)
    (received,) = sink.records
    assert received.header.unwatched == (Span((_START + 1) * SECOND_NS, (_START + 20) * SECOND_NS),)


def test_clean_end_leaves_nothing(tmp_path: Path, probe_path: ProbePath) -> None:
    """After `bye` there is nothing to recover."""
    journals = FileJournals(tmp_path)
    journals.rows(_header(probe_path, "receiver"))
    journals.ledger([_header(probe_path, "sender")])
    journals.close()
    assert list(tmp_path.iterdir()) == []


def test_damaged_files_are_deleted(tmp_path: Path) -> None:
    """A file that is no journal does not keep a probe from starting."""
    (tmp_path / "a.rows").write_bytes(b"nonsense")
    (tmp_path / "b.ledger-a").write_bytes(b"")
    assert recover(tmp_path, Kept()) == 0
    assert list(tmp_path.iterdir()) == []


_OPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 300)),
        st.tuples(st.just("settle"), st.integers(0, 400), st.sampled_from([1, 2, 3])),
        st.tuples(st.just("tick")),
        st.tuples(st.just("miss"), st.integers(1, 3)),
        st.tuples(st.just("publish")),
    ),
    max_size=40,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(operations=_OPS)
def test_ledger_survives(tmp_path: Path, probe_path: ProbePath, operations: list[tuple[Any, ...]]) -> None:
    """Whenever the sender dies, the last revisions in the sink tell every number's last known outcome."""
    folder = tmp_path / "ledger"
    shutil.rmtree(folder, ignore_errors=True)
    journals, sink = FileJournals(folder), Kept()
    header = _header(probe_path, "sender")
    journal = journals.ledger([header])
    publisher = Publisher([header], sink, journal.commit)
    ledger, now = SenderLedger(_START), _START
    journal.follow(ledger)
    truth: dict[int, tuple[int, int]] = {}
    due: dict[int, int] = {}
    for verb, *values in operations:
        if verb == "send":
            due[now] = due.get(now, 0) + values[0]
            ledger.due(now, values[0])
            ledger.caught_up(now, values[0])
            truth |= {ledger.next_seq + n: (now, UNSETTLED) for n in range(values[0])}
            ledger.sent(now, values[0], 64 * values[0], UNSETTLED)
        elif verb == "settle" and truth.get(values[0], (0, 0))[1] == UNSETTLED:
            ledger.settle(values[0], values[1])
            truth[values[0]] = truth[values[0]][0], values[1]
        elif verb == "tick":
            now += 1
        elif verb == "miss":
            due[now] = due.get(now, 0) + values[0]
            ledger.due(now, values[0])
        elif verb == "publish":
            _publish(ledger, publisher, now)
        journal.write(ledger, 0)
    journals.beat((now + 1) * SECOND_NS - 1)
    recover(folder, sink)
    _check(sink.records, truth, due, now)


def _publish(ledger: SenderLedger, publisher: Publisher, now: int) -> None:
    for entry in ledger.close(now):
        unsent = entry.unsent_by_reason()
        publisher.add(
            "ledger", entry.rows(), second=entry.second, revision=entry.revision, due=entry.due,
            backlog=entry.backlog, unsent=unsent, body_bytes=entry.body_bytes, stream=f"{_RUN:016x}",
        )  # fmt: skip
    publisher.end(now * SECOND_NS, always=True)


def _check(records: list[Record], truth: dict[int, tuple[int, int]], due: dict[int, int], now: int) -> None:
    assert [record.header.number for record in records] == list(range(len(records)))
    newest: dict[int, Record] = {}
    for record in records:
        if record.ledger is not None:
            second = record.header.second
            assert second not in newest or newest[second].header.revision < record.header.revision
            newest[second] = record
    assert sorted(newest) == list(range(_START, now + 1))
    told: dict[int, tuple[int, int]] = {}
    for second, record in newest.items():
        assert record.ledger is not None
        assert record.header.due == due.get(second, 0)
        for first, length, outcome in zip(*record.ledger, strict=True):
            told |= {int(first) + n: (second, int(outcome)) for n in range(int(length))}
        sent = int(record.ledger.length.sum())
        assert record.header.body_bytes == 64 * sent
    assert told == truth
    assert records[-1].header.frontier_ns == (now + 1) * SECOND_NS - 1


def test_presettled_not_known_to_be_written(tmp_path: Path, probe_path: ProbePath) -> None:
    """Presettled messages that may not have reached the socket are unsettled in the last ledger."""
    journals, sink = FileJournals(tmp_path), Kept()
    header = _header(probe_path, "sender")
    header = header._replace(presettled=True)
    journal = journals.ledger([header])
    ledger = SenderLedger(_START)
    journal.follow(ledger)
    ledger.due(_START, 10)
    ledger.caught_up(_START, 10)
    ledger.sent(_START, 10, 640, PRESETTLED)
    journal.write(ledger, 6)
    journals.beat(_START * SECOND_NS)
    recover(tmp_path, sink)
    record = next(record for record in sink.records if record.ledger is not None)
    assert record.ledger is not None
    assert record.ledger.first_seq.tolist() == [0, 6]
    assert [OUTCOMES[code] for code in record.ledger.outcome] == ["presettled", "unsettled"]


_VICTIM = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = {path!r}
from collectors.probe.durable.journal import FileJournals
from collectors.probe.message import Body, encode_body
from collectors.contract.records import Header
header = Header(kind="alive", mesh="m", path="p", address="a", source="s", target="t", role="receiver",
    name="r-0", run="00000000000000aa", number=0, observed_from_ns=1, frontier_ns=1, senders=1, receivers=1)
store = FileJournals(Path(sys.argv[1])).rows(header)
for seq in range({count}):
    store.add(memoryview(encode_body(Body(False, 1, 77, seq, 5, 5, 0, 0)))[16:48], 9, 100, 0, 0)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("count", [0, 1, 10_000])
def test_real_kill(tmp_path: Path, count: int) -> None:
    """A process that is really killed has lost nothing that it wrote."""
    script = _VICTIM.format(path=sys.path, count=count)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL
    sink = Kept()
    assert recover(tmp_path, sink) == 1
    rows = [seq for r in sink.records if r.received is not None for seq in r.received.seq.tolist()]
    assert rows == list(range(count))


def test_settled_codes_are_the_contract() -> None:
    """What journals hold as numbers are the places in the records' list of outcomes."""
    assert [CODES[outcome] for outcome in OUTCOMES] == list(range(6))
