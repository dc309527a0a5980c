"""The windows of one path, as its rows told them, and the ends that it has now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from collectors.contract.window_rows import LiveRow, WindowRow
from streaming.attribution.clocks import Lateness
from streaming.attribution.normal import Normal

MOST_WINDOWS: Final = 2_048
MOST_ROUTES: Final = 64
# Of what is slow: the first of these that a window gives. p95 is there from 20 messages on.
PERCENTILES: Final = ("95", "90", "50")
# Flags that make the sums doubtful, and not only incomplete.
DOUBTFUL: Final = frozenset({"dead_letters", "ledger_incomplete", "members_missing", "unexpected"})


@dataclass(slots=True)
class Window:
    """What a window's newest row told."""

    revision: int
    sent: int
    lost: dict[str, int] = field(default_factory=dict)  # by accepted, presettled, unsettled
    refused: dict[str, int] = field(default_factory=dict)  # by rejected, released, modified
    unobserved: int = 0
    unsent: int = 0
    beside: int = 0  # messages that hops may have counted, and that are not missing
    unsure: bool = False  # its sums are doubtful
    percentile: str = ""
    slow_ns: int = 0
    sent_late_ns: int = 0  # of that: from when it was due until it was sent
    slow: bool = False  # by what was normal when it came

    @property
    def missing(self) -> int:
        return sum(self.lost.values()) + sum(self.refused.values())


@dataclass(slots=True)
class PathWindows:
    """Windows by their start. Windows of another length begin the path anew."""

    mesh: str = ""
    address: str = ""
    presettled: bool = False
    window_ns: int = 0
    windows: dict[int, Window] = field(default_factory=dict)
    first_ns: int = 0  # of the first window ever told
    routes: dict[str, int] = field(default_factory=dict)  # when each was seen last
    normal: Normal = field(default_factory=Normal)
    judged_ns: int = 0  # windows until then were held against what is normal
    heard_ns: int = 0
    lateness: Lateness = field(default_factory=Lateness)  # of its probes' clocks
    live_slow_ns: int = 0  # of the newest window, until now
    waits: list[tuple[int, dict[str, tuple[str, int]]]] = field(
        default_factory=list
    )  # when, where and how long
    suspect: int = 0
    oldest_pending_ns: int = 0
    sender_peers: list[str] = field(default_factory=list)
    receiver_peers: list[str] = field(default_factory=list)

    def take(self, row: WindowRow, now_ns: int) -> bool:
        """Take in a row; returns whether it changed anything."""
        if row["window_ns"] != self.window_ns:
            self.windows.clear()
            self.window_ns, self.first_ns = row["window_ns"], row["window_start_ns"]
        self.mesh, self.address, self.presettled = row["mesh"], row["address"], row["presettled"]
        start_ns = row["window_start_ns"]
        known = self.windows.get(start_ns)
        if known is not None and known.revision >= row["revision"]:
            return False
        self.heard_ns = max(self.heard_ns, now_ns)
        self.first_ns = min(self.first_ns or start_ns, start_ns)
        self.windows[start_ns] = _window(row)
        for route in row["routes"]:
            if route in self.routes or len(self.routes) < MOST_ROUTES:
                self.routes[route] = max(start_ns, self.routes.get(route, 0))
        if len(self.windows) > MOST_WINDOWS:
            del self.windows[min(self.windows)]
        return True

    def take_live(self, row: LiveRow, now_ns: int) -> None:
        """Take in a live row: what may be missing, and where the ends are attached."""
        if row["appended_ns"]:
            self.lateness.take(row["at_ns"], row["appended_ns"])
        self.heard_ns = max(self.heard_ns, now_ns)
        self.suspect = row["suspect"]
        self.live_slow_ns = _slow_of(row["response"])[1]
        self.oldest_pending_ns = row["oldest_pending_ns"] or 0
        if not self.window_ns:
            self.window_ns = row["window_ns"]
            self.mesh, self.address, self.presettled = row["mesh"], row["address"], row["presettled"]
        peers: dict[str, list[str]] = {"sender": [], "receiver": []}
        for end in row["ends"]:
            if end["peer"] and end["peer"] not in peers[end["role"]]:
                peers[end["role"]].append(end["peer"])
        # An end that is detached is still of the router where it was.
        self.sender_peers = peers["sender"] or self.sender_peers
        self.receiver_peers = peers["receiver"] or self.receiver_peers

    def between(self, from_ns: int, to_ns: int) -> list[Window] | None:
        """Return the windows that meet this time; None where one of them is not known."""
        length = self.window_ns
        first = max(from_ns - from_ns % length, self.first_ns)
        found = [self.windows.get(start) for start in range(first, to_ns, length)]
        return None if None in found else [window for window in found if window is not None]

    def forget(self, before_ns: int) -> None:
        """Drop windows and ways of before this time."""
        for start in [start for start in self.windows if start < before_ns]:
            del self.windows[start]
        for route in [route for route, seen_ns in self.routes.items() if seen_ns < before_ns]:
            del self.routes[route]


def _window(row: WindowRow) -> Window:
    percentile, slow_ns = _slow_of(row["response"]["percentiles"] if row["response"] else {})
    service = row["service"]["percentiles"] if row["service"] else {}
    return Window(
        revision=row["revision"],
        sent=row["sent"],
        lost={reason: count for reason, count in row["lost"].items() if count},
        refused={outcome: count for outcome, count in row["refused"].items() if count},
        unobserved=row["classes"].get("unobserved", 0),
        unsent=sum(row["unsent"].values()),
        beside=row["received_though_refused"] + row["duplicate"] + row["unexpected"],
        unsure=bool(row["foreign"] or DOUBTFUL.intersection(row["flags"])),
        percentile=percentile,
        slow_ns=slow_ns,
        sent_late_ns=max(0, slow_ns - _slow_of(service)[1]) if percentile in service else 0,
    )


def _slow_of(given: Mapping[str, int]) -> tuple[str, int]:
    """Return the percentile that tells whether a window is slow, and its value."""
    percentile = next((name for name in PERCENTILES if name in given), "")
    return percentile, given.get(percentile, 0)
