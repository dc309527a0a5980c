"""The exporter's state file: counters, and the offsets up to which they count, written as one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Final, TypeVar

from collectors.contract.window_rows import check_live, check_window
from collectors.process.private_files import replace
from streaming.exporter import episodes
from streaming.exporter.core import Exporter
from streaming.exporter.error_budget import DAY_NS, Day, ErrorBudget
from streaming.exporter.path import Path, Point
from streaming.exporter.path_counters import Epoch, Histogram, PathCounters, Revised, zeros

T = TypeVar("T")

VERSION: Final = 1
Offsets = dict[str, dict[int, int]]  # the next one to read, by topic and partition


class DamagedState(Exception):  # noqa: N818 -- it is the state that is damaged
    """The file holds no state; what it held is lost."""


class NewerState(Exception):  # noqa: N818 -- it is the state that is newer
    """The file was written by a newer version; starting over would lose its counters."""


@dataclass(frozen=True, slots=True)
class StateFile:
    """The file of an exporter that reads the topics with this prefix."""

    file: FilePath
    prefix: str

    def save(self, exporter: Exporter, offsets: Offsets) -> None:
        """Replace the file; raises OSError if that fails."""
        with exporter.lock:
            exporter.forget_episodes()
            paths = {name: _dump(path) for name, path in exporter.paths.items() if _known(path)}
            value = {
                "v": VERSION,
                "prefix": self.prefix,
                "offsets": offsets,
                "paths": paths,
                "trouble": exporter.effects.dump(),
            }
            data = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        replace(self.file, data)

    def try_out(self) -> None:
        """Raises OSError if the file could not be saved."""
        trial = self.file.with_suffix(".trial")
        replace(trial, b"")
        trial.unlink()

    def load(self, exporter: Exporter) -> Offsets | None:
        """Fill a new exporter and return where to read on, or None if there is no file yet.

        Raises DamagedState or NewerState, and leaves the exporter empty, if the file cannot be used.
        """
        try:
            data = self.file.read_bytes()
        except FileNotFoundError:
            return None
        try:
            value = json.loads(data)
            version = value["v"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise DamagedState(f"{self.file} holds no state: {type(error).__name__}: {error}") from None
        if isinstance(version, int) and version > VERSION:
            raise NewerState(
                f"{self.file} has version {version}, this program knows {VERSION}:"
                " use the newer program, or move the file away to count from 0"
            )
        try:
            if value["prefix"] != self.prefix:
                raise DamagedState(f"{self.file} is of topics {value['prefix']}.*, not {self.prefix}.*")
            _fill(exporter, value["paths"])
            exporter.effects.load(value.get("trouble", {}))  # there was none in states of before
            return {
                topic: {int(partition): int(offset) for partition, offset in of_topic.items()}
                for topic, of_topic in value["offsets"].items()
            }
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            exporter.paths.clear()
            exporter.effects.clear()
            exporter.add_configured()
            raise DamagedState(f"{self.file} holds no state: {type(error).__name__}: {error}") from None


def _known(path: Path) -> bool:
    return path.seen_ns is not None or bool(path.episodes.kept or path.episodes.dropped_ns)


def _dump(path: Path) -> dict[str, Any]:
    counters: PathCounters = path.counters
    return {
        "seen_ns": path.seen_ns,
        "window": path.window,
        "live": path.live,
        "recent": path.recent(),
        "counts": counters.counts,
        "histograms": {
            basis: [total.at_or_below, total.count, total.sum_ns]
            for basis, total in counters.histograms.items()
        },
        "since_ns": counters.since_ns,
        "high_ns": counters.high_ns,
        "epochs": counters.epochs,
        "revised": counters.revised,
        "budgets": {
            slo: [budget.days, budget.left, budget.overspent_since_ns]
            for slo, budget in counters.budgets.items()
        },
        "episodes": episodes.dump(path.episodes),
    }


def _whole(check: Callable[[Any], T], row: Any) -> T | None:
    """Return the row, or None if there is none or an earlier version took what is refused today."""
    try:
        return None if row is None else check(row)
    except ValueError:
        return None


def _points(saved: dict[str, Any], path: Path) -> list[Point]:
    """Return the windows of the last minute; none where the objectives have changed, or none were saved."""
    points = [Point(*point) for point in saved.get("recent", ())]
    bounds = sum(slo.bound_ns is not None for slo in path.objectives)
    return points if all(len(point.missed) == bounds for point in points) else []


def _budgets(saved: dict[str, Any]) -> dict[str, ErrorBudget]:
    """Return what was saved; from before budgets were, as if all had come on the first day of counting."""
    if "budgets" not in saved:
        names = {key.split(".", 1)[1].rpartition(".")[0] for key in saved["counts"] if key.startswith("slo.")}
        return {name: ErrorBudget([Day((saved["since_ns"] or 0) // DAY_NS, 0, 0)]) for name in names}
    return {
        slo: ErrorBudget(
            [Day(*map(int, day)) for day in days],
            None if left is None else float(left),
            None if since_ns is None else int(since_ns),
        )
        for slo, (days, left, since_ns) in saved["budgets"].items()
    }


def _fill(exporter: Exporter, paths: dict[str, Any]) -> None:
    for name, saved in paths.items():
        path = exporter.new_path(name)
        path.seen_ns = saved["seen_ns"]
        path.window, path.live = _whole(check_window, saved["window"]), _whole(check_live, saved["live"])
        path.history.extend(_points(saved, path))
        path.counters = PathCounters(
            exporter.keep_ns,
            path.counters.bases,
            counts=zeros() | {str(key): int(n) for key, n in saved["counts"].items()},
            histograms={
                basis: Histogram([int(n) for n in below], int(count), int(sum_ns))
                for basis, (below, count, sum_ns) in saved["histograms"].items()
            },
            since_ns=saved["since_ns"],
            high_ns=saved["high_ns"],
            epochs=[Epoch(*epoch) for epoch in saved["epochs"]],
            revised={int(start): Revised(*revised) for start, revised in saved["revised"].items()},
            budgets=_budgets(saved),
        )
        if "episodes" in saved:  # there were none in states of before
            path.episodes = episodes.load(saved["episodes"])
        with exporter.refusing("windows", name):  # there may be less room for it than there was
            if (row := path.live or path.window) is not None:
                path.relabel(row)
                if not path.configured:
                    exporter.memory.reserve(name, path.weight(row))
            exporter.episodes_memory.reserve(name, path.episodes.size())
            exporter.paths[name] = path
