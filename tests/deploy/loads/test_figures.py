"""Figures of a run from its rows, against all values put together by hand."""

from __future__ import annotations

import io
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_rows import LENGTH, window

from collectors.contract.window_rows import WindowRow, encode
from deploy.loads.figures import figures_of
from deploy.loads.rows import Rows

VALUES = st.lists(st.integers(0, 10**10), max_size=40)
PARTS = st.lists(st.tuples(st.sampled_from(["p", "q"]), st.integers(0, 4), VALUES), max_size=10)


def rows_of(parts: list[tuple[str, int, list[int]]]) -> list[WindowRow]:
    """One row for each path and number: the last of several counts."""
    last = {(path, number): values for path, number, values in parts}
    return [
        window(path, number, values_ns=values, lost=number, refused=1)
        for (path, number), values in last.items()
    ]


@given(parts=PARTS, seed=st.integers(0, 1 << 32))
def test_the_order_of_rows_changes_nothing(parts: list[tuple[str, int, list[int]]], seed: int) -> None:
    rows = rows_of(parts)
    shuffled = list(rows)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 -- no secret
    assert figures_of(shuffled) == figures_of(rows)


@given(parts=PARTS)
def test_counts_add_up_and_percentiles_are_of_all_values(
    parts: list[tuple[str, int, list[int]]],
) -> None:
    rows = rows_of(parts)
    found = figures_of(rows)["all"]
    values = sorted(v for values in {(p, n): v for p, n, v in parts}.values() for v in values)
    assert found["received"] == len(values)
    assert found["sent"] == sum(row["sent"] for row in rows)
    assert found["lost"] == sum(found["series"]["lost"])
    assert found["received"] == sum(found["series"]["received"])
    if values:
        assert found["max_ns"] == values[-1]
    if len(values) >= 2:
        exact = values[len(values) - len(values) // 2 - 1]  # rank count − ⌊count × (1 − q)⌋
        assert exact <= found["p50_ns"] <= exact + exact // 1024 + 1
    if len(values) < 100:
        assert found["p99_ns"] is None  # too few to say


def test_a_rate_is_of_whole_windows() -> None:
    """The first and the last window that were sent in are cut by begin and end."""
    received = [0, 10, 500, 500, 20, 0]
    rows = [window("p", n, values_ns=[1] * count, due=count) for n, count in enumerate(received)]
    found = figures_of(rows)["p"]
    assert found["rate_per_second"] == 500 * 1e9 / LENGTH
    assert found["asked_per_second"] == 500 * 1e9 / LENGTH
    assert found["received"] == 1030


def test_what_nobody_watched_is_no_loss() -> None:
    """The share of loss is of messages of which is known what became of them."""
    rows = [window("p", 0, values_ns=[1] * 90, lost=10, unobserved=100)]
    assert figures_of(rows)["p"]["lost_share"] == 0.1


def test_as_fast_as_it_goes_asks_for_no_rate() -> None:
    rows = [window("p", 0), window("q", 0)]
    found = figures_of(rows, frozenset({"p"}))
    assert found["p"]["asked_per_second"] is None
    assert found["q"]["asked_per_second"] is not None
    assert found["all"]["asked_per_second"] is None


def test_nothing_at_all_has_figures_too() -> None:
    found: dict[str, Any] = figures_of([])["all"]
    assert (found["sent"], found["rate_per_second"], found["p50_ns"]) == (0, 0.0, None)


@pytest.mark.parametrize("path", ["p", "q"])
def test_the_last_revision_of_a_window_counts(path: str) -> None:
    """Rows are kept in a file, all of them; figures are of the newest of each."""
    file = io.BytesIO()
    kept = Rows(file)
    first = window(path, 0, values_ns=[1] * 5, lost=5)
    second = window(path, 0, values_ns=[1] * 10, lost=0, revision=1)
    kept.add([encode(first), encode(window(path, 1, values_ns=[7])), encode(second)])
    found = kept.figures(frozenset())[path]
    assert (found["received"], found["lost"], found["windows"]) == (11, 0, 2)
    assert file.getvalue().count(b"\n") == 3
