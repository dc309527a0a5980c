"""What a deployment needs, from what the benchmark measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

MESSAGE_BYTES: Final = 41  # of a sample in a record
RECORD_BYTES: Final = 1_100  # of a record beside its samples
RECORDS_A_SECOND: Final = 2  # of a path: its samples and its ledger
ROW_BYTES: Final = 3_000  # of a final row; its histograms grow with what they hold, up to some kB
DAY_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of one core, as `make bench NAME=streaming` found them on the machine named there."""

    batch: float  # of a batch, whatever is in it
    path_batch: float  # of each path that has data in a batch
    sample: float  # of each sample, from Kafka to windows
    use: float = 0.6  # of its cores that a job may need: the rest is for catching up


@dataclass(frozen=True, slots=True)
class Need:
    """Rounded up; bytes are of one copy."""

    cores: int
    kafka_partitions: int
    kafka_bytes_a_second: int
    samples_topic_bytes: int  # with its 24 hours
    windows_a_day: int
    archive_bytes_a_day: int


MEASURED: Final = Costs(batch=0.35, path_batch=0.0008, sample=0.0000007)


def need(
    paths: int, rate: float, *, trigger_seconds: float, window_seconds: float, costs: Costs = MEASURED
) -> Need:
    """For so many paths with so many messages a second each."""
    samples = paths * rate
    batches = 1 / trigger_seconds
    busy = batches * costs.batch + batches * paths * costs.path_batch + samples * costs.sample
    cores = max(1, math.ceil(busy / costs.use))
    bytes_a_second = int(samples * MESSAGE_BYTES + paths * RECORDS_A_SECOND * RECORD_BYTES)
    windows = int(paths * DAY_SECONDS / window_seconds)
    return Need(
        cores=cores,
        kafka_partitions=max(12, 2 * cores),
        kafka_bytes_a_second=bytes_a_second,
        samples_topic_bytes=bytes_a_second * DAY_SECONDS,
        windows_a_day=windows,
        archive_bytes_a_day=windows * ROW_BYTES // 4,  # as Parquet packs them
    )
