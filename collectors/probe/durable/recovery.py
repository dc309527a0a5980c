"""After kill -9: publishes what the process before had measured, under its old runs."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from collectors.contract.record_codec import decode
from collectors.contract.records import SECOND_NS, BadRecord, Header, Span
from collectors.probe.durable.journal import (
    COUNTS,
    DATA_AT,
    HEAD,
    MAGIC,
    META_AT,
    OP,
    REVISION,
    SENT,
    SETTLED,
    UNSENT,
    WRITTEN,
)
from collectors.probe.engine.loop import STILL_NS
from collectors.probe.measure.arrivals import ROW, Arrivals
from collectors.probe.measure.ledger import UNSETTLED, LedgerSecond, SenderLedger
from collectors.probe.publisher import Publisher, Sink

_log: Final = logging.getLogger("inflight.probe")


class _LeftJournal(NamedTuple):
    """A journal's file as it was left."""

    headers: tuple[Header, ...]
    generation: int
    alive_ns: int
    unwatched_ns: int  # since when; 0: it was watched
    data: bytes


def recover(folder: Path, sink: Sink) -> int:
    """Publishes what is left in a folder, and deletes it. Returns how many ends there were."""
    found = 0
    for file in sorted(folder.glob("*.rows")):
        found += _each(file, [file], sink, _publish_rows)
    runs = {file.stem for file in folder.glob("*.ledger-[ab]")}
    for run in sorted(runs):
        files = [file for suffix in "ab" if (file := folder / f"{run}.ledger-{suffix}").exists()]
        found += _each(files[0], files, sink, _publish_ledger)
    return found


def _each(
    name: Path, files: Sequence[Path], sink: Sink, publish: Callable[[_LeftJournal, Sink], None]
) -> int:
    there = [left for file in files if (left := _read(file)) is not None]
    if there:
        # Of two files, the newer one is that before which more records were published.
        left = max(there, key=lambda one: one.headers[0].number)
        publish(left, sink)
        header = left.headers[0]
        _log.info(
            "path %s: published what %s %s had measured when it was killed",
            header.path,
            header.role,
            header.name,
        )
    else:
        _log.warning("%s is no journal that can be read; it is deleted", name)
    for file in files:
        file.unlink(missing_ok=True)
    return len(there[:1])


def _read(file: Path) -> _LeftJournal | None:
    try:
        data = file.read_bytes()
        magic, meta_bytes, generation, number, frontier_ns, alive_ns, unwatched_ns = HEAD.unpack_from(data)
        if magic != MAGIC:
            return None
        meta = zlib.decompress(data[META_AT : META_AT + meta_bytes])
        headers = []
        while meta:
            length = int.from_bytes(meta[:4], "little")
            header = decode(meta[4 : 4 + length]).header
            headers.append(header._replace(number=number, frontier_ns=frontier_ns))
            meta = meta[4 + length :]
    except (OSError, ValueError, BadRecord, zlib.error, IndexError) as error:
        _log.debug("%s: %s", file, error)
        return None
    except Exception as error:  # noqa: BLE001 -- struct.error, and whatever a damaged file brings
        _log.debug("%s: %r", file, error)
        return None
    if not headers:
        return None
    return _LeftJournal(tuple(headers), generation, alive_ns, unwatched_ns, data[DATA_AT:])


def _publisher(left: _LeftJournal, sink: Sink) -> Publisher:
    return Publisher(left.headers, sink, lambda _number, _frontier: None)


def _publish_rows(left: _LeftJournal, sink: Sink) -> None:
    rows = np.frombuffer(left.data[: len(left.data) // ROW.itemsize * ROW.itemsize], ROW)
    other = np.flatnonzero(rows["generation"] != left.generation)
    rows = rows[: int(other[0]) if len(other) else len(rows)]
    publisher = _publisher(left, sink)
    alive_ns, unwatched_ns = left.alive_ns, left.unwatched_ns
    if len(rows):
        groups, _ = Arrivals().groups(rows, [])
        alive_ns = max(alive_ns, int(rows["received_ns"].max()))
        if alive_ns - left.alive_ns > STILL_NS:  # it stood still, and was killed before it noticed
            unwatched_ns = unwatched_ns or left.alive_ns
        for group in groups:
            publisher.add_received(group)
    unwatched = (Span(unwatched_ns, alive_ns),) if unwatched_ns else ()
    publisher.end(alive_ns, always=True, unwatched=unwatched)


def _publish_ledger(left: _LeftJournal, sink: Sink) -> None:
    header = left.headers[0]
    ledger = _rebuild(left, header.frontier_ns // SECOND_NS, presettled=header.presettled)
    publisher = _publisher(left, sink)
    for entry in ledger.close(left.alive_ns // SECOND_NS + 1):
        unsent = entry.unsent_by_reason()
        if entry.backlog:
            unsent["no_connection"] = unsent.get("no_connection", 0) + entry.backlog
        publisher.add_ledger(header.run, entry, backlog=0, unsent=unsent)
    publisher.end(left.alive_ns, always=True)


def _rebuild(left: _LeftJournal, first: int, *, presettled: bool) -> SenderLedger:
    seconds: dict[int, LedgerSecond] = {}
    settled: list[tuple[int, int, int]] = []
    written = 0
    for a, b, c, count, code, kind, generation in OP.iter_unpack(
        left.data[: len(left.data) // OP.size * OP.size]
    ):
        if generation != left.generation:
            break
        if kind == SETTLED:
            settled.append((a, count, code))
        elif kind == WRITTEN:
            written = a
        else:
            _apply(seconds.setdefault(a, LedgerSecond(a)), kind, (b, c, count, code))
    ledger = SenderLedger(first)
    for second in sorted(seconds):
        ledger.restore(seconds[second])
    for seq, count, code in settled:
        for number in range(seq, seq + count):
            ledger.settle(number, code, final=False)
    if presettled:
        # Nobody knows whether the last ones were written to the socket.
        for number in range(written, ledger.next_seq):
            ledger.settle(number, UNSETTLED, final=False)
    return ledger


def _apply(entry: LedgerSecond, kind: int, values: tuple[int, int, int, int]) -> None:
    b, c, count, code = values
    if kind == COUNTS and code == 0:
        entry.first_seq, entry.body_bytes, entry.due = b, c, count
    elif kind == COUNTS:
        entry.backlog = b
    elif kind == UNSENT:
        entry.unsent[code] = count
    elif kind == SENT:
        start = b - entry.first_seq
        entry.outcomes[start : start + count] = bytes([code]) * count
    elif kind == REVISION:
        entry.revision, entry.dirty = count, bool(code)
