"""What really became of each message, which the attribution is held against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .parts import Name
from .windows import PathEnds, class_at, window_of

Names = tuple[Name, ...]


@dataclass(slots=True)
class Window:
    """The fates of a window's messages: of those lost or refused by the names that are true of them.

    A message that was on its way to a router when that died was lost at the router and on the way to it:
    it has both names. One that an operator removed has none, as no counter tells of it.
    """

    sent: int = 0
    received: int = 0
    unobserved: int = 0
    lost: Counter[Names] = field(default_factory=Counter)
    refused: Counter[Names] = field(default_factory=Counter)

    def of(self, sum_: str) -> Counter[Names]:
        return self.lost if sum_ == "lost" else self.refused


@dataclass(slots=True)
class Truth:
    """By path and start of window; and what each hop took of all traffic, by cause."""

    paths: dict[str, dict[int, Window]]
    counts: Mapping[Name, int]
    undone: int  # messages that were neither received nor lost when the history ended: there are to be none

    def sums(self, path: str, windows: Iterable[int], of: str) -> Counter[Names]:
        total: Counter[Names] = Counter()
        for start in windows:
            total += self.paths[path].get(start, Window()).of(of)
        return total

    def bounds(self, path: str, windows: Iterable[int], of: str, name: Name) -> tuple[int, int]:
        """Return how many were lost or refused there for sure, and with those that may be said to be.

        What routers made for want of a way on may be said to be of what was gone then.
        """
        total = self.sums(path, windows, of)
        gone = name[1] == "gone"
        may_be = (count for names, count in total.items() if name in names or (gone and _made(names)))
        return total[(name,)], sum(may_be)

    def worst(self, path: str) -> set[Name]:
        """Return the names, each as good, of what took most of the path's messages."""
        total = self.sums(path, self.paths[path], "lost") + self.sums(path, self.paths[path], "refused")
        named: Counter[Name] = Counter()
        for names, count in total.items():
            for name in names:
                named[name] += count
        most = max(named.values(), default=0)
        return {name for name, count in named.items() if count == most}

    def died(self, path: str) -> set[Name]:
        """Return the names of what took messages of the path with it when it died."""
        total = self.sums(path, self.paths[path], "lost") + self.sums(path, self.paths[path], "refused")
        return {name for names in total for name in names if name[1] == "gone"}


def _made(names: Names) -> bool:
    """Return whether a router made it, and no link, end or queue."""
    return any(" → " not in hop and ": " not in hop for hop, _ in names)


def of_paths(paths: Iterable[PathEnds], counts: Mapping[Name, int], until_ns: int) -> Truth:
    found: dict[str, dict[int, Window]] = {}
    undone = 0
    for ends in paths:
        windows = found.setdefault(ends.path, {})
        for message in ends.sender.sent:
            window = windows.setdefault(window_of(ends, message), Window())
            window.sent += 1
            of, _ = class_at(ends, message, until_ns)
            if of == "received":
                window.received += 1
            elif of == "unobserved":
                window.unobserved += 1
            else:
                window.of(of)[message.names] += 1
                undone += not message.names and not message.purged
    return Truth(found, dict(counts), undone)
