"""What a plan that was not carried out becomes: on a real Kafka, with a checkpoint made by hand."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import bombs
import pytest
from kafka import KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from spark_job import RULES, letters

from collectors.contract.topics import DEAD_LETTERS, SAMPLES
from collectors.kafka.batches import MOST_BYTES
from streaming.spark import detour
from streaming.spark.detour import Detour
from streaming.spark.offset_log import Offsets, Plan
from streaming.spark.query import Query
from streaming.spark.settings import JobSettings, KafkaAccess

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka

pytestmark = pytest.mark.e2e

MIB = 1 << 20


class Checkpoint:
    """In place of Spark's files: where each batch ends, by partition, and which of them are done."""

    def __init__(self) -> None:
        self.ends: list[dict[int, int]] = []
        self.done = 0
        self._topic = ""

    def __call__(self, _spark: Any, _folder: str, topics: tuple[str, ...]) -> Checkpoint:
        (self._topic,) = topics
        return self

    def newest(self) -> Plan | None:
        number = len(self.ends) - 1
        if number < 0:
            return None
        start = self._offsets(number - 1) if number else None
        return Plan(number, self._offsets(number), start, done=self.done == len(self.ends))

    def put(self, number: int, ends: Offsets, like: int) -> None:
        assert like == len(self.ends) - 1
        self.ends[number:] = [{place.partition: end for place, end in ends.items()}]

    def _offsets(self, number: int) -> Offsets:
        return {TopicPartition(self._topic, partition): end for partition, end in self.ends[number].items()}


class Lane:
    """A topic, its checkpoint and what is asked before each start of its query."""

    def __init__(self, kafka: Kafka, checkpoint: Checkpoint) -> None:
        self.kafka, self.checkpoint = kafka, checkpoint
        prefix = f"detour-{uuid.uuid4().hex[:8]}"
        kafka.make_topics(prefix, [replace(SAMPLES, partitions=2), DEAD_LETTERS])
        self.settings = JobSettings(
            kafka=KafkaAccess(servers=(kafka.bootstrap,)),
            prefix=prefix,
            checkpoint="unused",
            default_rules=RULES,
        )
        self.query = Query(
            name="accounting-0", reads=(self.settings.samples_topic,), build=Mock(), trigger_ms=1
        )
        self.detour = Detour(self.settings, self.query)

    def put(self, partition: int, *batches: list[int] | int) -> None:
        """A list is a batch of values of these sizes; a number so many small ones, each a batch."""
        producer = KafkaProducer(bootstrap_servers=self.kafka.bootstrap, linger_ms=0)
        for batch in batches:
            if isinstance(batch, list):
                packed = bombs.batch(bombs.ZSTD, batch)
                assert (
                    bombs.produce(self.kafka.bootstrap, self.settings.samples_topic, partition, packed) == 0
                )
                continue
            for _ in range(batch):
                producer.send(self.settings.samples_topic, b"good", partition=partition).get(10)
        producer.close()

    def ask(self) -> tuple[bool, list[tuple[int, int, int]]]:
        """What the job is told."""
        careful, skipped = self.detour.plan(None)  # type: ignore[arg-type] # only the real files need Spark
        return careful, [(batch.place.partition, batch.first, batch.following) for batch in skipped]


@pytest.fixture
def checkpoint(monkeypatch: pytest.MonkeyPatch) -> Checkpoint:
    made = Checkpoint()
    monkeypatch.setattr(detour, "OffsetLog", made)
    return made


@pytest.fixture
def lane(kafka: Kafka, checkpoint: Checkpoint) -> Lane:
    return Lane(kafka, checkpoint)


def test_a_query_that_ended_between_two_batches_goes_on(lane: Lane, checkpoint: Checkpoint) -> None:
    """As one does that never ran."""
    assert lane.ask() == (False, [])
    lane.put(0, 5)
    lane.put(1, 7)
    checkpoint.ends, checkpoint.done = [{0: 5, 1: 7}], 1
    assert lane.ask() == (False, [])
    assert checkpoint.ends == [{0: 5, 1: 7}]


def test_a_plan_of_good_records_stands(lane: Lane, checkpoint: Checkpoint) -> None:
    """Whatever the query died of: it is run with care, and nothing is passed over."""
    lane.put(0, 4, [1000] * 50)
    lane.put(1, 3)
    checkpoint.ends = [{0: 40, 1: 3}]
    assert lane.ask() == (True, [])
    assert lane.ask() == (True, [])  # it died again
    assert checkpoint.ends == [{0: 40, 1: 3}]
    checkpoint.done = 1
    assert lane.ask() == (False, [])
    assert letters(lane.kafka.bootstrap, lane.settings.dead_letters_topic) == []


