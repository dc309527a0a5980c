"""Final windows kept on disk while a run goes on, and the figures made of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows import LENGTH, SECOND, START, window

from collectors.contract.window_rows import encode
from deploy.experiment.windows import Decided, Windows
from deploy.loads import figures

latencies = st.lists(st.integers(1_000, 3_000_000_000), max_size=60)


def test_the_newest_revision_counts(tmp_path: Path) -> None:
    """What was lost at first, and came late, is lost no longer."""
    windows = Windows(tmp_path / "w")
    windows.add(encode(window("p", 0, values_ns=[5] * 8, lost=2)))
    windows.add(encode(window("q", 0, values_ns=[5] * 10, refused=1)))
    assert windows.decided == Decided(received=18, refused=1, lost=2)
    windows.add(encode(window("p", 1, values_ns=[5] * 4)))
    windows.add(encode(window("p", 0, values_ns=[5] * 9, lost=1, revision=1)))
    assert windows.decided == Decided(received=23, refused=1, lost=1)
    assert [(row["window_start_ns"], row["revision"]) for row in windows.rows("p")] == [
        (START, 1),
        (START + LENGTH, 0),
    ]
    assert windows.paths == ["p", "q"]


def test_only_whole_windows_are_within_a_time() -> None:
    """One that began before it, or ended after it, holds what does not belong there."""
    rows = [window("p", number) for number in range(4)]
    found = figures.within(rows, [(START + SECOND, START + 3 * LENGTH)])
    assert [row["window_start_ns"] for row in found] == [START + LENGTH, START + 2 * LENGTH]


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c"]),
        st.lists(st.tuples(latencies, st.integers(0, 5)), min_size=1, max_size=4),
        min_size=1,
    )
)
def test_figures_are_those_of_all_messages(paths: dict[str, list[tuple[list[int], int]]]) -> None:
    """Counts add up over windows and paths; percentiles are by rank, in hdrhistogram's buckets."""
    rows = {
        name: [window(name, n, values_ns=values, lost=lost) for n, (values, lost) in enumerate(windows)]
        for name, windows in paths.items()
    }
    found = figures.of_paths(rows, unbounded=["a"])
    every = [one for windows in paths.values() for one in windows]
    values = [value for arrived, _ in every for value in arrived]
    lost = sum(one for _, one in every)
    whole = found["all"]
    assert (whole["received"], whole["lost"], whole["sent"]) == (len(values), lost, len(values) + lost)
    assert whole["lost_share"] == (lost / (len(values) + lost) if values or lost else None)
    seconds = max(len(windows) for windows in paths.values()) * LENGTH / SECOND
    assert np.isclose(whole["rate_per_second"], len(values) / seconds)
    assert (whole["asked_per_second"] is None) == ("a" in paths)
    assert whole["max_ns"] == max(values, default=None)
    histogram = HdrHistogram(1, 3_600 * SECOND, 3)
    ordered = sorted(values)
    for name, over in (("p50_ns", 50), ("p90_ns", 10), ("p99_ns", 1)):
        above = len(values) * over // 100  # so many may be slower (streaming/accounting.md)
        reached = ordered[len(values) - above - 1] if above else None
        wanted = reached and min(histogram.get_highest_equivalent_value(reached), max(values))
        assert whole[name] == wanted
    assert whole["series"]["received"] == [
        sum(len(windows[n][0]) for windows in paths.values() if n < len(windows))
        for n in range(round(seconds * SECOND / LENGTH))
    ]
    assert found.keys() == {"all", *paths}


def test_rates_of_a_count_are_of_full_windows() -> None:
    """The first and the last one are not full: they count in all else."""
    counts = [3, 50, 40, 7]
    rows = {"p": [window("p", n, values_ns=[5_000] * count) for n, count in enumerate(counts)]}
    timed, counted = (figures.of_paths(rows, counted=each)["p"] for each in (False, True))
    assert timed["received"] == counted["received"] == 100
    assert timed["rate_per_second"] == 100 / (4 * LENGTH / SECOND)
    assert counted["rate_per_second"] == 90 / (2 * LENGTH / SECOND)


@given(latencies, st.integers(1_000, 3_000_000_000))
def test_what_came_in_time_is_counted(values: list[int], within_ns: int) -> None:
    """To the thousandth that a histogram tells apart; without a bound it is all that came."""
    row = window("p", 0, values_ns=values, lost=3)
    found = figures.in_time(row, within_ns)
    assert sum(value <= within_ns for value in values) <= found
    assert found <= sum(value <= within_ns * 1.001 for value in values)
    assert figures.in_time(row, None) == len(values)
