"""Kafka's batches, read within a bound: by the bytes, as any client may have written them."""

from __future__ import annotations

import random
import resource
import struct
from pathlib import Path
from typing import Any

import bombs
import crc32c
import pytest
from kafka.record import MemoryRecords

from collectors.kafka.batches import (
    MOST_BYTES,
    MOST_VALUE_BYTES,
    BadBatchError,
    Unreadable,
    records,
    unpacked,
)

CODECS = {"plain": 0, "gzip": bombs.GZIP, "snappy": bombs.SNAPPY, "lz4": bombs.LZ4, "zstd": bombs.ZSTD}
MIB = 1 << 20


def parsed(data: bytes) -> Any:
    """As the client has it when it is asked to read it."""
    return MemoryRecords(data).next_batch()


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_a_batch_gives_its_records(codec: int) -> None:
    """In each way of packing them, with offsets, keys and values."""
    found = list(records(parsed(bombs.batch(codec, [5, 70_000, 0], key=b"k", fill=b""))))
    assert found == [(0, b"k", bytes(5)), (1, b"k", bytes(70_000)), (2, b"k", b"")]


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_one_that_unpacks_to_too_much_is_told_in_its_place(codec: int) -> None:
    """One record stands for all of them, at the offset of the last."""
    ((offset, key, value),) = records(parsed(bombs.batch(codec, [MOST_BYTES // 2] * 2 + [9])))
    assert (offset, key) == (2, None)
    assert isinstance(value, Unreadable)
    assert f"unpacks to more than {MOST_BYTES} bytes" in value.decode()


def test_the_bound_is_of_the_whole_batch() -> None:
    """As many small records as a kilobyte of zstd can hold are as bad as a large one."""
    with pytest.raises(BadBatchError, match="a batch of 20000 records"):
        unpacked(parsed(bombs.batch(bombs.ZSTD, [1_000] * 20_000)))


def test_a_value_that_no_record_of_ours_has_is_told_too() -> None:
    """Its neighbours are read."""
    found = [value for _, _, value in records(parsed(bombs.batch(bombs.GZIP, [7, MOST_VALUE_BYTES + 1, 8])))]
    assert [len(found[0]), len(found[2])] == [7, 8]
    assert isinstance(found[1], Unreadable)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_no_more_memory_than_the_bound_is_taken(codec: int) -> None:
    """Not even by twenty such, one after the other."""
    sizes = [40 * MIB] if codec in {0, bombs.SNAPPY} else [400 * MIB]
    batch = bombs.batch(codec, sizes)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        list(records(parsed(batch)))
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < (4 * MOST_BYTES + 2 * len(batch)) // 1024


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_damage_is_told_and_nothing_else(codec: int) -> None:
    """Whatever byte is another, and wherever it is cut: records, or one that says what is wrong."""
    good = bombs.batch(codec, [50, 60, 70], fill=b"abc")
    chance = random.Random(codec)  # noqa: S311 -- the same each time
    for _ in range(400):
        data = bytearray(good)
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(61, len(data))] = chance.randrange(256)
        if chance.random() < 0.3:
            data = data[: chance.randrange(61, len(data))]
            struct.pack_into(">i", data, 8, len(data) - 12)
        for offset, _, value in records(parsed(bytes(data))):
            assert isinstance(offset, int)
            assert value is None or isinstance(value, bytes)


def test_a_way_of_packing_that_nobody_knows_is_told() -> None:
    """And one of Kafka's formats before 0.11."""
    unknown = bytearray(bombs.batch(0, [1]))
    unknown[22] = 7
    ((_, _, value),) = records(parsed(bytes(unknown)))
    assert value == b"a batch packed in a way, 7, that Inflight does not know"
    body = struct.pack(">bbii", 0, 0, -1, 3) + b"old"
    old = struct.pack(">qiI", 41, len(body) + 4, crc32c.crc32c(body)) + body
    ((offset, _, value),) = records(parsed(old))
    assert (offset, value) == (41, b"a batch of format 0: no part of Inflight writes such")


def test_headers_are_not_looked_at() -> None:
    """They may be of any number and in no alphabet: no record of ours has any."""
    body = b"\0\0\0\x02k\x02v" + bombs.varint(3) + (b"\x02\xff\x02\xff" * 3)
    data = bytearray(bombs.batch(0, [1]))[:61] + bombs.varint(len(body)) + body
    struct.pack_into(">i", data, 8, len(data) - 12)
    assert list(records(parsed(bytes(data)))) == [(0, b"k", b"v")]


def test_nothing_else_of_ours_reads_kafka() -> None:
    """Spark's client aside, which streaming/spark/detour.py is for."""
    root = Path(__file__).parents[3]
    found = [
        str(file.relative_to(root))
        for package in ("collectors", "streaming", "dashboards", "deploy")
        for file in (root / package).rglob("*.py")
        if "import KafkaConsumer" in file.read_text()
    ]
    assert found == ["collectors/kafka/batches.py"]
