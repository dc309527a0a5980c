"""Counters over polls, held against a clock of events that the series never sees."""

from __future__ import annotations

from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from streaming.attribution.series import Asked, Series

MS = 1_000_000
TIMES = st.integers(0, 400).map(lambda ms: ms * MS)


def count(events: list[int], ns: int) -> int:
    """How many events there were until then."""
    return bisect_right(events, ns)


@st.composite
def watched(draw: st.DrawFn) -> tuple[list[int], Series]:
    """Events, and the series of polls that saw them at some time between asking and answering."""
    events = sorted(draw(st.lists(TIMES, max_size=60)))
    series, at_ns = Series(), 0
    for _ in range(draw(st.integers(0, 12))):
        asked_ns = at_ns + draw(st.integers(1, 60)) * MS
        seen_ns = asked_ns + draw(st.integers(0, 10)) * MS
        at_ns = seen_ns + draw(st.integers(0, 10)) * MS
        broken = draw(st.booleans()) and draw(st.booleans()) and draw(st.booleans())
        series.add(Asked(asked_ns, at_ns), (count(events, seen_ns), 0), broken=broken)
    return events, series


@given(watched(), TIMES, TIMES)
def test_what_rose_lies_between_what_polls_within_and_around_tell(
    found: tuple[list[int], Series], one_ns: int, other_ns: int
) -> None:
    """Whatever moment each poll saw between asking and being answered."""
    events, series = found
    from_ns, to_ns = sorted((one_ns, other_ns))
    true = count(events, to_ns) - count(events, from_ns)
    rise = series.rise(0, from_ns, to_ns)
    assert rise.inner <= true
    if rise.outer is not None:
        assert rise.outer >= true
        assert rise.outer <= count(events, rise.closed_ns) - count(events, rise.opened_ns)
        assert rise.opened_ns <= from_ns
        assert rise.closed_ns >= to_ns


@given(watched(), TIMES, TIMES)
def test_a_counter_that_never_rose_is_told_as_that(
    found: tuple[list[int], Series], one_ns: int, other_ns: int
) -> None:
    """The second counter stands at 0 all the time; polls of the first make stretches of it."""
    _, series = found
    from_ns, to_ns = sorted((one_ns, other_ns))
    rise = series.rise(1, from_ns, to_ns)
    assert rise.inner == 0
    assert rise.outer in {0, None}
    if not rise.closed:
        assert rise.outer is None


@given(watched(), TIMES)
def test_forgetting_changes_nothing_of_what_comes_after(
    found: tuple[list[int], Series], before_ns: int
) -> None:
    """What was told last before that time stays, as the beginning of the next difference."""
    _, series = found
    rises = [series.rise(0, before_ns + n * MS, before_ns + (n + 50) * MS) for n in range(1, 40)]
    series.forget(before_ns)
    assert [series.rise(0, before_ns + n * MS, before_ns + (n + 50) * MS) for n in range(1, 40)] == rises


def test_over_a_break_only_what_polls_within_tell_counts() -> None:
    """A counter that begins anew says nothing of what it had counted since the poll before."""
    series = Series()
    series.add(Asked(10, 11), (5,))
    series.add(Asked(20, 21), (8,))
    series.add(Asked(30, 31), (2,))  # it fell
    series.add(Asked(40, 41), (6,))
    rise = series.rise(0, 9, 45)
    assert (rise.inner, rise.outer) == (3 + 4, None)
    assert series.rise(0, 12, 19) == series.rise(0, 12, 20)
    assert series.rise(0, 12, 19).outer == 3


def test_an_entity_that_went_leaves_a_lower_bound() -> None:
    """What it counted from the last poll until it went, nobody knows."""
    series = Series()
    series.add(Asked(10, 11), (5,))
    series.add(Asked(20, 21), (9,))
    series.end(Asked(30, 31))
    rise = series.rise(0, 5, 25)
    assert (rise.inner, rise.outer) == (4, None)


def test_it_stood_still_only_where_two_polls_agree_at_each_end() -> None:
    """One poll tells what was, not that nothing moved."""
    series = Series()
    for at, value in ((10, 0), (20, 0), (30, 4), (40, 4), (50, 4)):
        series.add(Asked(at, at + 1), (value,))
    assert series.rise(0, 22, 29).still
    once = Series()
    for at, value in ((10, 0), (30, 4), (40, 4)):
        once.add(Asked(at, at + 1), (value,))
    assert not once.rise(0, 22, 29).still


def test_a_counter_stands_still_though_another_of_its_entity_moves() -> None:
    """A queue goes on adding messages while none expires."""
    series = Series()
    for at, expired in ((10, 0), (20, 0), (30, 4), (40, 4)):
        series.add(Asked(at, at + 1), (expired, at))
    assert series.rise(0, 22, 29).still
    assert not series.rise(1, 22, 29).still


def test_a_counter_that_begins_anew_did_not_stand_still() -> None:
    """The same number before and after a break is not the same count."""
    series = Series()
    for at, expired, broken in ((10, 0, False), (20, 0, False), (30, 4, False), (40, 4, True)):
        series.add(Asked(at, at + 1), (expired, at), broken=broken)
    assert not series.rise(0, 22, 29).still


def test_what_stands_is_told_by_two_polls_within_a_time() -> None:
    """As the rest of a colour asks for."""
    series = Series()
    for at, value in ((10, 3), (20, 7), (30, 7), (40, 9)):
        series.add(Asked(at, at + 1), (value,))
    assert series.standing(15, 35, polls=2) == (7,)
    assert series.standing(5, 15, polls=2) is None
    assert series.standing(5, 15, polls=1) == (3,)
    assert series.standing(41, 50, polls=1) is None
