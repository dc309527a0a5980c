"""Messages that later revisions moved from one class to another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from collectors.contract.window_rows import CLASSES, NO_CLASS

# Received comes first among the classes, so nothing moves away from it.
MOVES: Final = tuple(f"{a}>{b}" for a in CLASSES if a != "received" for b in CLASSES if a != b)
RARE_MOVES: Final = tuple(f"{NO_CLASS}>{a}" for a in CLASSES) + tuple(
    f"{a}>{NO_CLASS}" for a in CLASSES if a != "received"
)


def moves_between(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return what moved between two revisions, each of which tells where revision 0's messages are now.

    What was lost at first, then unobserved, then received is `lost>unobserved` in one revision and
    `lost>received` in the next: between them it moved from unobserved to received.
    """
    found: dict[str, int] = {}
    for origin in sorted({move.partition(">")[0] for move in (*before, *after)}):
        left = _change(origin, before, after)
        gone = {name: -n for name, n in left.items() if n < 0}
        for name in (name for name, n in left.items() if n > 0):
            for source, rest in gone.items():
                moved = min(left[name], rest)
                if moved:
                    found[f"{source}>{name}"] = found.get(f"{source}>{name}", 0) + moved
                    left[name] -= moved
                    gone[source] -= moved
    return found


def _change(origin: str, before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return by class how many more of those in `origin` at revision 0 it has now; they add up to 0."""
    change = dict.fromkeys((*CLASSES, NO_CLASS), 0)
    for moves, sign in ((before, -1), (after, 1)):
        for move, count in moves.items():
            source, _, target = move.partition(">")
            if source == origin:
                change[target] = change.get(target, 0) + sign * count
                change[origin] = change.get(origin, 0) - sign * count
    return change
