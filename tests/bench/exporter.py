"""The exporter with 1,000 paths: what a row, a scrape, a page and a save cost, and how large they are."""

from __future__ import annotations

import gzip
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

# What the tests made is used here, too; the project itself goes first.
sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from made_rows import live, window

from collectors.config.load import parse
from collectors.contract import window_rows
from dashboards.page.feed import changes
from streaming.exporter import Exporter
from streaming.exporter.page_data import snapshot
from streaming.exporter.state_file import StateFile

PATHS = 1_000
ROUNDS = 5
CONFIG = """\
version: 1
site: bench
slos: []
"""


def run() -> dict[str, float]:
    """Flat figures; seconds are of CPU, the best of a few rounds: others on the machine do not count."""
    before_bytes = _resident_bytes()
    registry = CollectorRegistry()
    exporter = Exporter(parse(CONFIG, "bench.yaml"), registry)
    figures: dict[str, float] = {"paths": PATHS}
    windows, lives = _rows(0), [window_rows.encode(live(f"path-{n:04}")) for n in range(PATHS)]

    def apply_windows(encoded: list[bytes]) -> None:
        for data in encoded:
            exporter.apply_window(window_rows.decode_window(data))

    def apply_lives() -> None:
        for data in lives:
            exporter.apply_live(window_rows.decode_live(data))

    rounds = [windows, *(_rows(number) for number in range(1, ROUNDS))]
    figures["window_row_seconds"] = min(_took(lambda: apply_windows(each)) for each in rounds) / PATHS  # noqa: B023 -- called at once
    figures["live_row_seconds"] = _best(apply_lives) / PATHS
    figures["window_row_bytes"] = sum(map(len, windows)) / PATHS

    def scrape() -> str:
        apply_lives()  # between two scrapes every path has changed
        return exporter.render()

    text = scrape()
    figures["scrape_changed_seconds"] = _best(scrape) - _best(apply_lives)
    figures["scrape_unchanged_seconds"] = _best(exporter.render)
    figures["scrape_bytes"] = len(text.encode()) + len(generate_latest(registry))
    figures["scrape_gzip_seconds"] = _best(lambda: gzip.compress(text.encode(), compresslevel=1))
    figures["scrape_gzip_bytes"] = len(gzip.compress(text.encode(), compresslevel=1))
    figures["series"] = sum(not line.startswith("#") for line in text.splitlines())
    figures["series_per_path"] = figures["series"] / PATHS
    figures |= _page(exporter)
    with tempfile.TemporaryDirectory() as folder:
        state = StateFile(Path(folder) / "exporter.json", "inflight")
        figures["save_seconds"] = _best(lambda: state.save(exporter, {}))
        figures["save_bytes"] = state.file.stat().st_size
    figures["memory_bytes"] = _resident_bytes() - before_bytes
    figures["scrape_library_seconds"] = _best(lambda: generate_latest(_Library(text)))
    return figures


class _Library(Collector):
    """The same series through prometheus-client's renderer, to compare with."""

    def __init__(self, text: str) -> None:
        self._families = list(text_string_to_metric_families(text))

    def collect(self) -> list[Metric]:
        return self._families


def _page(exporter: Exporter) -> dict[str, float]:
    before = snapshot(exporter)
    for n in range(PATHS):
        exporter.apply_live(live(f"path-{n:04}", 1, sent=35))
    now = snapshot(exporter)
    changed: dict[str, Any] = changes(before, now)
    return {
        "snapshot_seconds": _best(lambda: snapshot(exporter)),
        "snapshot_bytes": len(json.dumps(now, separators=(",", ":"))),
        "change_seconds": _best(lambda: changes(before, now)),
        "change_bytes": len(json.dumps(changed, separators=(",", ":"))),
    }


def _rows(number: int) -> list[bytes]:
    drawn = random.Random(number)  # noqa: S311 -- no secrets
    return [
        window_rows.encode(
            window(
                f"path-{n:04}",
                number,
                values_ns=[int(2e6 * drawn.lognormvariate(0, 0.5)) for _ in range(50)],
            )
        )
        for n in range(PATHS)
    ]


def _best(work: Callable[[], object]) -> float:
    return min(_took(work) for _ in range(ROUNDS))


def _took(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _resident_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024


if __name__ == "__main__":
    found = run()
    for name, value in found.items():
        print(f"{name:28} {value:,.6g}")  # noqa: T201 -- a benchmark's table
    target = Path(".inflight/bench/exporter.json")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(found, indent=2) + "\n")
