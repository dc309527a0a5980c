"""Keeps records on disk, in order, until they are acknowledged: within a bound, and safe against kill -9.

It is a folder of segments. A segment holds frames of at most a second or a MiB, and is deleted when all are
acknowledged. After a restart the oldest segment is read from its beginning again: readers know records by
their numbers, and drop those that come twice.
"""

from __future__ import annotations

import errno
import logging
import os
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import crc32c

from collectors.process import wall_clock
from collectors.process.private_files import private_folder

_log: Final = logging.getLogger("inflight.sink")
_FRAME: Final = struct.Struct("<IIHq")  # length of key and record, checksum, length of key, wall time
_SEGMENT_BYTES: Final = 1 << 20
_SEGMENT_NS: Final = 1_000_000_000
_GONE: Final = (errno.ENOENT, errno.ENOTDIR, errno.EIO)  # other errors of reading may pass


class Frame(NamedTuple):
    """A record as it was put in, and the number of its segment."""

    segment: int
    put_ns: int
    key: str
    record: bytes


@dataclass(slots=True)
class _Segment:
    number: int
    path: Path
    size: int = 0
    read: int = 0  # bytes handed out
    taken: int = 0  # frames handed out
    unacked: int = 0  # of them, not acknowledged
    first_put_ns: int = 0
    began_ns: int = field(default_factory=time.monotonic_ns)

    @property
    def done(self) -> bool:
        """Tells whether all of it is acknowledged."""
        return not self.unacked and self.read >= self.size


