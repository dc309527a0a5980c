"""The order of runs: complete blocks, each shuffled, the same for the same seed."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from deploy.experiment.order import Run, combinations, runs

factors = st.dictionaries(
    st.text("abc", min_size=1, max_size=3),
    st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True),
    max_size=3,
)


def levels_of(several: list[Run]) -> Counter[tuple[tuple[str, int], ...]]:
    return Counter(tuple(sorted(run.levels.items())) for run in several)


@given(factors, st.integers(1, 4), st.integers(0, 1 << 32))
def test_each_repetition_is_a_complete_block(
    wanted: dict[str, list[int]], repetitions: int, seed: int
) -> None:
    """Every combination once, before any comes again; numbers go from 1 on without a gap."""
    found = runs(wanted, repetitions, seed)
    size = 1
    for levels in wanted.values():
        size *= len(levels)
    assert [run.number for run in found] == list(range(1, size * repetitions + 1))
    for repetition in range(repetitions):
        block = found[repetition * size : (repetition + 1) * size]
        assert {run.repetition for run in block} == {repetition}
        counted = levels_of(block)
        assert len(counted) == size
        assert set(counted.values()) == {1}


@given(factors, st.integers(1, 3), st.integers(0, 1 << 32))
def test_a_seed_gives_the_same_order_again(wanted: dict[str, list[int]], repetitions: int, seed: int) -> None:
    """Resume relies on it."""
    assert runs(wanted, repetitions, seed) == runs(wanted, repetitions, seed)


def test_other_seeds_give_other_orders() -> None:
    """Of 24 orders of four levels, a hundred seeds find more than a few."""
    found = {tuple(run.levels["a"] for run in runs({"a": [1, 2, 3, 4]}, 1, seed)) for seed in range(100)}
    assert len(found) > 12


def test_blocks_of_one_experiment_differ() -> None:
    """Else the first level would always run first, on a cold machine."""
    found = runs({"a": [1, 2, 3, 4]}, 20, 0)
    blocks = {tuple(run.levels["a"] for run in found[at : at + 4]) for at in range(0, 80, 4)}
    assert len(blocks) > 5


def test_without_factors_there_is_one_combination() -> None:
    """A plan without factors is repeated as it is."""
    assert combinations({}) == [{}]
    assert [run.levels for run in runs({}, 3, 1)] == [{}, {}, {}]
