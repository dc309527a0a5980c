"""Which windows of a path belong together: its episodes, each with an identity that never changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from collectors.contract.attribution_rows import Kind
from streaming.attribution.path_windows import PathWindows

CUT_NS: Final = 600_000_000_000  # an episode that goes on for longer is cut, and goes on as another one
BRIDGED: Final = 1  # windows between two bad ones that do not end it
SLOW_NS: Final = 10_000_000_000  # what is over sooner is a hiccup, as of a busy host; one window is no more


@dataclass(slots=True, eq=False)
class Episode:
    """Consecutive windows with something missing, or slow. Identified by path, kind and `first_ns`."""

    kind: Kind
    first_ns: int  # when it was first told
    starts: list[int] = field(default_factory=list)  # of its windows, without those bridged
    open: bool = True
    continued: bool = False
    merged_into: int = 0
    suspected_ns: int = 0  # told by a live row, before any window was final
    revision: int = -1
    final: bool = False
    told: str = ""  # a digest of the row as it was told last, without what changes each time
    delays: dict[str, tuple[str, int]] = field(
        default_factory=dict
    )  # of a slow one: the longest, and why, by hop
    normal_ns: int = 0
    suspects: int = 0  # the most that were missing for longer than usual
    late: list[dict[str, Any]] = field(default_factory=list)  # where these were, as hops of a row
    changed: bool = True


class Stretch(NamedTuple):
    """Windows that belong together by what is known now."""

    starts: list[int]
    open: bool
    continued: bool


def regroup(
    known: list[Episode], kind: Kind, bad: Iterable[int], path: PathWindows, *, ended: bool
) -> list[Episode]:
    """Return all episodes of a path as its windows say now. Those of windows that are forgotten stay."""
    oldest_ns, newest_ns = min(path.windows, default=0), max(path.windows, default=0)
    past = [each for each in known if each.starts and each.starts[0] < oldest_ns]
    for episode in past:
        if episode.open and (ended or newest_ns - episode.starts[-1] > BRIDGED * path.window_ns):
            episode.open, episode.changed = False, True
    theirs = {start for episode in past for start in episode.starts}
    found = stretches((start for start in bad if start not in theirs), path.window_ns, newest_ns, ended=ended)
    rest = match([each for each in known if each not in past], kind, found, path.window_ns)
    return sorted([*past, *rest], key=lambda episode: episode.first_ns)


def stretches(bad: Iterable[int], length_ns: int, newest_ns: int, *, ended: bool) -> Iterator[Stretch]:
    """Group the starts of bad windows; `newest_ns` is the start of the newest window that is known."""
    current: list[int] = []
    for start in sorted(bad):
        if current and start - current[-1] > (BRIDGED + 1) * length_ns:
            yield Stretch(current, open=False, continued=False)
            current = []
        elif current and start - current[0] >= CUT_NS:
            yield Stretch(current, open=False, continued=True)
            current = []
        current.append(start)
    if current:
        closed = ended or newest_ns - current[-1] > BRIDGED * length_ns
        yield Stretch(current, open=not closed, continued=False)


def match(known: list[Episode], kind: Kind, found: Iterable[Stretch], length_ns: int) -> list[Episode]:
    """Return all episodes of the kind, old ones with what they are now.

    A stretch is the oldest episode that lies in it; the others are merged into that. One that lies in none
    any more, as its windows were revised, has no windows.
    """
    if kind == "slow":
        found = [stretch for stretch in found if _lasts(stretch, length_ns)]
    left = [episode for episode in known if episode.kind == kind and not episode.merged_into]
    rest = [episode for episode in known if episode.kind != kind or episode.merged_into]
    taken: list[Episode] = []
    for stretch in found:
        slack_ns = (BRIDGED + 1) * length_ns
        inside = [
            episode
            for episode in left
            if stretch.starts[0] - slack_ns <= episode.first_ns <= stretch.starts[-1] + slack_ns
            and (not episode.starts or episode.starts[-1] >= stretch.starts[0] - slack_ns)
        ]
        left = [episode for episode in left if episode not in inside]
        first = inside[0] if inside else Episode(kind, stretch.starts[0])
        for other in inside[1:]:
            other.merged_into, other.starts, other.open, other.changed = first.first_ns, [], False, True
            rest.append(other)
        state = (stretch.starts, stretch.open, stretch.continued)
        if state != (first.starts, first.open, first.continued):
            first.changed = True
        first.starts, first.open, first.continued = list(stretch.starts), stretch.open, stretch.continued
        first.suspected_ns = 0
        taken.append(first)
    for episode in left:
        if episode.starts:
            episode.starts, episode.open, episode.changed = [], False, True
    return sorted([*rest, *left, *taken], key=lambda episode: episode.first_ns)


def _lasts(stretch: Stretch, length_ns: int) -> bool:
    """Return whether a path was slow for long enough."""
    starts = stretch.starts
    return len(starts) > 1 and starts[-1] - starts[0] + length_ns >= SLOW_NS
