"""How a job is spread: Kafka's partitions over lanes, the paths of a lane over shards.

A lane is a query of its own with one task: what it reads goes to Python without a shuffle between, and no
lane waits for another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_LANES: Final = 256
SHARDS: Final = 4  # of a lane: not all of them take their snapshots in the same batch


@dataclass(frozen=True, slots=True)
class Layout:
    """Fixed with a checkpoint: another needs a new one, rebuilt from Kafka."""

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
        """Those that the lane reads; a path's records are in one partition, and so in one lane."""
        return list(range(lane, self.partitions, self.lanes))
