"""Journals: what an end has measured and not published yet, in files that survive kill -9.

The files are mapped into memory: a write costs no system call, and what is written is kept by the system when
the process is gone. The next start publishes it under the old run (recovery.py).
"""

from __future__ import annotations

import logging
import mmap
import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from collectors.contract.record_codec import encode
from collectors.contract.records import Header
from collectors.probe.durable.row_store import REST, MemoryRows, RowStore
from collectors.probe.measure.arrivals import ROW
from collectors.probe.measure.ledger import LedgerSecond, SenderLedger
from collectors.probe.message import COUNTED_BYTES
from collectors.process.private_files import private_folder

_log: Final = logging.getLogger("inflight.probe")
MAGIC: Final = b"InflJ001"
# Magic, bytes of meta, generation, number, frontier, alive until, unwatched since (0: it is watched).
HEAD: Final = struct.Struct("<8sIHxxQQQQ")
META_AT: Final = 64
DATA_AT: Final = 4096
_FIRST_BYTES: Final = 1 << 15
_GENERATIONS: Final = 1 << 16
OP: Final = struct.Struct("<QQQIBBH")  # three numbers, a count, a code, the kind, the generation
COUNTS, UNSENT, SENT, SETTLED, REVISION, WRITTEN = range(1, 7)


class LedgerJournal(Protocol):
    """A sender's ledger as it changes."""

    def follow(self, ledger: SenderLedger) -> None: ...

    def write(self, ledger: SenderLedger, written: int) -> None:
        """Writes what has changed since then; presettled numbers below `written` are on the socket."""

    def commit(self, number: int, frontier_ns: int) -> None:
        """The sink has all records before this number."""


class Journals(Protocol):
    """Makes the journals of a process, and ends them together."""

    def rows(self, header: Header) -> RowStore: ...

    def ledger(self, headers: Sequence[Header]) -> LedgerJournal: ...

    def beat(self, now_ns: int) -> None:
        """All ends are alive, and have read what had come by now."""

    def close(self) -> None:
        """All ends have published their last record: nothing is left to recover."""


class NoLedgerJournal:
    """Keeps nothing."""

    def follow(self, ledger: SenderLedger) -> None: ...

    def write(self, ledger: SenderLedger, written: int) -> None:  # noqa: ARG002 -- the interface
        ledger.touched.clear()

    def commit(self, number: int, frontier_ns: int) -> None: ...


class MemoryJournals:
    """For processes whose measurements need not survive kill -9."""

    def rows(self, header: Header) -> RowStore:  # noqa: ARG002 -- the interface
        return MemoryRows()

    def ledger(self, headers: Sequence[Header]) -> LedgerJournal:  # noqa: ARG002
        return NoLedgerJournal()

    def beat(self, now_ns: int) -> None: ...

    def close(self) -> None: ...


class JournalFile:
    """A mapped file: a head, the headers of an end's records, and data of the head's generation."""

    def __init__(self, path: Path, meta: bytes, number: int, frontier_ns: int) -> None:
        if len(meta) > DATA_AT - META_AT:
            raise ValueError(f"{path}: {len(meta)} bytes of headers are too many for a journal")
        self.path: Final = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.posix_fallocate(self._file, 0, _FIRST_BYTES)  # a full disk is noticed here, not by a signal
        self.map: Any = mmap.mmap(self._file, _FIRST_BYTES)
        self.size = _FIRST_BYTES
        self._meta_bytes = len(meta)
        self.unwatched_ns = 0
        self.map[META_AT : META_AT + len(meta)] = meta
        self.generation = 0
        self.write_head(1, number, frontier_ns, frontier_ns)

    def write_head(self, generation: int, number: int, frontier_ns: int, alive_ns: int) -> None:
        """Writes the head, which makes valid what was written before: call it last."""
        self.generation = generation
        times = number, frontier_ns, alive_ns, self.unwatched_ns
        HEAD.pack_into(self.map, 0, MAGIC, self._meta_bytes, generation, *times)
        self._number, self._frontier_ns, self._alive_ns = number, frontier_ns, alive_ns

    def beat(self, now_ns: int) -> None:
        self.write_head(self.generation, self._number, self._frontier_ns, now_ns)

    def unwatched(self, from_ns: int | None) -> None:
        self.unwatched_ns = from_ns or 0
        self.beat(self._alive_ns)

    def grow(self) -> bool:
        """Doubles the size. Returns False where the disk has no room."""
        try:
            os.posix_fallocate(self._file, 0, 2 * self.size)
            self.map.resize(2 * self.size)
        except OSError as error:
            _log.error("%s cannot grow: %s; what comes now would not survive kill -9", self.path, error)
            return False
        self.size *= 2
        return True

    def next_generation(self) -> int:
        return self.generation % (_GENERATIONS - 1) + 1  # never 0: that is what a new file is full of

    def delete(self) -> None:
        self.map.close()
        os.close(self._file)
        self.path.unlink(missing_ok=True)


