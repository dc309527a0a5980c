"""Which windows belong together, and which of them keeps its name."""

from __future__ import annotations

import pytest

from streaming.attribution.episodes import CUT_NS, Episode, regroup, stretches
from streaming.attribution.path_windows import PathWindows, Window

S = 1_000_000_000
LENGTH = 5 * S


def found(bad: list[int], newest: int, *, ended: bool = False) -> list[tuple[list[int], bool, bool]]:
    """Stretches, by numbers of windows."""
    told = stretches([LENGTH * n for n in bad], LENGTH, LENGTH * newest, ended=ended)
    return [([start // LENGTH for start in one.starts], one.open, one.continued) for one in told]


@pytest.mark.parametrize(
    ("bad", "newest", "expected"),
    [
        ([], 9, []),
        ([3], 3, [([3], True, False)]),
        ([3], 4, [([3], True, False)]),
        ([3], 5, [([3], False, False)]),
        ([3, 5], 5, [([3, 5], True, False)]),
        ([3, 6], 6, [([3], False, False), ([6], True, False)]),
    ],
)
def test_one_window_bridges_and_two_end(
    bad: list[int], newest: int, expected: list[tuple[list[int], bool, bool]]
) -> None:
    """One clean or unobserved window between two bad ones does not end an episode."""
    assert found(bad, newest) == expected


def test_it_is_cut_after_ten_minutes() -> None:
    """What goes on is another one, and the first says so."""
    windows = CUT_NS // LENGTH
    told = found(list(range(windows + 3)), windows + 2)
    assert [len(starts) for starts, _, _ in told] == [windows, 3]
    assert [continued for _, _, continued in told] == [True, False]


def test_it_ends_with_the_path() -> None:
    """By its end, or as nothing is heard of it."""
    assert found([3], 3, ended=True) == [([3], False, False)]


def path(missing: dict[int, int], newest: int) -> PathWindows:
    windows = {
        LENGTH * n: Window(0, 100, lost={"presettled": missing[n]} if missing.get(n) else {})
        for n in range(newest + 1)
    }
    return PathWindows(window_ns=LENGTH, windows=windows)


def regrouped(known: list[Episode], missing: dict[int, int], newest: int) -> list[Episode]:
    return regroup(known, "loss", [LENGTH * n for n in missing], path(missing, newest), ended=False)


def test_a_revision_never_changes_the_name() -> None:
    """The window that was bad first turns out to be clean: the episode keeps its name."""
    (first,) = regrouped([], {3: 5, 4: 2}, 5)
    (again,) = regrouped([first], {4: 2}, 6)
    assert again is first
    assert again.first_ns == 3 * LENGTH
    assert again.starts == [4 * LENGTH]


def test_two_that_turn_out_to_be_one_are_merged_into_the_first() -> None:
    """A window between them was revised and is bad now."""
    one, other = regrouped([], {3: 5, 6: 2}, 8)
    told = regrouped([one, other], {3: 5, 4: 1, 6: 2}, 9)
    assert {each.first_ns: each.merged_into for each in told} == {3 * LENGTH: 0, 6 * LENGTH: 3 * LENGTH}
    assert one.starts == [3 * LENGTH, 4 * LENGTH, 6 * LENGTH]


def test_one_that_was_revised_away_stays_with_nothing() -> None:
    """Its row is told once more, with sums of 0."""
    (first,) = regrouped([], {3: 5}, 8)
    first.changed = False
    (again,) = regrouped([first], {}, 9)
    assert again is first
    assert (again.starts, again.changed) == ([], True)


def test_one_whose_windows_are_forgotten_stays_as_it_was() -> None:
    """The horizon of what is kept goes over it."""
    (first,) = regrouped([], {3: 5}, 8)
    later = path({}, 20)
    for n in range(10):
        del later.windows[LENGTH * n]
    first.changed = False
    (again,) = regroup([first], "loss", [], later, ended=False)
    assert (again.starts, again.changed) == ([3 * LENGTH], False)
