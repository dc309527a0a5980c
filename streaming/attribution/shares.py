"""Divides what a counter of all traffic rose by among the paths that it may explain something of."""

from __future__ import annotations

from typing import Final

from streaming.attribution.bounds import Weighed
from streaming.attribution.episodes import Episode
from streaming.attribution.mesh_history import APART

MEET_NS: Final = 60_000_000_000  # episodes that began within so long are of one fault
_MOST: Final = 1_024
_WANTED, _SAID, _FINAL = range(3)

# By hop, cause and sum, and by episode: what it wants, what it was said to have, whether that is final.
Shared = dict[str, dict[str, list[int]]]


class Shares:
    """Several paths are never told more over one hop together than its own count.

    Each has its share in proportion to what it wants; an episode that is not final is told anew at each turn.
    """

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def divide(self, path: str, episode: Episode, weighed: list[Weighed]) -> None:
        """Say no more than the path's share of each counter of all traffic."""
        key = f"{episode.first_ns}{APART}{path}"
        for one in weighed:
            candidate = one.candidate
            if candidate.how != "shared" or candidate.upper is None:
                continue
            told = self._shared.setdefault(APART.join((candidate.hop, candidate.cause, candidate.of)), {})
            others = [share for other, share in told.items() if _meets(other, path, episode)]
            left = candidate.upper - sum(share[_SAID] for share in others if share[_FINAL])
            wanted = one.said + sum(share[_WANTED] for share in others if not share[_FINAL])
            told[key] = [one.said, 0, episode.final]
            if wanted > left:
                one.said = max(one.lower, max(0, left) * one.said // wanted)
            told[key][_SAID] = one.said
            while len(told) > _MOST:
                del told[next(iter(told))]

    def forget(self, before_ns: int) -> None:
        """Drop what episodes were told that began before this time."""
        for name, told in list(self._shared.items()):
            for key in [key for key in told if int(key.partition(APART)[0]) < before_ns]:
                del told[key]
            if not told:
                del self._shared[name]


def _meets(told: str, path: str, episode: Episode) -> bool:
    """Return whether it is what another path was told of the same time."""
    first_ns, _, other = told.partition(APART)
    return other != path and abs(int(first_ns) - episode.first_ns) < MEET_NS
