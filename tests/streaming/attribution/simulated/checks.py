"""What must be true of the rows of any history, held against its truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from collectors.contract import attribution_rows
from collectors.contract.attribution_rows import AttributionRow, Hop
from collectors.contract.topics import WINDOWS
from collectors.contract.window_rows import WindowRow

from . import drive
from .history import History
from .parts import Name

SUMS = ("lost", "refused")
# Each has a counter of its own. What is released or modified is counted along all of its way back: the
# truth of one hop is no bound of what it may be told.
_COUNTED = ("dropped", "no_route", "rejected", "expired", "killed", "unrouted")


def broken(history: History, rows: Sequence[AttributionRow]) -> list[str]:
    """Return what is not as promised, each as a sentence; empty where all holds."""
    found = [text for row in rows for text in _form(history, row)]
    for row in rows:
        if row["kind"] == "loss" and not row["final"] and _newest(history, row):
            found += [f"provisional: {text}" for text in _bounds(history, row)]
    final = [row for row in drive.last(rows) if row["kind"] == "loss"]
    for row in final:
        if not row["final"]:
            found.append(f"{_of(row)} never becomes final")
        elif _newest(history, row):
            found += _bounds(history, row)
        else:
            found.append(f"{_of(row)} does not use the last revisions of its windows")
    return found + list(_over_paths(history, final)) + list(_told_once(final))


def _form(history: History, row: AttributionRow) -> Iterator[str]:
    try:
        attribution_rows.decode(attribution_rows.encode(row))
    except ValueError as error:
        yield f"{_of(row)} is no row: {error}"
    for hop in row["hops"]:
        if hop["cause"] in {"dropped", "no_route"} and not history.places[row["path"]].presettled:
            yield f"{_of(row)}: {_name(hop)}, though the path is acknowledged"
    places = Counter((*_name(hop), hop["of"]) for hop in row["hops"])
    for place, times in places.items():
        if times > 1:
            yield f"{_of(row)} names {place} {times} times"
    windows = _windows(history)
    used = [windows.get((row["path"], one["start_ns"], one["revision"])) for one in row["windows"]]
    if None in used:
        yield f"{_of(row)} names a window or a revision that there is not"
    elif row["kind"] == "loss" and row["merged_into"] is None:
        for of in ("sent", "lost", "refused", "unobserved"):
            true = sum(one["sent"] if of == "sent" else one["classes"][of] for one in used if one)
            if row[of] != true:  # type: ignore[literal-required] # one of four
                yield f"{_of(row)}: {of} is {row[of]}, of its windows {true}"  # type: ignore[literal-required]


def _windows(history: History) -> dict[tuple[str, int, int], WindowRow]:
    found = {}
    for item in history.items:
        if item.topic is WINDOWS:
            window: WindowRow = item.value  # type: ignore[assignment] # of this topic
            found[window["path"], window["window_start_ns"], window["revision"]] = window
    return found


def _newest(history: History, row: AttributionRow) -> bool:
    """Return whether the row used the last revision of each window: the truth is of those."""
    newest: Counter[tuple[str, int]] = Counter()
    for path, start, revision in _windows(history):
        newest[path, start] = max(newest[path, start], revision)
    return all(one["revision"] == newest[row["path"], one["start_ns"]] for one in row["windows"])


def _bounds(history: History, row: AttributionRow) -> Iterator[str]:
    windows = [one["start_ns"] for one in row["windows"]]
    for hop in row["hops"]:
        if hop["of"] not in SUMS:
            continue
        least, most = history.truth.bounds(row["path"], windows, hop["of"], _name(hop))
        if hop["lower"] > most or hop["upper"] < least:
            told = f"[{hop['lower']}, {hop['upper']}]"
            yield f"{_of(row)}: {hop['of']} at {_name(hop)} is told as {told}, truly {least} to {most}"
        if hop["exact"] and hop["lower"] != hop["upper"]:
            yield f"{_of(row)}: exact at {_name(hop)}, but {hop['lower']} to {hop['upper']}"


def _over_paths(history: History, rows: Iterable[AttributionRow]) -> Iterator[str]:
    """What all paths are told of a hop is at most what it took of all traffic, unless it is shared.

    Where polls were lost its count is not known, and what is said may be guessed: its lower bound is not.
    """
    said: Counter[Name] = Counter()
    for row in rows:
        for hop in row["hops"]:
            if hop["of"] in SUMS and hop["cause"] in _COUNTED and not hop["shared"]:
                said[_name(hop)] += hop["lower" if history.plan.disturbed else "said"]
    for name, count in said.items():
        own = history.truth.counts.get(name, 0)
        if count > own:
            yield f"all paths are told {count} at {name}, which took {own} of all traffic"


def _told_once(rows: Iterable[AttributionRow]) -> Iterator[str]:
    told: Counter[tuple[str, int]] = Counter()
    for row in rows:
        told.update((row["path"], one["start_ns"]) for one in row["windows"])
    for (path, start), times in told.items():
        if times > 1:
            yield f"the window {start} of {path} is in {times} episodes that count"


def untold(history: History, rows: Iterable[AttributionRow]) -> list[str]:
    """Return the windows with something lost or refused that no final row speaks of."""
    told = {(row["path"], one["start_ns"]) for row in drive.last(rows) for one in row["windows"]}
    return [
        f"{path}: nothing is told of the window {start}"
        for path, windows in history.truth.paths.items()
        for start, window in windows.items()
        if (window.lost or window.refused) and (path, start) not in told
    ]


def first_names(rows: Iterable[AttributionRow], path: str) -> list[Name]:
    """Return the first hop of each last row about losses of the path."""
    return [
        _name(row["hops"][0])
        for row in drive.last(rows)
        if row["path"] == path and row["kind"] == "loss" and row["hops"] and row["lost"] + row["refused"]
    ]


def _name(hop: Hop) -> Name:
    return hop["hop"], hop["cause"]


def _of(row: AttributionRow) -> str:
    return f"{row['path']} {row['kind']} {row['episode_ns'] // 10**9} revision {row['revision']}"