class FileRows:
    """A receiver's rows, in a file as soon as they are written."""

    def __init__(self, mapped: JournalFile) -> None:
        self._mapped = mapped
        self._map = mapped.map
        self._end = DATA_AT
        self._most = mapped.size
        self._generation = mapped.generation
        self._beyond = MemoryRows()  # where the disk has no room

    def add(self, counted: memoryview, received_ns: int, body_bytes: int, flags: int, route: int) -> None:
        at = self._end
        if at + ROW.itemsize > self._most:
            if not self._mapped.grow():
                self._beyond.add(counted, received_ns, body_bytes, flags, route)
                return
            self._most = self._mapped.size
        self._map[at : at + COUNTED_BYTES] = counted
        REST.pack_into(self._map, at + COUNTED_BYTES, received_ns, body_bytes, flags, route, self._generation)
        self._end = at + ROW.itemsize

    def rows(self) -> NDArray[Any]:
        rows = np.frombuffer(self._map[DATA_AT : self._end], ROW)
        beyond = self._beyond.rows()
        return np.concatenate((rows, beyond)) if len(beyond) else rows

    def unwatched(self, from_ns: int | None) -> None:
        if (from_ns or 0) != self._mapped.unwatched_ns:
            self._mapped.unwatched(from_ns)

    def commit(self, number: int, frontier_ns: int) -> None:
        self._generation = self._mapped.next_generation()
        self._mapped.write_head(self._generation, number, frontier_ns, frontier_ns)
        self._end = DATA_AT
        self._beyond.commit(number, frontier_ns)


class FileLedgerJournal:
    """A sender's ledger as operations since the last publication, in two files that take turns."""

    def __init__(self, first: JournalFile, second: JournalFile) -> None:
        self._now, self._other = first, second
        self._end = DATA_AT
        self._ledger: SenderLedger | None = None
        self._written = 0
        self._full = False

    def follow(self, ledger: SenderLedger) -> None:
        self._ledger = ledger

    def write(self, ledger: SenderLedger, written: int) -> None:
        for entry in ledger.touched.values():
            self._counts(entry)
            self._sent(entry)
        ledger.touched.clear()
        for seq, count, code in ledger.settled:
            self._op(SETTLED, seq, 0, 0, count, code)
        ledger.settled.clear()
        if written != self._written:
            self._op(WRITTEN, written, 0, 0, 0, 0)
            self._written = written

    def commit(self, number: int, frontier_ns: int) -> None:
        """Writes what is not final into the other file, whose head then makes it the valid one."""
        if self._ledger is None:
            return
        old, new = self._now, self._other
        generation = old.next_generation()
        self._now, self._other, self._end, self._full = new, old, DATA_AT, False
        new.generation = generation
        for entry in self._ledger.seconds():
            entry.logged = 0
            self._counts(entry)
            self._sent(entry)
            # While a publication is made, what it has just published still counts as changed.
            self._op(REVISION, entry.second, 0, 0, entry.revision, int(entry.dirty))
        self._op(WRITTEN, self._written, 0, 0, 0, 0)
        self._ledger.touched.clear()
        self._ledger.settled.clear()
        new.write_head(generation, number, frontier_ns, frontier_ns)

    def _counts(self, entry: LedgerSecond) -> None:
        self._op(COUNTS, entry.second, entry.first_seq, entry.body_bytes, entry.due, 0)
        for reason, count in enumerate(entry.unsent):
            if count:
                self._op(UNSENT, entry.second, 0, 0, count, reason)
        self._op(COUNTS, entry.second, entry.backlog, 0, 0, 1)

    def _sent(self, entry: LedgerSecond) -> None:
        """Writes the outcomes that are not in the file yet, as ranges of numbers."""
        part = bytes(entry.outcomes[entry.logged :])
        while part:
            left = part.lstrip(part[:1])
            count = len(part) - len(left)
            self._op(SENT, entry.second, entry.first_seq + entry.logged, 0, count, part[0])
            entry.logged += count
            part = left

    def _op(self, kind: int, a: int, b: int, c: int, count: int, code: int) -> None:
        now = self._now
        if self._end + OP.size > now.size and (self._full or not now.grow()):
            self._full = True
            return
        OP.pack_into(now.map, self._end, a, b, c, count, code, kind, now.generation)
        self._end += OP.size


class FileJournals:
    """Journals in a folder, one or two files for each end."""

    def __init__(self, folder: Path) -> None:
        self._folder = private_folder(folder)
        self._mapped: list[JournalFile] = []

    def rows(self, header: Header) -> RowStore:
        return FileRows(self._map(f"{header.run}.rows", [header]))

    def ledger(self, headers: Sequence[Header]) -> LedgerJournal:
        run = headers[0].run
        return FileLedgerJournal(self._map(f"{run}.ledger-a", headers), self._map(f"{run}.ledger-b", headers))

    def beat(self, now_ns: int) -> None:
        for mapped in self._mapped:
            mapped.beat(now_ns)

    def close(self) -> None:
        for mapped in self._mapped:
            mapped.delete()
        self._mapped = []

    def _map(self, name: str, headers: Sequence[Header]) -> JournalFile:
        meta = b"".join(len(data).to_bytes(4, "little") + data for data in map(encode, headers))
        mapped = JournalFile(
            self._folder / name, zlib.compress(meta), headers[0].number, headers[0].frontier_ns
        )
        self._mapped.append(mapped)
        return mapped
