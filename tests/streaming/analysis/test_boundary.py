"""The boundary of size and rate: one search for each size."""

from __future__ import annotations

import pytest
from analysis.carrying import exact

from streaming.analysis.boundary import Boundary

LINK_BITS_PER_SECOND = 20_000_000


def _play(boundary: Boundary) -> list[tuple[int, float]]:
    """Carry at most 5,000 messages and 20 Mbit a second, as a wireless network did."""
    tried = []
    while (wanted := boundary.next_trial()) is not None:
        tried.append(wanted)
        size, rate = wanted
        boundary.took(size, rate, exact(min(5_000, LINK_BITS_PER_SECOND / 8 / size))(rate))
    return tried


def test_each_size_has_its_own_interval() -> None:
    """Small messages are bound by their number, large ones by their bytes."""
    boundary = Boundary([65_536, 256, 6_144], 100)
    _play(boundary)
    edges = boundary.edges()
    assert [edge.size_bytes for edge in edges] == [256, 6_144, 65_536]
    for edge, bits in zip(edges, (10_240_000, LINK_BITS_PER_SECOND, LINK_BITS_PER_SECOND), strict=True):
        assert edge.low_bits_per_second is not None
        assert edge.high_bits_per_second is not None
        assert edge.low_bits_per_second <= bits < edge.high_bits_per_second <= edge.low_bits_per_second * 1.06


def test_a_size_begins_where_the_one_before_ended() -> None:
    """Neighbours differ little, so that each costs fewer trials."""
    boundary = Boundary([1_000, 1_100], 1)
    tried = _play(boundary)
    first = [rate for size, rate in tried if size == 1_000]
    second = [rate for size, rate in tried if size == 1_100]
    assert second[0] == boundary.edges()[0].interval.low_per_second
    assert len(second) < len(first)


def test_a_size_that_nothing_carries_does_not_hold_up_the_next() -> None:
    """Its ends are not known, and the next one begins anew."""
    boundary = Boundary([1, 2], 8, 16)
    while (wanted := boundary.next_trial()) is not None:
        boundary.took(*wanted, exact(0 if wanted[0] == 1 else 10)(wanted[1]))
    first, second = boundary.edges()
    assert first.low_bits_per_second is None
    assert second.interval.low_per_second is not None


def test_a_size_of_which_the_highest_rate_is_carried_leaves_room_for_the_next() -> None:
    """The next search begins at the lowest rate again, as there is none between."""
    boundary = Boundary([1, 2], 8, 16)
    while (wanted := boundary.next_trial()) is not None:
        boundary.took(*wanted, exact(100 if wanted[0] == 1 else 10)(wanted[1]))
    first, second = boundary.edges()
    assert (first.low_bits_per_second, first.high_bits_per_second) == (16 * 8, None)
    assert second.interval.low_per_second is not None
    assert second.interval.low_per_second <= 10


@pytest.mark.parametrize("sizes", [[], [0], list(range(1, 100))])
def test_sizes_that_make_no_boundary_are_refused(sizes: list[int]) -> None:
    """With how many there may be."""
    with pytest.raises(ValueError, match="give 1 to 64 sizes"):
        Boundary(sizes, 1)
