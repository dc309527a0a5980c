"""The Spark job: catching up beside others on one topic, live load, cost, precision, state.

python tests/bench/streaming.py --quick is a small run, --only PART … and --contestants NAME … run some.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

# Python puts this folder first by itself; what the tests made is used here, too; the project goes before it.
sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import _streaming_cost as cost
import _streaming_feed as feed
import _streaming_live as live
import _streaming_memory as memory
from _streaming_contestants import HEAP
from rich.console import Console
from rich.table import Table

from deploy.embedded.programs.kafka import Kafka
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.jvm import artifacts
from streaming.spark import job

HERE = Path(__file__).parent
PATHS, RATE = 200, 1_000
JSON_PATHS, JSON_RATE = 200, 100
CONTESTANTS = ("inflight", "limit", "tuned", "usual", "json", "plain", "bytewax")
PARTS = ("catchup", "live", "cost", "precision", "state", "memory")
MEMORY_SECONDS = 1_800
LOADS = {"10x10": (10, 10), "200x1000": (200, 1_000), "1000x100": (1_000, 100), "3000x30": (3_000, 30)}
RESULT = HERE.parent.parent / ".inflight" / "bench" / "streaming.json"
_GIVE_UP_SECONDS = 900

Figures = dict[str, float]


def main() -> None:
    """Run the parts, print a table, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small loads: to see that it works")
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS, default=CONTESTANTS)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS[:-1], help="memory: half an hour")
    told = parser.parse_args()
    os.nice(10)
    figures: Figures = {"cores": float(os.cpu_count() or 1), "load1_before": os.getloadavg()[0]}
    if {"catchup", "live", "memory"} & set(told.only):
        with tempfile.TemporaryDirectory() as folder, Supervisor(Path(folder) / "stack") as supervisor:
            kafka = Kafka(supervisor).start()
            if "catchup" in told.only:
                figures |= catch_up(kafka, Path(folder), 60 if told.quick else 1_800, told.contestants)
            if "live" in told.only:
                figures |= in_time(kafka, Path(folder), seconds=24 if told.quick else 45)
            if "memory" in told.only:
                figures |= in_memory(kafka, Path(folder), 90 if told.quick else MEMORY_SECONDS)
    if "cost" in told.only:
        grid = {load: cost.batch_seconds(*load) for load in (cost.GRID[:6] if told.quick else cost.GRID)}
        figures |= {f"cost_{paths}x{rate}_batch_seconds": took for (paths, rate), took in grid.items()}
        figures |= cost.cost_model(grid)
    if "precision" in told.only:
        figures |= cost.precision()
    if "state" in told.only:
        figures["state_bytes_a_path_10"] = cost.state_bytes(10, 100 if told.quick else 1_200)
        figures["state_bytes_a_path_1000"] = cost.state_bytes(1_000, 100 if told.quick else 1_200)
    figures["load1_after"] = os.getloadavg()[0]
    _tell(figures)


def catch_up(kafka: Kafka, folder: Path, seconds: int, contestants: Sequence[str]) -> Figures:
    """Each contestant by itself over the same topic; the first one last, too: the machine changes."""
    kafka.make_topics("bench")
    records = feed.fill(kafka.bootstrap, "bench.samples", PATHS, RATE, seconds)
    kafka.make_topics("json")
    json_records = 0
    if "json" in contestants:
        json_records = feed.fill_json(kafka.bootstrap, "json.samples", JSON_PATHS, JSON_RATE, seconds // 2)
    figures: Figures = {}
    for turn, name in enumerate([*contestants, *contestants[:1]] if len(contestants) > 1 else contestants):
        topic, count = ("json.samples", json_records) if name == "json" else ("bench.samples", records)
        _say(f"catching up: {name}")
        argv = [
            sys.executable,
            str(HERE / "_streaming_contestants.py"),
            name,
            kafka.bootstrap,
            topic,
            str(count),
        ]
        environment = os.environ | {"SAMPLES_PER_RECORD": str(RATE), "PYTHONPATH": str(HERE.parent.parent)}
        done = subprocess.run(
            [*argv, str(folder / str(turn))],
            env=environment,
            capture_output=True,
            start_new_session=True,  # its CPU is told by session
            text=True,
            timeout=_GIVE_UP_SECONDS,
            check=False,
        )
        if done.returncode:
            _say(f"{name} failed: {done.stderr[-2000:]}")
            continue
        found: Figures = json.loads(done.stdout.strip().splitlines()[-1])
        before = {key: figures.get(f"{name}_{key}", value) for key, value in found.items()}
        figures |= {f"{name}_{key}": (value + before[key]) / 2 for key, value in found.items()}
        _say(
            f"{name}: {found['samples_per_second']:,.0f} samples a second over {found['seconds']:.1f} s, "
            f"{found.get('cpu_seconds_a_million', 0):.2f} s of CPU a million"
        )
    if "inflight_samples_per_second" not in figures:
        return figures
    figures["samples_per_second"] = figures["inflight_samples_per_second"]
    for other in CONTESTANTS[1:]:
        if f"{other}_samples_per_second" in figures:
            figures[f"ratio_{other}"] = figures["samples_per_second"] / figures[f"{other}_samples_per_second"]
    return figures


def in_time(kafka: Kafka, folder: Path, seconds: int) -> Figures:
    """Steady loads, one after the other, each with a session of its own: none has another's state open."""
    figures: Figures = {}
    for name, (paths, rate) in LOADS.items():
        _say(f"live: {name}")
        kafka.make_topics(f"live{name}")
        spark = job.session(artifacts.ensure().jars("spark"), local_heap=HEAP)
        try:
            found = live.measure(spark, kafka.bootstrap, f"live{name}", folder, (paths, rate, seconds))
        finally:
            spark.stop()
        _say(", ".join(f"{key} {value:.3g}" for key, value in found.items()))
        figures |= {f"{key}_{name}": value for key, value in found.items()}
    cores = {load: figures[f"cores_used_{name}"] for name, load in LOADS.items()}
    return figures | cost.live_model(cores)


def in_memory(kafka: Kafka, folder: Path, seconds: int) -> Figures:
    """A small constant load for long."""
    kafka.make_topics("memory")
    spark = job.session(artifacts.ensure().jars("spark"), local_heap="1g")
    try:
        return memory.measure(spark, kafka.bootstrap, folder, seconds, _say)
    finally:
        spark.stop()


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _tell(figures: Figures) -> None:
    table = Table("figure", "value")
    table.columns[1].justify = "right"
    for name, value in figures.items():
        table.add_row(name, f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}")
    Console().print(table)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    RESULT.write_text(json.dumps({**before, **figures}, indent=1, sort_keys=True) + "\n")
    _say(f"wrote {RESULT}")


if __name__ == "__main__":
    main()
