"""Which runs an experiment has, and in which order: each repetition all combinations, shuffled. Pure."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Run(NamedTuple):
    """One run: its place in the order, from 1, its repetition, from 0, and the level of each factor."""

    number: int
    repetition: int
    levels: dict[str, Any]

    @property
    def folder(self) -> str:
        return f"{self.number:04}"


def combinations(factors: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return each combination of levels once; a single empty one where there are no factors."""
    return [dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())]


def runs(factors: Mapping[str, Sequence[Any]], repetitions: int, seed: int) -> list[Run]:
    """Return all runs: complete blocks one after another, within each the combinations in random order.

    What the machine does more slowly in the afternoon is so the same for all combinations.
    """
    source = random.Random(seed)  # noqa: S311 -- an order that can be repeated
    made: list[Run] = []
    for repetition in range(repetitions):
        block = combinations(factors)
        source.shuffle(block)
        made += [Run(len(made) + number, repetition, levels) for number, levels in enumerate(block, 1)]
    return made
