"""Stretches of time: joined where they touch, and where they are too many."""

from __future__ import annotations

from streaming.accounting import spans


def test_what_touches_is_joined_and_what_is_empty_is_left_out() -> None:
    """In any order."""
    found = [(10, 20)]
    spans.add(found, [(30, 40), (20, 25), (50, 50), (5, 11)], 10)
    assert found == [(5, 25), (30, 40)]


def test_beyond_the_limit_the_closest_neighbours_become_one() -> None:
    """All at once, as one after the other: a record may tell of a thousand."""
    found = [(0, 1), (10, 11), (13, 14)]
    spans.add(found, [(30, 31), (32, 33), (60, 61)], 3)
    assert found == [(0, 14), (30, 33), (60, 61)]


def test_nothing_new_leaves_all_as_it_was() -> None:
    """Also what is over the limit."""
    found = [(0, 1), (10, 11)]
    spans.add(found, [], 1)
    assert found == [(0, 1), (10, 11)]
