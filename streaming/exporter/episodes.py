"""The episodes of one path: the newest rows that name hops, and counters of what they explain.

A row is counted when its episode is first final. What later revisions change is counted beside, so that
counters only rise. Rows come in any order, and again; an episode is known by kind and first window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from collectors.contract import attribution_rows
from collectors.contract.attribution_rows import AttributionRow, Hop

Result = Literal["used", "repeat", "old"]
MOST_EPISODES: Final = 20
MOST_BYTES: Final = 512 << 10  # of a path's rows; one row is kept whatever its size
KEEP_NS: Final = 24 * 3_600 * 10**9
SHOWN_NS: Final = 600 * 10**9  # an episode is of now for so long after its end
MOST_HOPS: Final = 64  # hops and causes of a path that have counters of their own
OTHER: Final = "_other"
UNEXPLAINED: Final = "unexplained"
CLASSES: Final = ("lost", "refused")
_DELAYS: Final = 16  # of an episode, as series
_STOPS: Final = 24  # of its route, the same
_EACH: Final = 1_024  # bytes that an episode takes beside its row


class Key(NamedTuple):
    """What is counted apart; for what no hop explains the hop is empty."""

    of: str
    hop: str
    cause: str


class Where(NamedTuple):
    """What is shown of an episode."""

    kind: str
    sentence: str
    hop: str  # the one to look at first; empty where none is known
    hop_kind: str
    at: str
    to: str
    cause: str
    said: int
    exact: bool
    from_ns: int
    to_ns: int
    final: bool
    open: bool
    missing: int  # lost, refused and suspect
    delays: tuple[tuple[str, str, int], ...]  # hop, cause, ns
    route: tuple[tuple[str, int | None, int | None], ...]  # hop, in, out


@dataclass(slots=True)
class Episode:
    """One episode in its newest revision."""

    row: bytes
    revision: int
    merged: bool
    where: Where
    counted: dict[Key, int] | None = None  # what the counters have of it; None: it was not final yet


@dataclass(slots=True)
class Episodes:
    """A path's episodes and counters."""

    kept: dict[tuple[str, int], Episode] = field(default_factory=dict)  # by kind and first window
    dropped_ns: dict[str, int] = field(default_factory=dict)  # by kind: what is as old was forgotten
    explained: dict[Key, int] = field(default_factory=dict)
    unexplained: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))
    added: dict[Key, int] = field(default_factory=dict)  # by later revisions
    removed: dict[Key, int] = field(default_factory=dict)

    def apply(self, row: AttributionRow) -> Result:
        """Take a row once, and count it where its episode is final."""
        identity = row["kind"], row["episode_ns"]
        before = self.kept.get(identity)
        if before is None and row["episode_ns"] <= self.dropped_ns.get(row["kind"], -1):
            return "old"
        if before is not None and row["revision"] <= before.revision:
            return "repeat"
        episode = made(row)
        episode.counted = before.counted if before else None
        if episode.counted is not None or row["final"]:
            self._count(episode, self._sums(row))
        self.kept[identity] = episode
        self._drop_oldest()
        return "used"

    def forget(self, before_ns: int) -> None:
        """Forget the episodes that ended before this time."""
        for identity in [i for i, episode in self.kept.items() if episode.where.to_ns < before_ns]:
            self._drop(identity)

    def newest(self, now_ns: int, kind: str) -> Where | None:
        """Return the newest episode of a kind that is of now and says something."""
        found = (
            episode.where
            for (of, _), episode in self.kept.items()
            if of == kind and not episode.merged and episode.where.to_ns >= now_ns - SHOWN_NS
        )
        telling = (where for where in found if where.missing or kind == "slow")
        return max(telling, key=lambda where: (where.to_ns, where.from_ns), default=None)

    def rows(self) -> list[AttributionRow]:
        """Return the rows, the newest episode first."""
        ordered = sorted(self.kept.values(), key=lambda e: (e.where.from_ns, e.where.to_ns), reverse=True)
        return [attribution_rows.decode(episode.row) for episode in ordered]

    def size(self) -> int:
        """Return about how many bytes the rows take."""
        return sum(2 * len(episode.row) + _EACH for episode in self.kept.values())

    def counted_keys(self) -> set[Key]:
        """Return what has counters of its own."""
        return {*self.explained, *self.added, *self.removed}

    def _sums(self, row: AttributionRow) -> dict[Key, int]:
        """Return what is said of each hop, with those beyond the bound as one."""
        found: dict[Key, int] = {}
        known = self.counted_keys()
        for hop in row["hops"]:
            if hop["of"] in CLASSES and hop["said"]:
                key = Key(hop["of"], hop["hop"], hop["cause"])
                if key not in known and len(known) >= MOST_HOPS:
                    key = key._replace(hop=OTHER)
                known.add(key)
                found[key] = found.get(key, 0) + hop["said"]
        for of, count in (("lost", row["unexplained_lost"]), ("refused", row["unexplained_refused"])):
            found[Key(of, "", UNEXPLAINED)] = count
        return found

    def _count(self, episode: Episode, sums: dict[Key, int]) -> None:
        if episode.counted is None:
            for key, count in sums.items():
                if key.cause == UNEXPLAINED:
                    self.unexplained[key.of] += count
                else:
                    _add(self.explained, key, count)
        else:
            for key in {*sums, *episode.counted}:
                risen = sums.get(key, 0) - episode.counted.get(key, 0)
                if risen:
                    _add(self.added if risen > 0 else self.removed, key, abs(risen))
        episode.counted = sums

    def _drop_oldest(self) -> None:
        while len(self.kept) > MOST_EPISODES or (len(self.kept) > 1 and self.size() > MOST_BYTES):
            self._drop(min(self.kept, key=lambda identity: identity[1]))

    def _drop(self, identity: tuple[str, int]) -> None:
        """Forget an episode, and every older one of its kind: they would be counted again."""
        kind, episode_ns = identity
        for known in [i for i in self.kept if i[0] == kind and i[1] <= episode_ns]:
            del self.kept[known]
        self.dropped_ns[kind] = max(episode_ns, self.dropped_ns.get(kind, -1))


