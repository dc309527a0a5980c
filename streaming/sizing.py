"""What a deployment needs, computed from what the benchmark measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

SAMPLE_BYTES: Final = 20  # of a sample in a record
RECORD_BYTES: Final = 1_170  # of a record beside its samples
RECORDS_A_SECOND: Final = 2  # of a path: its samples and its ledger
DAY_SECONDS: Final = 86_400
LEAST_PARTITIONS: Final = 12


@dataclass(frozen=True, slots=True)
class Costs:
    """Cores that a steady load takes, at a trigger of one second; `make bench NAME=streaming` fits them."""

    fixed: float
    path: float
    sample: float  # a second
    use: float = 0.6  # of its cores that a job may need: the rest is for catching up


@dataclass(frozen=True, slots=True)
class Need:
    """Rounded up; bytes are of one copy."""

    cores: int
    kafka_partitions: int
    kafka_bytes_a_second: int
    samples_topic_bytes: int  # with its 24 hours
    windows_a_day: int


# The figures, and on what they were taken, stand in BENCHMARKS.md.
MEASURED: Final = Costs(fixed=0.36, path=0.00051, sample=0.0000015)


def need(paths: int, rate: float, *, window_seconds: float, costs: Costs = MEASURED) -> Need:
    """Returns what so many paths need with `rate` messages a second each."""
    samples = paths * rate
    wanted = cores(paths, samples, costs)
    bytes_a_second = int(samples * SAMPLE_BYTES + paths * RECORDS_A_SECOND * RECORD_BYTES)
    return Need(
        cores=wanted,
        kafka_partitions=max(LEAST_PARTITIONS, 2 * wanted),
        kafka_bytes_a_second=bytes_a_second,
        samples_topic_bytes=bytes_a_second * DAY_SECONDS,
        windows_a_day=int(paths * DAY_SECONDS / window_seconds),
    )


def cores(paths: int, samples: float, costs: Costs = MEASURED) -> int:
    """Returns the cores for so many samples a second of all paths together, with room to catch up."""
    busy = costs.fixed + paths * costs.path + samples * costs.sample
    return max(1, math.ceil(busy / costs.use))
