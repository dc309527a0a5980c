"""The whole of one group of meshes: takes in what comes, and tells which hop."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.events import Event
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import Topic
from collectors.contract.window_rows import LiveRow, WindowRow
from streaming.attribution import state_codec
from streaming.attribution.clocks import check_stamp
from streaming.attribution.episodes import Episode, regroup
from streaming.attribution.network import Network
from streaming.attribution.path_windows import PathWindows
from streaming.attribution.places import Place
from streaming.attribution.shares import Shared
from streaming.attribution.slow import Slowness
from streaming.attribution.verdict import Judge

KEEP_NS: Final = 1_200_000_000_000  # the horizon of revisions, and what may still settle then
EPISODES_KEEP_NS: Final = 3_600_000_000_000
SILENT_NS: Final = 300_000_000_000  # a path without rows for so long has ended
MOST_PATHS: Final = 10_000
MOST_EVENTS: Final = 1_000


@dataclass(slots=True)
class PathState:
    """A path's windows and episodes."""

    windows: PathWindows = field(default_factory=PathWindows)
    episodes: list[Episode] = field(default_factory=list)
    changed: bool = True


@dataclass(slots=True)
class State:
    """All that outlives a restart."""

    network: Network = field(default_factory=Network)
    paths: dict[str, PathState] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    shared: Shared = field(default_factory=dict)
    now_ns: int = 0


