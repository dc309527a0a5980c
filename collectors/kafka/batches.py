"""Reads Kafka's batches with a bound on their unpacked size.

Kafka bounds only the packed size: 300 kB may unpack to 300 MB, and its clients unpack whatever they get. So
every consumer of Inflight reads batches by this module. One that it does not read is replaced by a record
that says why.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

import lz4.frame
from kafka import KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord, Fetcher
from kafka.errors import CorruptRecordError
from kafka.record.util import decode_varint

MOST_BYTES: Final = 4 << 20  # of an unpacked batch: those of our producers have 1.1 MB at the most
MOST_VALUE_BYTES: Final = 1 << 20

_HEADER_BYTES: Final = 61
_VERSION: Final = 2
_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_BYTES: Final = 16
_SNAPPY_MOST: Final = 64  # times: three of its bytes stand for 64 at the most


class BadBatchError(Exception):
    """A batch cannot or must not be read; the text says why."""


class Unreadable(bytes):
    """The value of a record that stands for unread ones: the reason, as text."""


Read = tuple[int, bytes | None, Any]  # offset, key, value


class BoundedConsumer(KafkaConsumer):  # type: ignore[misc] # kafka-python has no types
    """A consumer that gets its records from a batch by `read`, which is `records` unless given."""

    def __init__(self, read: Callable[[Any], Iterator[Read]] | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        # kafka-python has no bound, nor a place for one.
        self._fetcher.PartitionRecords = type("Within", (_Batches,), {"read": staticmethod(read or records)})


class _Batches(Fetcher.PartitionRecords):  # type: ignore[misc] # kafka-python has no types
    """Takes the place of the client's own class for a fetched partition."""

    read: Callable[[Any], Iterator[Read]]

    def _unpack_records(self, tp: Any, batches: Any, *_: Any) -> Iterator[Any]:
        while (batch := batches.next_batch()) is not None:
            if self.check_crcs and not batch.validate_crc():
                raise CorruptRecordError(f"the batch at {tp}, offset {batch.base_offset}, came damaged")
            time_ms = batch.max_timestamp if batch.magic == _VERSION else -1
            for offset, key, value in self.read(batch):
                self.records_read += 1
                self.next_fetch_offset = offset + 1
                yield ConsumerRecord(*tp, -1, offset, time_ms, 1, key, value, [], None, -1, -1, -1)
            # Also where compaction took the last records: else the same batch would be fetched for ever.
            self.next_fetch_offset = last_offset(batch) + 1
            self.bytes_read += batch.size_in_bytes
        self.drain()


def last_offset(batch: Any) -> int:
    """Returns the offset of the last record, also where compaction has taken that away."""
    return int(batch.last_offset if batch.magic == _VERSION else batch.base_offset)


def records(batch: Any) -> Iterator[Read]:
    """Yields the records of a batch; an Unreadable one at its last offset where it cannot be read."""
    if batch.magic == _VERSION and batch.is_control_batch:
        return
    try:
        for delta, key, value in _records(unpacked(batch), batch.records_count):
            if value is not None and len(value) > MOST_VALUE_BYTES:
                told = f"a record of {len(value)} bytes: one has at most {MOST_VALUE_BYTES}"
                yield batch.base_offset + delta, key, Unreadable(told.encode())
            else:
                yield batch.base_offset + delta, key, value
    except BadBatchError as error:
        yield last_offset(batch), None, Unreadable(str(error).encode())


