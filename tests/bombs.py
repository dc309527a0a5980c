"""Batches of Kafka records that are small until they are unpacked, sent as they are."""

from __future__ import annotations

import gzip
import io
import socket
import struct
from collections.abc import Callable
from typing import IO, Any, Final

import crc32c
import lz4.frame
import pyarrow as pa
from helpers import wait_until
from kafka.errors import NotLeaderForPartitionError, UnknownTopicOrPartitionError

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
_CHUNK: Final = bytes(1 << 20)
_NOTHING: Final = -1
_HEADER_BYTES: Final = 61
_NOT_YET: Final = (UnknownTopicOrPartitionError.errno, NotLeaderForPartitionError.errno)  # of a new topic


def batch(codec: int, sizes: list[int], key: bytes = b"bomb", fill: bytes = b"") -> bytes:
    """Return a record batch whose values have these sizes: `fill`, then zeros; packed piecewise."""
    packed = _packed(codec, lambda out: _write(out, sizes, key, fill))
    body = (
        struct.pack(">hiqqqhii", codec, len(sizes) - 1, 0, 0, _NOTHING, _NOTHING, _NOTHING, len(sizes))
        + packed
    )
    head = struct.pack(">iBI", _NOTHING, 2, crc32c.crc32c(body))
    return struct.pack(">qi", 0, len(head) + len(body)) + head + body


def oddly(records: bytes) -> bytes:
    """Return gzip data with a flag that Java ignores and zlib refuses."""
    odd = bytearray(records)
    odd[_HEADER_BYTES + 3] |= 0x20
    struct.pack_into(">I", odd, 17, crc32c.crc32c(odd[21:]))
    return bytes(odd)


def _packed(codec: int, write: Callable[[IO[bytes]], None]) -> bytes:
    out = io.BytesIO()
    if codec == GZIP:
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9) as packing:
            write(packing)
    elif codec == LZ4:
        with lz4.frame.LZ4FrameFile(out, mode="wb", block_linked=False) as packing:
            write(packing)
    elif codec == ZSTD:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as packing:
            write(packing)
        return sink.getvalue().to_pybytes()
    elif codec == SNAPPY:
        plain = io.BytesIO()
        write(plain)
        data = plain.getvalue()
        out.write(b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1))
        for at in range(0, len(data), 32_768):
            block = pa.Codec("snappy").compress(data[at : at + 32_768], asbytes=True)
            out.write(struct.pack(">i", len(block)) + block)
    else:
        write(out)
    return out.getvalue()


def _write(out: Any, sizes: list[int], key: bytes, fill: bytes) -> None:
    for number, size in enumerate(sizes):
        before = b"\0\0" + varint(number) + varint(len(key)) + key + varint(size)
        out.write(varint(len(before) + size + 1) + before + fill)
        left = size - len(fill)
        while left:
            piece = min(left, len(_CHUNK))
            out.write(_CHUNK if piece == len(_CHUNK) else _CHUNK[:piece])
            left -= piece
        out.write(b"\0")  # no headers


def varint(number: int) -> bytes:
    """Return a number as the record format encodes it: zigzag, seven bits a byte."""
    zigzag, out = number * 2 if number >= 0 else -number * 2 - 1, bytearray()
    while zigzag > 127:
        out.append(zigzag & 127 | 128)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


def produce(bootstrap: str, topic: str, partition: int, records: bytes) -> int:
    """Send a batch as it is to the only broker; return Kafka's error code, 0 if it was taken."""
    codes: list[int] = []

    def settled() -> bool:
        codes.append(_produce(bootstrap, topic, partition, records))
        return codes[-1] not in _NOT_YET

    wait_until(settled, 30, f"a leader of {topic}")
    return codes[-1]


def _produce(bootstrap: str, topic: str, partition: int, records: bytes) -> int:
    text = topic.encode()
    request = struct.pack(">hhih", 0, 7, 1, _NOTHING)  # Produce, version 7
    request += struct.pack(">hhii", _NOTHING, -1, 60_000, 1)
    request += struct.pack(">h", len(text)) + text + struct.pack(">iii", 1, partition, len(records)) + records
    host, _, port = bootstrap.partition(":")
    with socket.create_connection((host, int(port)), 120) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        reply = _exactly(connection, struct.unpack(">i", _exactly(connection, 4))[0])
    # Correlation id, one topic, its name, one partition, its number: then the code.
    code: int = struct.unpack_from(">h", reply, 4 + 4 + 2 + len(text) + 4 + 4)[0]
    return code


def _exactly(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = connection.recv(count - len(found))
        if not more:
            raise ConnectionError("Kafka ended the connection")
        found += more
    return found
