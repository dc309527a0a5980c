"""How paths are spread over shards, and shards over the partitions of Spark's state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

DEFAULT_SHARDS: Final = 8
MAX_SHARDS: Final = 4096
_SPARK_SEED: Final = 42
_MASK: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Layout:
    """Fixed with a checkpoint: another number of either needs a new one, rebuilt from Kafka."""

    shards: int
    partitions: int

    def __post_init__(self) -> None:
        if not 1 <= self.partitions <= self.shards <= MAX_SHARDS:
            raise ValueError(
                f"{self.shards} shards over {self.partitions} state partitions: give 1 to {MAX_SHARDS} "
                "shards, and at most as many state partitions"
            )

    def numbers(self) -> Sequence[int]:
        """The shards' numbers: Spark's hash sends each partition as many of them as any other, or one less.

        [Of the numbers 0..7, two state partitions get 5 and 3.]
        """
        wanted = [shard % self.partitions for shard in range(self.shards)]
        found: list[int] = []
        next_number = [0] * self.partitions
        for partition in wanted:
            number = next_number[partition]
            while spark_partition(number, self.partitions) != partition:
                number += 1
            found.append(number)
            next_number[partition] = number + 1
        return found


def spark_partition(number: int, partitions: int) -> int:
    """Where Spark's HashPartitioning sends a key that is one 32-bit integer: Murmur3, then pmod."""
    k = _rotate(number * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    h = (_rotate(_SPARK_SEED ^ k, 13) * 5 + 0xE6546B64) & _MASK
    h ^= 4  # bytes
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    signed = h - (1 << 32) if h & 0x80000000 else h
    return signed % partitions


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK
