"""Records to a real Kafka: in order, over its absence and over kill -9, and what is given up is told."""

from __future__ import annotations

import errno
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from by_hand import ledger_rows
from helpers import wait_until
from kafka import KafkaConsumer
from kafka.admin import KafkaAdminClient

from collectors.config.model import Kafka as KafkaConfig
from collectors.contract.record_codec import decode, encode
from collectors.contract.records import SECOND_NS, Gap, Header
from collectors.contract.topics import SAMPLES
from collectors.kafka import client
from collectors.kafka.sink import KafkaSink
from collectors.kafka.spool import Spool
from deploy.embedded.programs.kafka import Kafka

if TYPE_CHECKING:
    from collectors.contract.records import Record

pytestmark = pytest.mark.e2e
_PLENTY = 1 << 30
_START = 1_700_000_000
_prefixes = itertools.count()


def _header(number: int, path: str = "p", gaps: tuple[Gap, ...] = ()) -> Header:
    return Header(
        kind="ledger",
        mesh="m",
        path=path,
        address="a",
        source="s",
        target="t",
        role="sender",
        name="s-0",
        run="00000000000000aa",
        number=number,
        observed_from_ns=_START * SECOND_NS,
        frontier_ns=(_START + number + 1) * SECOND_NS,
        senders=1,
        receivers=1,
        second=_START + number,
        gaps=gaps,
    )


def _record(number: int, path: str = "p") -> bytes:
    return encode(_header(number, path), ledger_rows([(number, 1, "accepted")]))


@pytest.fixture
def config(kafka: Kafka) -> KafkaConfig:
    """A prefix of its own, with its topic."""
    config = KafkaConfig(servers=(kafka.bootstrap,), prefix=f"sink{next(_prefixes)}")
    client.create_topics(config, [SAMPLES])
    return config


def _read(config: KafkaConfig, count: int) -> list[Record]:
    """Records until there are so many different ones."""
    consumer = KafkaConsumer(
        SAMPLES.name(config.prefix),
        **client.client_kwargs(config),
        auto_offset_reset="earliest",
        group_id=None,
    )
    found: list[Record] = []

    def enough() -> bool:
        for messages in consumer.poll(timeout_ms=200).values():
            for message in messages:
                record = decode(message.value)
                assert message.key.decode() == record.header.path
                found.append(record)
        return len({(r.header.path, r.header.number) for r in found}) >= count

    try:
        wait_until(enough, 30, f"{count} records in {config.prefix}")
    finally:
        consumer.close()
    return found


@pytest.fixture
def sink(config: KafkaConfig, tmp_path: Path) -> Iterator[KafkaSink]:
    """A sink that is running."""
    sink = KafkaSink(config, Spool(tmp_path, _PLENTY))
    sink.start()
    yield sink
    sink.close()


def test_in_order_by_path(sink: KafkaSink, config: KafkaConfig) -> None:
    """A path's records stand in one partition, in their order, and nothing is left on disk."""
    for number in range(500):
        sink.put(_record(number, f"p{number % 3}"), f"p{number % 3}")
    records = _read(config, 500)
    for path in ("p0", "p1", "p2"):
        numbers = [record.header.number for record in records if record.header.path == path]
        assert numbers == sorted(numbers)
        assert len(numbers) in {166, 167}
    wait_until(lambda: sink.delivered == 500, 10, "all to be acknowledged")
    assert sink.problem is None


def test_too_large_record(kafka: Kafka, tmp_path: Path) -> None:
    """A record that Kafka refuses blocks nothing; it is counted, and declared as a gap."""
    config = KafkaConfig(servers=(kafka.bootstrap,), prefix=f"sink{next(_prefixes)}")
    _make_topic(config, {"max.message.bytes": "20000"})
    sink = KafkaSink(config, Spool(tmp_path, _PLENTY))
    sink.start()
    sink.put(_record(0), "p")
    chance = random.Random(1)  # noqa: S311 -- what cannot be compressed
    runs, first = [], 0
    for _ in range(5_000):
        runs.append((first, length := chance.getrandbits(40) + 1, "accepted"))
        first += length
    sink.put(encode(_header(1), ledger_rows(runs)), "p")
    sink.put(_record(2), "p")
    assert list(dict.fromkeys(record.header.number for record in _read(config, 2))) == [0, 2]
    wait_until(lambda: sink.dropped_seconds["too_large"] == 1, 10, "the count of what was given up")
    end = (_START + 2) * SECOND_NS
    assert sink.gaps("p", "sender", "s-0", "00000000000000aa") == (Gap(1, 1, _START * SECOND_NS, end),)
    assert sink.gaps("p", "sender", "s-0", "00000000000000aa") == ()
    sink.close()


def _make_topic(config: KafkaConfig, settings: dict[str, str]) -> None:
    admin = KafkaAdminClient(**client.client_kwargs(config))
    name = SAMPLES.name(config.prefix)
    admin.create_topics(
        {name: {"num_partitions": 1, "replication_factor": 1, "configs": settings}}, wait_for_metadata=True
    )
    admin.close()


