"""Runs with the same levels are a cell: the median of its repetitions, and from where to where they reach."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from collectors.contract.untrusted_text import shown
from dashboards.report.model import Figures, Level, Results, Run
from streaming.wording import UNKNOWN, latency, rate, share


class Column(NamedTuple):
    """A figure of a run: where it is, and how it is written."""

    name: str
    value: Callable[[Figures], float | None]
    written: Callable[[float | None], str]


def _latency(ns: float | None) -> str:
    return latency(None if ns is None else round(ns))


RATE: Final = Column("rate", lambda figures: figures.rate_per_second, rate)
LOST: Final = Column("lost", lambda figures: figures.lost_share, share)
UNSENT: Final = Column("unsent", lambda figures: figures.unsent_share, share)
P50: Final = Column("p50", lambda figures: figures.p50_ns, _latency)
P99: Final = Column("p99", lambda figures: figures.p99_ns, _latency)
COLUMNS: Final = (
    *(RATE, LOST, UNSENT, P50),
    Column("p90", lambda figures: figures.p90_ns, _latency),
    P99,
    Column("p99.9", lambda figures: figures.p999_ns, _latency),
    Column("max", lambda figures: figures.max_ns, _latency),
)


_LETTERS: Final = 60  # of a level


class Spread(NamedTuple):
    """The median of some values, and the least and most of them."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Cell:
    """The runs that had these levels."""

    levels: Mapping[str, Level]
    runs: Sequence[Run]

    @property
    def name(self) -> str:
        return ", ".join(f"{last_word(name)} {written(level)}" for name, level in self.levels.items())

    def spread(self, column: Column) -> Spread | None:
        return spread([column.value(run.all) for run in self.runs if run.all is not None])


def spread(values: Sequence[float | None]) -> Spread | None:
    """Return it of the values that are known, or None where none is."""
    known = [value for value in values if value is not None]
    return Spread(statistics.median(known), min(known), max(known)) if known else None


def cells(results: Results) -> list[Cell]:
    """Return all cells, levels in the order of the plan."""
    found: dict[tuple[tuple[str, str], ...], list[Run]] = {}
    for run in results.runs:
        found.setdefault(tuple(sorted((name, _key(level)) for name, level in run.levels.items())), []).append(
            run
        )
    order = {
        name: {_key(level): place for place, level in enumerate(levels)}
        for name, levels in results.factors.items()
    }

    def place(cell: Cell) -> list[tuple[int, list[tuple[float, str]]]]:
        # Factors as the plan has them, those that it does not have (steps of a search) in natural order.
        names = [*order, *sorted(set(cell.levels) - set(order))]
        return [
            (order.get(name, {}).get(_key(cell.levels.get(name)), 0), _natural(cell.levels.get(name)))
            for name in names
        ]

    named = [
        Cell({name: runs[0].levels[name] for name in _ordered(runs[0].levels, order)}, runs)
        for runs in found.values()
    ]
    return sorted(named, key=place)


def _ordered(levels: Mapping[str, Level], order: Mapping[str, object]) -> list[str]:
    return [*(name for name in order if name in levels), *(name for name in levels if name not in order)]


def _key(level: Level) -> str:
    return json.dumps(level, ensure_ascii=False, sort_keys=True)


def _natural(level: Level) -> list[tuple[float, str]]:
    parts = re.findall(r"(\d+(?:\.\d+)?)|(\D+)", str(level))
    return [(float(number) if number else float("inf"), text) for number, text in parts]


def written(level: Level) -> str:
    """Return a level as the plan writes it, safe on a screen."""
    if level is None:
        return UNKNOWN
    text = shown(level if isinstance(level, str) else _key(level))
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"


def last_word(factor: str) -> str:
    """Return `cost` for `topology.routers.B.cost`: where that is told, the whole stands elsewhere."""
    return shown(factor.rpartition(".")[2] or factor)
