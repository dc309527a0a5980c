"""A marked path's receiver: what is out of order within a colour, against a slow and obvious reading."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_transport import MemoryConnection, MemoryTransport

from collectors.config.paths import Path as ProbePath
from collectors.contract.record_codec import decode
from collectors.contract.records import FLAG_REDELIVERED, FLAG_REORDERED, SECOND_NS, Gap, Record
from collectors.probe.durable.journal import FileJournals
from collectors.probe.durable.recovery import recover
from collectors.probe.engine.loop import Loop
from collectors.probe.measure.arrivals import FLAG_SECOND_COLOUR, ROW, Arrivals
from collectors.probe.measure.clock import RunClock
from collectors.probe.message import Body, encode_body
from collectors.probe.publisher import Publisher, header_for
from collectors.probe.receiver import Receiver

_RUN, _STREAM = 0xFEED, 0xABC
_START_NS = 1_700_000_000 * SECOND_NS

_Arrival = tuple[int, int, int]  # number, colour, received


def _rows(arrivals: list[_Arrival]) -> np.ndarray:
    """Each number is sent at a time of its own, and an odd one has been delivered before."""
    rows = np.zeros(len(arrivals), ROW)
    for row, (seq, colour, received_ns) in zip(rows, arrivals, strict=True):
        row["run"], row["seq"], row["received_ns"] = _STREAM, seq, received_ns
        row["sent_ns"] = row["intended_ns"] = seq * 1_000
        row["flags"] = (FLAG_SECOND_COLOUR if colour else 0) | (FLAG_REDELIVERED if seq % 2 else 0)
    return rows


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 15), st.integers(1, 50)), min_size=1, max_size=40), st.data())
def test_any_arrivals(drawn: list[tuple[int, int]], data: st.DataObject) -> None:
    """Wherever publications fall: reordered within a colour, and no delay variation between colours."""
    blocks = data.draw(st.lists(st.integers(0, 1), min_size=16, max_size=16))
    story: list[_Arrival] = []
    for seq, later in drawn:
        story.append((seq, blocks[seq], (story[-1][2] if story else 100_000) + later))
    cut = data.draw(st.integers(0, len(story)))
    arrivals, told = Arrivals(), []
    for part in (story[:cut], story[cut:]):
        for group in arrivals.groups(_rows(part), [])[0] if part else ():
            for place, seq in enumerate(group.rows.seq.tolist()):
                ipdv = int(group.rows.ipdv_ns[place]) if group.rows.has_ipdv[place] else None
                told.append((seq, int(group.rows.flags[place]), ipdv))
    assert told == _by_the_rules(story)


def _by_the_rules(story: list[_Arrival]) -> list[tuple[int, int, int | None]]:
    found: list[tuple[int, int, int | None]] = []
    first_times: list[_Arrival] = []
    for seq, colour, received_ns in story:
        flags, ipdv = (FLAG_REDELIVERED if seq % 2 else 0), None
        if seq not in [one[0] for one in first_times]:
            if any(one[0] > seq and one[1] == colour for one in first_times):
                flags |= FLAG_REORDERED
            if first_times and first_times[-1][1] == colour:
                before = first_times[-1]
                ipdv = (received_ns - before[2]) - (seq - before[0]) * 1_000
            first_times.append((seq, colour, received_ns))
        found.append((seq, flags, ipdv))
    return found


class _Kept:
    def __init__(self) -> None:
        self.records: list[Record] = []

    def put(self, record: bytes, key: str) -> None:  # noqa: ARG002 -- the interface
        self.records.append(decode(record))

    def gaps(self, path: str, role: str, name: str, run: str) -> tuple[Gap, ...]:  # noqa: ARG002
        return ()

    def flags(self) -> dict[int, int]:
        """By number."""
        found: dict[int, int] = {}
        for record in self.records:
            if record.received is not None:
                found |= zip(record.received.seq.tolist(), record.received.flags.tolist(), strict=True)
        return found


class _Receiving:
    """A marked path's receiver, whose two links a test hands messages to."""

    def __init__(self, path: ProbePath, store: Any) -> None:
        path = dataclasses.replace(path, marking_ns=SECOND_NS)
        clock, self.sink = RunClock.start(), _Kept()
        self.connection = MemoryConnection(MemoryTransport(Loop()))
        header = header_for(path, "receiver", "end-0", _RUN, clock.now_ns())
        self.receiver = Receiver(
            self.connection,
            path,
            Publisher([header], self.sink, store.commit),
            name="end-0",
            run=_RUN,
            clock=clock,
            store=store,
            read_ns=clock.now_ns,
            comparisons={},
        )
        self.connection.start()
        self._flow = self.receiver._prefix[8:16]  # noqa: SLF001 -- the flow's hash, as in each body

    def take(self, colour: int, *numbers: int) -> None:
        link = next(one for one in self.connection.links if one.address == f"inflight/p/{colour}")
        for number in numbers:
            body = Body(False, int.from_bytes(self._flow, "big"), _STREAM, number, _START_NS, _START_NS, 0, 0)
            data = b"head" + encode_body(body)
            assert link.events.on_message(memoryview(data), len(data))


# The second block overtakes the end of the first, of which 3 comes late; 3 alone is out of order.
_STORY = ((0, (0, 1, 2, 4)), (1, (6, 7)), (0, (5, 3)), (1, (8, 9)))
_FLAGS = {number: FLAG_REORDERED if number == 3 else 0 for number in range(10)}


def test_one_stream_of_both_links(tmp_path: Path, probe_path: ProbePath) -> None:
    """What came by either is told together; a late message of the other colour is not out of order."""
    journals = FileJournals(tmp_path)
    header = header_for(probe_path, "receiver", "end-0", _RUN, _START_NS)
    receiving = _Receiving(probe_path, journals.rows(header))
    for colour, numbers in _STORY:
        receiving.take(colour, *numbers)
    receiving.receiver.publish()
    assert receiving.receiver.received == 10
    assert receiving.sink.flags() == _FLAGS


def test_after_a_kill_too(tmp_path: Path, probe_path: ProbePath) -> None:
    """The next start knows by which link each row came."""
    header = header_for(probe_path, "receiver", "end-0", _RUN, _START_NS)
    receiving = _Receiving(probe_path, FileJournals(tmp_path).rows(header))
    for colour, numbers in _STORY:
        receiving.take(colour, *numbers)
    sink = _Kept()
    assert recover(tmp_path, sink) == 1
    assert sink.flags() == _FLAGS


def test_attached_only_where_both_links_are(probe_path: ProbePath) -> None:
    """While one is gone, the end is; it is there from when both are."""
    receiving = _Receiving(probe_path, mock.Mock(rows=lambda: np.zeros(0, ROW)))
    receiver, (_, second) = receiving.receiver, receiving.connection.links
    assert receiver.link_up
    second.lose("the peer detached the link")
    assert not receiver.link_up
    assert receiver.problem == "the peer detached the link"
    receiver.publish()
    assert receiving.sink.records[-1].header.link == "detached"
    second.attach()
    assert receiver.link_up
    receiver.publish()
    assert receiving.sink.records[-1].header.link == "attached"
