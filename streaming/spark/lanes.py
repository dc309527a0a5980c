"""How a job is spread: Kafka's partitions over lanes, the paths of a lane over shards.

A lane is a query of its own with one task: what it reads goes to Python without a shuffle, and no lane waits
for another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_LANES: Final = 256
SHARDS: Final = 4  # of a lane: they take their snapshots in different batches


@dataclass(frozen=True, slots=True)
class Layout:
    """Fixed with a checkpoint: another layout needs a new one, which is rebuilt from Kafka."""

    lanes: int
    partitions: int  # of the samples topic
    shards: int = SHARDS  # of each lane

    def __post_init__(self) -> None:
        if not 1 <= self.lanes <= min(self.partitions, MAX_LANES):
            raise ValueError(
                f"{self.lanes} lanes over {self.partitions} partitions of the samples topic: give 1 to "
                f"{min(self.partitions, MAX_LANES)} lanes"
            )

    def partitions_of(self, lane: int) -> list[int]:
        """Returns those that the lane reads; a path's records are in one partition, and so in one lane."""
        return list(range(lane, self.partitions, self.lanes))