class Attribution:
    """State of a group. Feed in any order; `turn` gives the rows that are new or revised since the last one.

    Nothing here knows a clock: `now_ns` is the newest append time (in Spark) or the wall clock (in process);
    whoever feeds tells it by `reach`.
    """

    def __init__(self, places: Mapping[str, Place], state: bytes | None = None) -> None:
        """Raises StateError (a ValueError) where the state is of a newer version or damaged."""
        self._places = places
        self._state: State = State() if state is None else state_codec.decode(State, state)
        self._judge = Judge(self._state.network, self._state.events, self._state.shared)
        self._slowness = Slowness(self._state.network)

    def reach(self, now_ns: int) -> None:
        """Let time go on: what is fed next came now."""
        self._state.now_ns = max(self._state.now_ns, now_ns)

    def feed_window(self, row: WindowRow) -> None:
        """Take in a final row or a revision of one; raises ValueError where its time is far ahead."""
        check_stamp(row["window_start_ns"], self._state.now_ns)
        path = self._path(row["path"])
        path.changed |= path.windows.take(row, self._state.now_ns)

    def feed_live(self, row: LiveRow) -> None:
        """Take in what is known now of a path; raises ValueError where its time is far ahead."""
        check_stamp(max(row["at_ns"], row["oldest_pending_ns"] or 0), self._state.now_ns)
        self._path(row["path"]).windows.take_live(row, self._state.now_ns)

    def feed_poll(self, topic: Topic, record: Telemetry) -> None:
        """Take a record of `inflight.router` or `inflight.broker`; raises ValueError for any other."""
        check_stamp(max(record.at_ns, record.asked_ns, record.answered_ns), self._state.now_ns)
        self._state.network.take(topic, record, self._state.now_ns)

    def feed_event(self, event: Event) -> None:
        """Take in what was done on purpose: it is named as evidence."""
        self._state.events.append(event)
        del self._state.events[:-MOST_EVENTS]

    def turn(self, now_ns: int) -> list[AttributionRow]:
        """Return new rows and revisions; forget what is too old to matter."""
        state = self._state
        self.reach(now_ns)
        rows: list[AttributionRow] = []
        self._judge.sharing = self._sharing()
        for name, path in state.paths.items():
            place = self._places.get(name) or _unknown(path.windows)
            self._group(path, place)
            made = [self._judge.row(name, path.windows, place, each, state.now_ns) for each in path.episodes]
            rows += [row for row in made if row is not None]
        self._forget()
        return rows

    def encode(self) -> bytes:
        """Return the state as bytes, for a restart."""
        return state_codec.encode(self._state)

    def _path(self, name: str) -> PathState:
        found = self._state.paths.get(name)
        if found is None:
            if len(self._state.paths) >= MOST_PATHS:
                raise ValueError(f"{MOST_PATHS} paths of a group are the most that are looked at")
            found = self._state.paths[name] = PathState()
        return found

    def _sharing(self) -> frozenset[str]:
        """Return the paths whose links to end points are another path's, too: nothing is theirs alone."""
        by_address: dict[str, list[str]] = {}
        for name in self._state.paths:
            place = self._places.get(name)
            if place is not None:
                by_address.setdefault(place.address, []).append(name)
        found: set[str] = set()
        for names in by_address.values():
            for one, other in itertools.combinations(names, 2):
                multicast = self._places[one].multicast and self._places[other].multicast
                apart = not {*self._peers(one)} & {*self._peers(other)}
                if not (multicast and apart):
                    found |= {one, other}
        return frozenset(found)

    def _peers(self, path: str) -> list[str]:
        return self._state.paths[path].windows.receiver_peers

    def _group(self, path: PathState, place: Place) -> None:
        """Find the path's episodes anew from its windows, and what live rows suspect."""
        windows, now_ns = path.windows, self._state.now_ns
        if not windows.window_ns:
            return
        silent = bool(windows.heard_ns) and now_ns - windows.heard_ns > SILENT_NS
        open_before = any(episode.open for episode in path.episodes)
        if path.changed or (silent and open_before):
            bad = (start for start, window in windows.windows.items() if window.missing)
            path.episodes = regroup(path.episodes, "loss", bad, windows, ended=silent)
        path.episodes = self._slowness.group(
            path.episodes, windows, place, now_ns=now_ns, changed=path.changed, ended=silent and open_before
        )
        path.changed = False
        self._suspect(path)

    def _suspect(self, path: PathState) -> None:
        """Open an episode for what may be missing; it becomes one with the windows that say what was."""
        windows = path.windows
        newest_ns = max(windows.windows, default=0)
        loss = [episode for episode in path.episodes if episode.kind == "loss" and not episode.merged_into]
        if windows.suspect and windows.oldest_pending_ns:
            start_ns = windows.oldest_pending_ns - windows.oldest_pending_ns % windows.window_ns
            near = [
                each
                for each in loss
                if each.open
                and (each.starts or each.suspected_ns)
                and (each.starts or [each.first_ns])[-1] < start_ns
            ]
            if not near and not any(each.suspected_ns or start_ns in each.starts for each in loss):
                path.episodes.append(Episode("loss", start_ns, suspected_ns=start_ns))
                path.episodes.sort(key=lambda episode: episode.first_ns)
        for episode in loss:
            told = newest_ns - episode.first_ns > 3 * windows.window_ns
            if episode.suspected_ns and not episode.starts and told and not windows.suspect:
                episode.suspected_ns, episode.open, episode.changed = 0, False, True

    def _forget(self) -> None:
        state = self._state
        before_ns = state.now_ns - KEEP_NS
        state.network.forget(before_ns)
        self._judge.shares.forget(state.now_ns - EPISODES_KEEP_NS)
        for name in list(state.paths):
            path = state.paths[name]
            path.windows.forget(before_ns)
            path.episodes = [
                episode
                for episode in path.episodes
                if episode.open or episode.first_ns > state.now_ns - EPISODES_KEEP_NS
            ]
            quiet_ns = state.now_ns - path.windows.heard_ns
            if not path.windows.windows and not path.episodes and quiet_ns > 24 * EPISODES_KEEP_NS:
                del state.paths[name]


def _unknown(windows: PathWindows) -> Place:
    """Return the place of a path that no config names: what its rows say."""
    return Place(
        windows.mesh,
        (windows.mesh,),
        windows.address,
        windows.address,
        presettled=windows.presettled,
        window_ns=windows.window_ns,
    )
