"""How far a verdict can be trusted: false alarms, cover of its intervals, what it finds, and what it costs.

python tests/bench/verdicts.py [--trials N] [--results DIR]

Over runs of a network that was made up, whose truth is known; with --results over 24 or more real runs of
one kind instead, from the result folders below DIR, which are split into an A and a B by chance.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # what tests share
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from made_runs import Network, by_turns, one_side
from rich.console import Console
from rich.table import Table

from streaming.analysis.compare import verdict
from streaming.analysis.verdicts import Verdict

RESULTS = Path(__file__).parents[2] / ".inflight" / "bench"
REPETITIONS, SHIFTS = (6, 8, 12), (0.02, 0.05, 0.10, 0.20)
LEAST_RUNS = 24
FEWER = 5  # times fewer trials where a share need not be known to a percent
USUAL, RESTLESS = Network(), Network(of_runs=0.03, drift=0.08, of_windows=0.15, lasting=0.8)
Json = dict[str, Any]
Sides = tuple[list[Json], list[Json]]
Make = Callable[[Network, int, np.random.Generator, float], Sides]


def main() -> None:
    """Measure it all, print the tables, and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1_000, help="of each false alarm")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--results", type=Path, help="a folder with result folders of one kind below it")
    asked = parser.parse_args()
    os.nice(10)
    found: dict[str, list[Json]] = {}
    if asked.results:
        runs = _real_runs(asked.results)
        found["A/A splits of real runs"] = [{"runs": len(runs), **_splits_of(runs, asked)}]
    else:
        found["A/A, made up"] = _without_a_change(asked.trials, asked.seed)
        found["A change of p50 and p99, made up"] = _with_a_change(max(asked.trials // FEWER, 1), asked.seed)
        found["A verdict, 12 a side"] = _times(asked.seed)
    for title, rows in found.items():
        _print(title, rows)
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / f"verdicts{'-real' if asked.results else ''}.json"
    file.write_text(json.dumps(found, indent=2) + "\n")


def _without_a_change(trials: int, seed: int) -> list[Json]:
    """Return false alarms where nothing differs, by how the runs were made: the last way is not asked for."""
    rows = []
    for machine, network, of_it in (("usual", USUAL, trials), ("restless", RESTLESS, trials // FEWER)):
        ways: list[tuple[str, Make, int]] = [("by turns", by_turns, n) for n in REPETITIONS]
        ways += [("split by chance", _by_chance, 12), ("first all of A", _after_another, 12)]
        for way, make, repetitions in ways:
            row = _row(_made(make, network, repetitions, max(of_it, 1), seed))
            rows.append({"machine": machine, "run": way, "a side": repetitions, **row})
    return rows


def _with_a_change(trials: int, seed: int) -> list[Json]:
    rows = []
    for machine, network in (("usual", USUAL), ("restless", RESTLESS)):
        for shift in SHIFTS:
            for repetitions in REPETITIONS:
                row = _row(_made(by_turns, network, repetitions, trials, seed, shift), shift)
                rows.append({"machine": machine, "slower by": f"{shift:.0%}", "a side": repetitions, **row})
    return rows


def _made(
    make: Make,
    network: Network,
    repetitions: int,
    trials: int,
    seed: int,
    shift: float = 0.0,
) -> Iterable[Verdict]:
    for trial in range(trials):
        rng = np.random.default_rng((seed, trial))
        yield verdict(*make(network, repetitions, rng, float(np.log1p(shift))))


def _by_chance(network: Network, repetitions: int, rng: np.random.Generator, _slower: float) -> Sides:
    return _split(one_side(network, 2 * repetitions, rng), rng)


def _after_another(network: Network, repetitions: int, rng: np.random.Generator, _slower: float) -> Sides:
    runs = one_side(network, 2 * repetitions, rng)
    return runs[:repetitions], runs[repetitions:]


def _split(runs: list[Json], rng: np.random.Generator) -> Sides:
    order = rng.permutation(len(runs))
    half = len(runs) // 2
    return [runs[i] for i in order[:half]], [runs[i] for i in order[half : 2 * half]]


def _splits_of(runs: list[Json], asked: argparse.Namespace) -> Json:
    rng = np.random.default_rng(asked.seed)
    return _row(verdict(*_split(runs, rng)) for _ in range(asked.trials))


def _row(verdicts: Iterable[Verdict], shift: float = 0.0) -> Json:
    """Return the share of each word, and how often the intervals held the truth."""
    words: Counter[str] = Counter()
    held: Counter[str] = Counter()
    for one in verdicts:
        words[one.word] += 1
        for figure in one.figures:
            if figure.name in {"p50", "p99"} and figure.low is not None and figure.high is not None:
                held[figure.name] += figure.low <= shift <= figure.high
    total = words.total()
    shares = {word: round(100 * words[word] / total, 1) for word in ("worse", "better", "same", "unclear")}
    alarms = {"false alarms": round(shares["worse"] + shares["better"], 1)} if not shift else {}
    cover = {f"{name} held": round(100 * held[name] / total, 1) for name in ("p50", "p99")}
    return {**alarms, **shares, **cover}


def _times(seed: int) -> list[Json]:
    rows = []
    for windows in (30, 300, 3_600):
        sides = by_turns(Network(windows=windows, messages=100), 12, np.random.default_rng(seed))
        began = time.process_time()
        verdict(*sides)
        rows.append({"windows a run": windows, "s of CPU": round(time.process_time() - began, 2)})
    return rows


def _real_runs(folder: Path) -> list[Json]:
    """Return the runs of all result folders below one; ends where they are too few."""
    runs = []
    for file in sorted(folder.rglob("summary.json")):
        runs += json.loads(file.read_text()).get("runs", [])  # a single run's summary has none
    if len(runs) < LEAST_RUNS:
        sys.exit(f"{folder}: {len(runs)} runs in result folders below it, at least {LEAST_RUNS} are needed")
    return runs


def _print(title: str, rows: list[Json]) -> None:
    table = Table(*rows[0], title=title)
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console(stderr=True).print(table)


if __name__ == "__main__":
    main()
