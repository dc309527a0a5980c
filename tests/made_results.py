"""Result folders as an experiment leaves them, of made-up runs: figures come from known numbers."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from made_rows import SECOND, START, window

from collectors.contract import window_rows
from streaming.archive.layout import WINDOWS

WINDOW_SECONDS = 5
WARM_UP_WINDOWS = 2

Factors = Mapping[str, Sequence[Any]]


def result_folder(
    folder: Path,
    *,
    plan: str = "restart",
    says: str = "What does a restart of the middle router lose?",
    factors: Factors | None = None,
    repetitions: int = 3,
    windows: int = 36,
    p50_ms: float = 2.0,
    slower_by: float = 1.0,
    effects: Mapping[str, Mapping[Any, float]] | None = None,
    lost: int = 0,
    must: Sequence[str] = ("lost <= 0.1%",),
    seed: int = 7,
    files: bool = False,
    only: int | None = None,
    ceiling: bool = False,
    part: str = "B",
    action: str = "restart",
    **more: Any,
) -> Path:
    """Write a folder; `effects` multiply the latency of runs with a level, `only` so many runs are done."""
    factors = factors or {}
    combinations = [
        dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())
    ]
    planned = [
        {"number": number, "repetition": repetition, "levels": levels}
        for number, (repetition, levels) in enumerate(itertools.product(range(repetitions), combinations), 1)
    ]
    (folder / "runs").mkdir(parents=True)
    document = {
        "name": plan,
        "says": says,
        "seed": seed,
        "repetitions": repetitions,
        "network": {"topology": {"routers": {"A": {}, "B": {}}, "program": "qdrouterd"}},
        "load": {"rate": "100/s", "size": "256B"},
        "factors": dict(factors),
        **more,
    }
    (folder / "plan.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    experiment = {
        "format": 1,
        "plan": plan,
        "says": says,
        "seed": seed,
        "began_ns": START,
        "versions": {"inflight": "0.1.0", "python": "3.11.2", "kernel": "6.1.0", "qdrouterd": "1.19.0"},
        "machine": {"cpu": "a made-up one", "cores": 2, "memory_bytes": 8_000_000_000},
        "ceiling": {"messages_per_second": 21_000.0, "raw_messages_per_second": 60_000.0},
        "runs": planned,
    }
    (folder / "experiment.json").write_text(json.dumps(experiment))
    source = random.Random(seed)  # noqa: S311 -- made-up runs that can be made again
    for run in planned[:only]:
        factor = slower_by
        for name, level in run["levels"].items():
            factor *= (effects or {}).get(name, {}).get(level, 1.0)
        write_run(
            folder / "runs" / f"{run['number']:04}",
            run,
            p50_ms=p50_ms * factor * source.gauss(1, 0.01),
            windows=windows,
            lost=lost,
            must=must,
            files=files,
            at_ceiling=ceiling,
            source=source,
            part=part,
            action=action,
        )
    return folder


def write_run(
    folder: Path,
    run: Mapping[str, Any],
    *,
    p50_ms: float,
    windows: int,
    lost: int,
    must: Sequence[str],
    files: bool,
    at_ceiling: bool,
    source: random.Random,
    part: str,
    action: str,
) -> None:
    folder.mkdir()
    began = START + run["number"] * 1_000 * SECOND
    steady_from = began + WARM_UP_WINDOWS * WINDOW_SECONDS * SECOND
    per_window = 100
    lost_in = {windows // 2: lost}
    p50s = [round(p50_ms * 1e6 * source.gauss(1, 0.03)) for _ in range(windows)]
    p99s = [round(p50 * 4 * source.gauss(1, 0.05)) for p50 in p50s]
    received = [per_window * WINDOW_SECONDS - lost_in.get(n, 0) for n in range(windows)]
    middle = sorted(p50s)[windows // 2]
    figures = {
        "sent": per_window * WINDOW_SECONDS * windows,
        "received": sum(received),
        "refused": 0,
        "lost": lost,
        "unobserved": 0,
        "unsent": 0,
        "asked_per_second": 100.0,
        "rate_per_second": sum(received) / (windows * WINDOW_SECONDS),
        "lost_share": lost / (per_window * WINDOW_SECONDS * windows),
        "windows": windows,
        "p50_ns": middle,
        "p90_ns": middle * 2,
        "p99_ns": sorted(p99s)[windows // 2],
        "p999_ns": middle * 8,
        "max_ns": middle * 11,
        "mean_ns": middle * 1.2,
        "service_p50_ns": middle - 100_000,
        "service_p99_ns": middle * 4 - 100_000,
        "series": {
            "window_seconds": float(WINDOW_SECONDS),
            "p50_ns": p50s,
            "p99_ns": p99s,
            "received": received,
            "lost": [lost_in.get(n, 0) for n in range(windows)],
        },
    }
    ended = steady_from + windows * WINDOW_SECONDS * SECOND
    summary = {
        "format": 1,
        **run,
        "began_ns": began,
        "ended_ns": ended + 3 * SECOND,
        "steady_from_ns": steady_from,
        "steady_to_ns": ended,
        "stopped": None,
        "at_ceiling": at_ceiling,
        "figures": {"all": figures, "east-west": figures},
        "actions": [
            {
                "name": action,
                "what": part,
                "began_ns": steady_from + windows // 2 * WINDOW_SECONDS * SECOND,
                "ended_ns": steady_from + windows // 2 * WINDOW_SECONDS * SECOND + 10 * SECOND,
                "problem": None,
            }
        ],
        "memory": {
            "A": {"resident_bytes_max": 31_000_000, "resident_bytes_last": 30_000_000},
            part: {"resident_bytes_max": 45_000_000, "resident_bytes_last": 41_000_000},
        },
        "held": [{"must": text, "held": not lost, "is": figures["lost_share"]} for text in must],
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    if files:
        write_files(folder, began, p50s, p99s, lost_in, part)


def write_files(
    folder: Path,
    began: int,
    p50s: Sequence[int],
    p99s: Sequence[int],
    lost_in: Mapping[int, int],
    part: str,
) -> None:
    """Write windows, seconds and polls; windows of the warm-up are as the first ones."""
    values = [(p50s[0], p99s[0], 0)] * WARM_UP_WINDOWS
    values += [(p50, p99, lost_in.get(n, 0)) for n, (p50, p99) in enumerate(zip(p50s, p99s, strict=True))]
    rows = []
    for number, (p50, p99, lost) in enumerate(values):
        row = window("east-west", lost=lost, values_ns=[p50] * 96 + [p99] * 4)
        row["window_start_ns"] = began + number * WINDOW_SECONDS * SECOND
        row["window_ns"] = WINDOW_SECONDS * SECOND
        rows.append(row)
    columns = [
        {
            **{name: row[name] for name in ("path", "mesh", "window_start_ns", "window_ns", "rules")},  # type: ignore[literal-required]
            **{name: row[name] for name in ("revision", "complete", "sent")},  # type: ignore[literal-required]
            **row["classes"],
            "p50_ns": p50,
            "p99_ns": p99,
            "max_ns": p99,
            "row": window_rows.encode(row).decode(),
        }
        for row, (p50, p99, _) in zip(rows, values, strict=True)
    ]
    pq.write_table(pa.Table.from_pylist(columns, WINDOWS.schema), folder / "windows.parquet")
    seconds = range(began // SECOND, began // SECOND + len(values) * WINDOW_SECONDS)
    lines = ["second,due,sent,received,unsent", *(f"{second},100,100,100,0" for second in seconds)]
    (folder / "rate.csv").write_text("\n".join(lines) + "\n")
    polls = [
        {
            "mesh": "mesh",
            "target": target,
            "entity": entity,
            "at_ns": began + second * SECOND,
            "row": json.dumps(row),
        }
        for second in range(0, len(values) * WINDOW_SECONDS, 5)
        for target, entity, row in (
            ("A", "router", {"router": "A", "resident": 30_000_000 + second * 1_000}),
            ("A", "link", {"undelivered": 2}),
            ("A", "link", {"undelivered": 1}),
            (part, "router", {"router": part, "resident": 40_000_000}),
            (part, "address", {"address": "inflight/x"}),
        )
    ]
    pq.write_table(pa.Table.from_pylist(polls), folder / "router.parquet")