def test_missing_topic_is_waited_for(kafka: Kafka, tmp_path: Path) -> None:
    """Records wait until somebody makes the topic."""
    config = KafkaConfig(servers=(kafka.bootstrap,), prefix=f"sink{next(_prefixes)}")
    sink = KafkaSink(config, Spool(tmp_path, _PLENTY))
    sink.start()
    sink.put(_record(0), "p")
    wait_until(lambda: sink.problem not in {None, "not connected to Kafka yet"}, 30, "the problem to be told")
    assert client.create_topics(config, [SAMPLES]) == [SAMPLES.name(config.prefix)]
    assert client.create_topics(config, [SAMPLES]) == []
    assert len(_read(config, 1)) == 1
    sink.close()


_VICTIM = """
import os, signal, sys, time
from pathlib import Path
sys.path[:0] = {path!r}
from collectors.config.model import Kafka
from collectors.kafka.sink import KafkaSink
from collectors.kafka.spool import Spool
sys.path.insert(0, {here!r})
sink = KafkaSink(Kafka(servers=({server!r},), prefix={prefix!r}), Spool(Path(sys.argv[1]), 1 << 30))
sink.start()
records = eval(sys.stdin.read())
for n, record in enumerate(records):
    sink.put(record, "p")
    if n == len(records) // 2:
        time.sleep({pause})
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("pause", [0, 1.5])
def test_killed_and_started_again(kafka: Kafka, config: KafkaConfig, tmp_path: Path, pause: float) -> None:
    """After kill -9 the next start sends the rest: nothing is missing, and repeats are the same records."""
    script = _VICTIM.format(
        path=sys.path, here=str(Path.cwd()), server=kafka.bootstrap, prefix=config.prefix, pause=pause
    )
    records = [_record(number) for number in range(40)]
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        input=repr(records).encode(),
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode == -signal.SIGKILL
    sink = KafkaSink(config, Spool(tmp_path, _PLENTY))
    sink.start()
    sink.put(_record(40), "p")
    found = _read(config, 41)
    sink.close()
    firsts = list(dict.fromkeys(record.header.number for record in found))
    assert firsts == list(range(41))


def test_kafka_away_and_back(kafka: Kafka, config: KafkaConfig, tmp_path: Path) -> None:
    """While Kafka is away records wait on disk, the oldest beyond the bound go, the rest comes in order."""
    spool = Spool(tmp_path / "spool", 3 << 20)
    sink = KafkaSink(config, spool)
    big = ledger_rows([(n << 33, 1 << 32, "accepted") for n in range(16_000)])  # wide numbers
    os.kill(kafka.process.pid, signal.SIGSTOP)
    try:
        sink.start()
        for number in range(20):
            sink.put(encode(_header(number), big), "p")
        assert spool.waiting_bytes <= 3 << 20
        (gap,) = sink.gaps("p", "sender", "s-0", "00000000000000aa")
        assert (gap.first, gap.from_ns) == (0, _START * SECOND_NS)
        assert gap.to_ns == (_START + gap.last + 1) * SECOND_NS
        assert sink.dropped_seconds["full"] == gap.last + 1
        assert gap.last < 19 - 4
    finally:
        os.kill(kafka.process.pid, signal.SIGCONT)
    numbers = [record.header.number for record in _read(config, 19 - gap.last)]
    assert list(dict.fromkeys(numbers)) == list(range(gap.last + 1, 20))
    sink.close()


def test_files_that_are_gone_are_told_and_counted(config: KafkaConfig, tmp_path: Path) -> None:
    """What was in them is lost: the sink is not ready; what comes afterwards goes to Kafka."""
    spool = Spool(tmp_path / "spool", _PLENTY)
    spool.put("p", _record(0))
    shutil.rmtree(tmp_path / "spool")
    sink = KafkaSink(config, spool)
    sink.start()
    wait_until(lambda: sink.dropped_seconds["damaged"] == 1, 30, "the count of files that are gone")
    assert sink.not_ready() == "records are lost: files of the spool are damaged or gone"
    (tmp_path / "spool").mkdir()
    wait_until(
        lambda: sink.put(_record(1), "p") or sink.delivered,
        30,
        "a record to come to Kafka",
        every_seconds=0.5,
    )
    sink.close()


def test_a_spool_that_cannot_be_read_now(
    config: KafkaConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost by it, and it is told."""
    sink = KafkaSink(config, Spool(tmp_path, _PLENTY))
    with monkeypatch.context() as patch:
        fail = OSError(errno.EMFILE, "Too many open files", str(tmp_path))
        patch.setattr(Path, "open", Mock(side_effect=fail))
        sink.put(_record(0), "p")
        sink.start()
        wait_until(lambda: "cannot be read there" in str(sink.problem), 30, "the spool's trouble to be told")
    wait_until(lambda: sink.delivered == 1, 30, "the record to come to Kafka")
    assert sink.dropped_seconds["damaged"] == 0
    sink.close()