class Spool:
    """For one writer and one reader, which may be different threads."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        """Takes over what an earlier process left; OSError when that cannot be read."""
        self._folder = private_folder(folder)
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._segments: deque[_Segment] = deque()
        self._file = -1
        self._bytes = 0
        self.damaged = 0  # files that lost records: they were damaged, or taken away
        for path in sorted(folder.glob("*.seg")):
            self._recover(path)
        self._next = self._segments[-1].number + 1 if self._segments else 0

    @property
    def limit_bytes(self) -> int:
        return self._limit

    @property
    def waiting_bytes(self) -> int:
        """The size of all segments that are not acknowledged as a whole."""
        with self._lock:
            return sum(segment.size for segment in self._segments if not segment.done)

    def oldest_seconds(self) -> float:
        """Returns the age of the oldest segment that waits; 0 when none does."""
        with self._lock:
            first = next((segment.first_put_ns for segment in self._segments if not segment.done), 0)
        return max(0.0, (wall_clock.now_ns() - first) / 1e9) if first else 0.0

    def put(self, key: str, record: bytes) -> list[Frame]:
        """Writes a record; returns those that it dropped for it. OSError when the disk is full or fails."""
        name = key.encode()
        payload = name + record
        now = wall_clock.now_ns()
        frame = _FRAME.pack(len(payload), crc32c.crc32c(payload), len(name), now) + payload
        with self._lock:
            segment = self._writable()
            start = segment.size
            try:
                written = os.pwrite(self._file, frame, start)
            except OSError:
                os.ftruncate(self._file, start)
                raise
            if written < len(frame):
                os.ftruncate(self._file, start)
                raise OSError(28, os.strerror(28))  # a full disk may take a part
            segment.size += len(frame)
            segment.first_put_ns = segment.first_put_ns or now
            self._bytes += len(frame)
            return self._drop()

    def unread(self) -> bool:
        """Tells whether there is anything to take."""
        with self._lock:
            return any(segment.read < segment.size for segment in self._segments)

    def take(self, most: int) -> list[Frame]:
        """Returns the next frames, to be acknowledged one by one; OSError when they cannot be read now."""
        with self._lock:
            frames: list[Frame] = []
            for segment in self._segments:
                if len(frames) >= most:
                    break
                try:
                    found = self._read(segment, most - len(frames))
                except OSError:
                    if frames:
                        break  # the next call tells
                    raise
                segment.taken += len(found)
                segment.unacked += len(found)
                frames += found
            return frames

    def ack(self, frame: Frame) -> None:
        """Notes that the record has arrived; deletes its segment when all of that have."""
        with self._lock:
            for segment in self._segments:
                if segment.number == frame.segment:
                    segment.unacked -= 1
                    break
            self._clean()

    def rewind(self) -> int:
        """Makes `take` begin again with the oldest segment; returns how many frames it will give twice."""
        with self._lock:
            again = 0
            for segment in self._segments:
                again += segment.taken
                segment.read = segment.unacked = segment.taken = 0
            return again

    def close(self) -> None:
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
            self._clean()

    # -- the caller of what follows holds the lock

    def _writable(self) -> _Segment:
        last = self._segments[-1] if self._segments else None
        old = last is not None and (
            last.size >= _SEGMENT_BYTES or time.monotonic_ns() - last.began_ns >= _SEGMENT_NS
        )
        if last is None or self._file < 0 or (old and last.size):
            path = self._folder / f"{self._next:016d}.seg"
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            if self._file >= 0:
                os.close(self._file)
            self._file = file
            last = _Segment(self._next, path)
            self._segments.append(last)
            self._next += 1
            self._clean()
        return last

    def _clean(self) -> None:
        """Deletes acknowledged segments, but never the one that is being written."""
        while len(self._segments) > 1 or (self._segments and self._file < 0):
            first = self._segments[0]
            if not first.done:
                return
            self._segments.popleft()
            self._bytes -= first.size
            first.path.unlink(missing_ok=True)

    def _drop(self) -> list[Frame]:
        """Deletes the oldest segments beyond the bound, but none that is being sent or written."""
        dropped: list[Frame] = []
        while self._bytes > self._limit:
            victim = next((s for s in self._segments if not s.unacked and s is not self._segments[-1]), None)
            if victim is None:
                break
            try:
                dropped += self._read(victim, victim.size)
            except OSError:
                break  # to know what is dropped it must be read: tried again with the next record
            self._segments.remove(victim)
            self._bytes -= victim.size
            victim.path.unlink(missing_ok=True)
        return dropped

    def _read(self, segment: _Segment, most: int) -> list[Frame]:
        """Returns the next frames of a segment, which is cut off where it is damaged."""
        if segment.read >= segment.size:
            return []
        try:
            with segment.path.open("rb") as file:
                file.seek(segment.read)
                data = file.read(segment.size - segment.read)
        except OSError as error:
            if error.errno not in _GONE:
                raise
            _log.error("%s cannot be read: %s", segment.path, error.strerror)
            data = b""
        frames: list[Frame] = []
        at = 0
        while at < len(data) and len(frames) < most:
            found = _frame(segment.number, data, at)
            if found is None:
                break
            frame, at = found
            frames.append(frame)
        segment.read += at
        if len(frames) < most and segment.read < segment.size:
            _log.error("%s is damaged at byte %d; what follows there is lost", segment.path, segment.read)
            self.damaged += 1
            self._bytes -= segment.size - segment.read
            segment.size = segment.read
            if self._file >= 0 and segment is self._segments[-1]:
                os.close(self._file)  # what is written there may never be read again
                self._file = -1
        return frames

    def _recover(self, path: Path) -> None:
        """Takes over a segment of an earlier process, but for a frame at its end that is half written."""
        try:
            segment = _Segment(int(path.stem), path, size=path.stat().st_size)
        except (ValueError, OSError):
            return
        self._bytes += segment.size
        frames = self._read(segment, segment.size)
        segment.read = 0
        if frames:
            segment.first_put_ns = frames[0].put_ns
            self._segments.append(segment)
        else:
            path.unlink(missing_ok=True)


def _frame(segment: int, data: bytes, at: int) -> tuple[Frame, int] | None:
    """Returns the frame that begins there and where it ends; None when there is no whole one."""
    start = at + _FRAME.size
    if start > len(data):
        return None
    length, checksum, name_length, put_ns = _FRAME.unpack_from(data, at)
    payload = data[start : start + length]
    if len(payload) < length or crc32c.crc32c(payload) != checksum:
        return None
    try:
        return Frame(segment, put_ns, payload[:name_length].decode(), payload[name_length:]), start + length
    except UnicodeDecodeError:
        return None
