"""A counter of all traffic, and several paths that it may explain something of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streaming.attribution.bounds import Weighed, weigh
from streaming.attribution.candidate import Candidate
from streaming.attribution.episodes import Episode
from streaming.attribution.shares import Shares


def weighed(upper: int, missing: int) -> list[Weighed]:
    """What one path wants of a way on which so many were dropped, of all traffic."""
    return weigh([Candidate("link", "A", "B", "lost", "dropped", 0, upper, "shared")], missing)


def told(upper: int, missing: list[int], *, turns: int, final: bool) -> list[int]:
    """What paths are said to have lost there after some turns, the last of which is final or not."""
    shares = Shares({})
    episodes = [Episode("loss", 0) for _ in missing]
    said: list[int] = []
    for turn in range(turns):
        said = []
        for number, (episode, count) in enumerate(zip(episodes, missing, strict=True)):
            episode.final = final and turn == turns - 1
            found = weighed(upper, count)
            shares.divide(f"path {number}", episode, found)
            said.append(sum(one.said for one in found))
    return said


@given(st.integers(1, 500), st.lists(st.integers(1, 300), min_size=1, max_size=6))
def test_together_they_are_told_no_more_than_was_counted(upper: int, missing: list[int]) -> None:
    """And no path more than it misses; once all have been looked at."""
    said = told(upper, missing, turns=3, final=True)
    assert sum(said) <= upper
    assert all(one <= count for one, count in zip(said, missing, strict=True))


def test_equal_paths_have_equal_shares() -> None:
    """138 were dropped of both; each misses 124 there."""
    assert told(138, [124, 124], turns=2, final=True) == [69, 69]


def test_what_is_enough_for_all_is_not_divided() -> None:
    """Each is told what it misses."""
    assert told(500, [124, 124], turns=2, final=True) == [124, 124]


def test_another_time_is_another_share() -> None:
    """What was dropped in one episode says nothing of the next."""
    shares = Shares({})
    first, later = Episode("loss", 0, final=True), Episode("loss", 300_000_000_000, final=True)
    for path, episode in (("one", first), ("other", later)):
        found = weighed(100, 80)
        shares.divide(path, episode, found)
        assert [one.said for one in found] == [80]


def test_old_shares_are_forgotten() -> None:
    """Else each hop that ever dropped something would be kept."""
    kept: dict[str, dict[str, list[int]]] = {}
    shares = Shares(kept)
    shares.divide("one", Episode("loss", 5), weighed(100, 80))
    shares.forget(5)
    assert len(kept) == 1
    shares.forget(6)
    assert kept == {}