def test_what_unpacks_to_too_much_is_cut_out(lane: Lane, checkpoint: Checkpoint) -> None:
    """What is before it is done, then it is passed over and told, then what was planned behind it is done."""
    lane.put(0, 4, [900 * MIB], 3)
    lane.put(1, 2, [MIB] * 900, [100 * MIB], 5)
    checkpoint.ends, checkpoint.done = [{0: 1, 1: 1}, {0: 7, 1: 904}], 1
    assert lane.ask() == (True, [])
    assert checkpoint.ends == [{0: 1, 1: 1}, {0: 4, 1: 2}]
    checkpoint.done = 2
    assert lane.ask() == (True, [(0, 4, 5), (1, 2, 902)])
    assert checkpoint.ends == [{0: 1, 1: 1}, {0: 5, 1: 902}, {0: 7, 1: 902}]
    checkpoint.done = 3
    assert lane.ask() == (True, [(1, 902, 903)])
    assert checkpoint.ends[2:] == [{0: 7, 1: 903}, {0: 7, 1: 904}]
    checkpoint.done = 4
    assert lane.ask() == (False, [])
    told = letters(lane.kafka.bootstrap, lane.settings.dead_letters_topic)
    assert [(one["reason"], one["partition"], one["offset"]) for one in told] == [
        ("inflated", 0, 4),
        ("inflated", 1, 2),
        ("inflated", 1, 902),
    ]
    assert (
        f"{lane.settings.samples_topic}, partition 1, offsets 2 to 901: a batch of 900 records"
        in told[1]["detail"]
    )
    assert told[0]["append_ns"] > 0


def test_a_plan_that_ends_within_such_a_batch(lane: Lane, checkpoint: Checkpoint) -> None:
    """Or begins within it: all of it is passed over."""
    lane.put(0, 2, [MIB] * 100, 1)
    checkpoint.ends = [{0: 50, 1: 0}]
    assert lane.ask() == (True, [])
    assert checkpoint.ends == [{0: 2, 1: 0}]
    checkpoint.done = 1
    assert lane.ask() == (False, [(0, 2, 102)])
    assert checkpoint.ends == [{0: 102, 1: 0}]
    checkpoint.ends, checkpoint.done = [{0: 50, 1: 0}, {0: 103, 1: 0}], 1
    assert lane.ask() == (True, [])
    assert checkpoint.ends[1] == {0: 50, 1: 0}


def test_what_only_java_can_unpack(lane: Lane, checkpoint: Checkpoint) -> None:
    """It may be of any size, and Kafka takes it: it is passed over as well."""
    odd = bombs.oddly(bombs.batch(bombs.GZIP, [300 * MIB]))
    assert bombs.produce(lane.kafka.bootstrap, lane.settings.samples_topic, 0, odd) == 0
    lane.put(0, 1)
    checkpoint.ends = [{0: 2, 1: 0}]
    assert lane.ask() == (True, [])
    assert checkpoint.ends == [{0: 0, 1: 0}]
    checkpoint.done = 1
    assert lane.ask() == (True, [(0, 0, 1)])
    (told,) = letters(lane.kafka.bootstrap, lane.settings.dead_letters_topic)
    assert "a batch that does not unpack as gzip" in told["detail"]


def test_a_plan_of_too_much_is_done_in_pieces(
    lane: Lane, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of batches within the bound: all are read, but not all at once, and none is passed over."""
    monkeypatch.setattr(detour, "PIECE_BYTES", 10 * MIB)
    lane.detour = Detour(lane.settings, lane.query)
    lane.put(0, *[[3 * MIB]] * 8)
    lane.put(1, *[[3 * MIB]] * 3)
    checkpoint.ends = [{0: 8, 1: 3}]
    asked = 0
    while lane.ask() == (True, []):
        asked += 1
        checkpoint.done = len(checkpoint.ends)
    assert asked == 4  # three at a time: 9 of 10 MiB
    before = {0: 0, 1: 0}
    for ends in checkpoint.ends:
        assert 0 < sum(ends[number] - before[number] for number in ends) <= 3
        before = ends
    assert before == {0: 8, 1: 3}
    assert 3 * MIB < MOST_BYTES


def test_records_that_kafka_dropped_are_not_waited_for(lane: Lane, checkpoint: Checkpoint) -> None:
    """Nor those of a topic that was made anew, and is shorter now."""
    lane.put(0, 3)
    checkpoint.ends = [{0: 500, 1: 20}]
    assert lane.ask() == (True, [])
    assert checkpoint.ends == [{0: 500, 1: 20}]


def test_a_topic_that_was_made_anew_is_read_from_its_beginning(lane: Lane, checkpoint: Checkpoint) -> None:
    """Where it is shorter than what was read of the one before: Spark would go on behind what is there."""
    lane.put(0, 3)
    checkpoint.ends, checkpoint.done = [{0: 3, 1: 20}, {0: 3, 1: 40}], 2
    assert lane.ask() == (False, [])
    assert checkpoint.ends == [{0: 3, 1: 20}, {0: 3, 1: 0}]


def test_a_topic_that_was_made_anew_in_mid_batch(lane: Lane, checkpoint: Checkpoint) -> None:
    """The plan is done first, whatever of it is there."""
    lane.put(0, 3)
    checkpoint.ends, checkpoint.done = [{0: 5, 1: 0}, {0: 9, 1: 0}], 1
    assert lane.ask() == (True, [])
    assert checkpoint.ends == [{0: 5, 1: 0}, {0: 9, 1: 0}]
    checkpoint.done = 2
    assert lane.ask() == (False, [])
    assert checkpoint.ends == [{0: 5, 1: 0}, {0: 0, 1: 0}]


def test_a_kafka_that_does_not_answer_is_told(lane: Lane, checkpoint: Checkpoint) -> None:
    """The plan stays as it is; whoever asked tries again."""
    access = KafkaAccess(servers=("127.0.0.1:1",))
    away = Detour(replace(lane.settings, kafka=access), lane.query)
    checkpoint.ends = [{0: 1, 1: 1}]
    with pytest.raises(KafkaError):
        away.plan(None)  # type: ignore[arg-type] # the same
    assert checkpoint.ends == [{0: 1, 1: 1}]