def unpacked(batch: Any) -> bytes:
    """Unpacks a batch; BadBatchError when that gives more than MOST_BYTES or the batch is malformed."""
    if batch.magic != _VERSION:
        raise BadBatchError(f"a batch of format {batch.magic}: no part of Inflight writes such")
    codec, packed = batch.compression_type, bytes(batch._buffer[_HEADER_BYTES:])  # noqa: SLF001 -- see above
    name, unpack = _CODECS.get(codec, ("unknown", None))
    if unpack is None:
        raise BadBatchError(f"a batch packed in a way, {codec}, that Inflight does not know")
    try:
        data = unpack(packed, MOST_BYTES + 1)
    except (OSError, RuntimeError, ValueError, IndexError, EOFError, struct.error) as error:
        raise BadBatchError(f"a batch that does not unpack as {name}: {error}") from None
    if len(data) > MOST_BYTES:
        raise BadBatchError(
            f"a batch of {batch.records_count} records, {len(packed)} bytes as {name}, unpacks to more than "
            f"{MOST_BYTES} bytes"
        )
    return data


# Each returns at most so many bytes: the beginning, where a batch has more.
def _as_it_is(packed: bytes, _: int) -> bytes:
    return packed


def _lz4(packed: bytes, most: int) -> bytes:
    one = lz4.frame.LZ4FrameDecompressor()
    data: bytes = one.decompress(packed, most)
    if not one.eof and len(data) < most:
        raise EOFError("it is cut off")
    return data


# pyarrow is loaded when it is needed: no part of Inflight packs like this, and the exporter runs without it.
def _gzip(packed: bytes, most: int) -> bytes:
    return _by_arrow("gzip", packed, most)


def _zstd(packed: bytes, most: int) -> bytes:
    return _by_arrow("zstd", packed, most)


def _by_arrow(name: str, packed: bytes, most: int) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 -- see above

    with pa.CompressedInputStream(pa.BufferReader(packed), name) as stream:
        data: bytes = stream.read(most)
    return data


def _snappy(packed: bytes, most: int) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 -- see above

    codec, data = pa.Codec("snappy"), bytearray()
    for block in _snappy_blocks(packed):
        size = _snappy_size(block)
        if size > _SNAPPY_MOST * len(block):
            raise ValueError(f"{len(block)} bytes say to be {size} unpacked")
        data += codec.decompress(block, size, asbytes=True)
        if len(data) >= most:
            break
    return bytes(data)


def _snappy_blocks(packed: bytes) -> Iterator[bytes]:
    """Yields the blocks: Java's clients write several behind a header, others write one without it."""
    if not packed.startswith(_XERIAL):
        yield packed
        return
    at = _XERIAL_BYTES
    while at < len(packed):
        (length,) = struct.unpack_from(">i", packed, at)
        if length <= 0:
            raise ValueError("it has a block of no length")
        yield packed[at + 4 : at + 4 + length]
        at += 4 + length


def _snappy_size(block: bytes) -> int:
    size = 0
    for place in range(5):
        size |= (block[place] & 0x7F) << 7 * place
        if not block[place] & 0x80:
            break
    return size


_CODECS: Final[dict[int, tuple[str, Callable[[bytes, int], bytes]]]] = {
    0: ("plain", _as_it_is),
    1: ("gzip", _gzip),
    2: ("snappy", _snappy),
    3: ("lz4", _lz4),
    4: ("zstd", _zstd),
}


def _records(data: bytes, count: int) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """Yields offset from the batch's first, key and value; skips headers, which no record of Inflight has."""
    at = 0
    for _ in range(count):
        try:
            length, at = decode_varint(data, at)
            end = at + length
            _, at = decode_varint(data, at + 1)  # behind the attributes: the time
            delta, at = decode_varint(data, at)
            key, at = _bytes(data, at, end)
            value, at = _bytes(data, at, end)
        except (IndexError, ValueError) as error:
            raise BadBatchError(f"a record that is none: {error}") from None
        if not at <= end <= len(data):
            raise BadBatchError("a record that is none: it ends before its beginning, or behind its batch")
        yield delta, key, value
        at = end


def _bytes(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    length, at = decode_varint(data, at)
    if length < 0:
        return None, at
    if at + length > end:
        raise ValueError("it is longer than its record")
    return data[at : at + length], at + length
