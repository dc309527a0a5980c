"""The live page with 500 paths, each of which changes every second: how long the browser is busy."""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from pathlib import Path

# What the tests made is used here, too; the project itself goes first.
sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from browser import Browser
from made_exporter import Served, recent
from made_rows import live, window

PATHS = 500
SECONDS = 15.0
WATCH = """
window.tasks = []; window.frames = 0;
new PerformanceObserver((list) => list.getEntries().forEach((e) => tasks.push(e.duration)))
  .observe({type: 'longtask', buffered: false});
(function frame() { frames += 1; requestAnimationFrame(frame); })();
"""


def run() -> dict[str, float]:
    """Flat figures; a long task is one that keeps the page from answering for over 50 ms."""
    served, stop = Served(), threading.Event()
    feeder = threading.Thread(target=_feed, args=(served, stop), daemon=True)
    feeder.start()
    try:
        with tempfile.TemporaryDirectory() as profile, Browser(Path(profile)) as browser:
            page = browser.page(served.url)
            page.wait(f"document.querySelectorAll('#paths tbody tr').length > {PATHS}", "the paths", 30)
            page.evaluate(WATCH)
            page.send("Performance.enable")
            before = _metrics(page.send("Performance.getMetrics"))
            stop.wait(SECONDS)
            after = _metrics(page.send("Performance.getMetrics"))
            tasks = page.evaluate("tasks")
            frames = page.evaluate("frames")
            assert page.mistakes() == []
    finally:
        stop.set()
        feeder.join()
        served.close()
    return {
        "paths": PATHS,
        "frames_per_second": frames / SECONDS,
        "busy_share": (after["TaskDuration"] - before["TaskDuration"]) / SECONDS,
        "script_share": (after["ScriptDuration"] - before["ScriptDuration"]) / SECONDS,
        "layout_share": (after["LayoutDuration"] - before["LayoutDuration"]) / SECONDS,
        "style_share": (after["RecalcStyleDuration"] - before["RecalcStyleDuration"]) / SECONDS,
        "long_tasks": len(tasks),
        "longest_task_seconds": max(tasks, default=0.0) / 1e3,
        "heap_bytes": after["JSHeapUsedSize"],
    }


def _metrics(answer: dict[str, list[dict[str, float]]]) -> dict[str, float]:
    return {str(each["name"]): each["value"] for each in answer["metrics"]}


def _feed(served: Served, stop: threading.Event) -> None:
    number = recent()
    for path in range(PATHS):
        for back in range(10):
            served.exporter.apply_window(window(f"path-{path:03}", number - 10 + back))
    turn = 0
    while not stop.wait(1.0):
        turn += 1
        for path in range(PATHS):
            name = f"path-{path:03}"
            if (path + turn) % 5 == 0:  # a window of five seconds
                served.exporter.apply_window(window(name, number + turn // 5, lost=int(path % 50 == 0)))
            served.exporter.apply_live(live(name, number, pending=turn, last_received_ns=turn * 10**9))


if __name__ == "__main__":
    found = run()
    for name, value in found.items():
        print(f"{name:28} {value:,.6g}")  # noqa: T201 -- a benchmark's table
    target = Path(".inflight/bench/page.json")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(found, indent=2) + "\n")