def weight(row: AttributionRow) -> int:
    """Return about how many bytes a row takes here."""
    return 2 * len(attribution_rows.encode(row)) + _EACH


def made(row: AttributionRow) -> Episode:
    """Return the episode of a row, with nothing counted."""
    return Episode(
        row=attribution_rows.encode(row),
        revision=row["revision"],
        merged=row["merged_into"] is not None,
        where=_where(row),
    )


def _where(row: AttributionRow) -> Where:
    hops = row["hops"]
    first: Hop | None = hops[0] if hops else None
    delays = [(hop["hop"], hop["cause"], hop["delay_ns"]) for hop in hops if hop["delay_ns"]]
    return Where(
        kind=row["kind"],
        sentence=row["sentence"],
        hop=first["hop"] if first else "",
        hop_kind=first["kind"] if first else "",
        at=first["at"] if first else "",
        to=first["to"] if first else "",
        cause=first["cause"] if first else "",
        said=first["said"] if first else 0,
        exact=first["exact"] if first else False,
        from_ns=row["from_ns"],
        to_ns=row["to_ns"],
        final=row["final"],
        open=row["open"],
        missing=row["lost"] + row["refused"] + row["suspect"],
        delays=tuple(delays[:_DELAYS]) if row["kind"] == "slow" else (),
        route=tuple((stop["hop"], stop["into"], stop["out"]) for stop in row["route"][:_STOPS]),
    )


def dump(episodes: Episodes) -> dict[str, Any]:
    """Return what the state file keeps."""
    return {
        "rows": [
            [*identity, episode.row.decode(), None if episode.counted is None else _pairs(episode.counted)]
            for identity, episode in episodes.kept.items()
        ],
        "dropped_ns": episodes.dropped_ns,
        "explained": _pairs(episodes.explained),
        "unexplained": episodes.unexplained,
        "added": _pairs(episodes.added),
        "removed": _pairs(episodes.removed),
    }


def load(saved: dict[str, Any]) -> Episodes:
    """Return what was saved; a row that is refused today is left out, and its episode not counted again."""
    found = Episodes(
        dropped_ns={str(kind): int(ns) for kind, ns in saved["dropped_ns"].items()},
        explained=_counts(saved["explained"]),
        unexplained={of: int(saved["unexplained"].get(of, 0)) for of in CLASSES},
        added=_counts(saved["added"]),
        removed=_counts(saved["removed"]),
    )
    for kind, episode_ns, text, counted in saved["rows"]:
        try:
            episode = made(attribution_rows.decode(text.encode()))
        except ValueError:
            found.dropped_ns[kind] = max(episode_ns, found.dropped_ns.get(kind, -1))
            continue
        episode.counted = None if counted is None else _counts(counted)
        found.kept[kind, episode_ns] = episode
    return found


def _pairs(counts: dict[Key, int]) -> list[list[Any]]:
    return [[*key, count] for key, count in counts.items()]


def _counts(pairs: Iterable[Iterable[Any]]) -> dict[Key, int]:
    def each() -> Iterator[tuple[Key, int]]:
        for of, hop, cause, count in pairs:
            yield Key(str(of), str(hop), str(cause)), int(count)

    return dict(each())


def _add(counts: dict[Key, int], key: Key, count: int) -> None:
    counts[key] = counts.get(key, 0) + count
