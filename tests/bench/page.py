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
SECONDS = 10.0
SLOWED = (1, 4)  # times
LINES = "document.querySelectorAll('#paths tbody tr').length"
WATCH = """
window.tasks = []; window.frames = 0;
new PerformanceObserver((list) => list.getEntries().forEach((e) => tasks.push(e.duration)))
  .observe({type: 'longtask', buffered: true});
(function frame() { frames += 1; requestAnimationFrame(frame); })();
"""


def run() -> dict[str, float]:
    """Flat figures, on a browser as it is and on a slowed one; all the paths are asked for and shown.

    A long task is one that keeps the page from answering for over 50 ms.
    """
    served, stop = Served(), threading.Event()
    feeder = threading.Thread(target=_feed, args=(served, stop), daemon=True)
    feeder.start()
    found: dict[str, float] = {"paths": PATHS}
    try:
        with tempfile.TemporaryDirectory() as profile, Browser(Path(profile)) as browser:
            for times in SLOWED:
                figures = _watch(browser, served.url, stop, times)
                found |= {
                    f"{name}{f'_slowed_{times}' if times > 1 else ''}": n for name, n in figures.items()
                }
    finally:
        stop.set()
        feeder.join()
        served.close()
    return found


def _watch(browser: Browser, url: str, stop: threading.Event, times: int) -> dict[str, float]:
    page = browser.page("about:blank")
    page.send("Emulation.setCPUThrottlingRate", rate=times)
    page.send("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    page.send("Performance.enable")
    page.send("Page.navigate", url=url)
    page.wait(f"{LINES} >= 100", "the first paths", 60)
    page.evaluate("document.getElementById('more').click()")
    page.wait(f"{LINES} > {PATHS}", "all paths", 60)
    opening = page.evaluate("tasks.splice(0)")
    page.evaluate("frames = 0")
    before = _metrics(page.send("Performance.getMetrics"))
    stop.wait(SECONDS)
    after = _metrics(page.send("Performance.getMetrics"))
    tasks, frames = page.evaluate("tasks"), page.evaluate("frames")
    assert page.mistakes() == []
    page.close()

    def share(kind: str) -> float:
        return (after[kind] - before[kind]) / SECONDS

    return {
        "opening_longest_task_seconds": max(opening, default=0.0) / 1e3,
        "frames_per_second": frames / SECONDS,
        "busy_share": share("TaskDuration"),
        "script_share": share("ScriptDuration"),
        "layout_share": share("LayoutDuration"),
        "style_share": share("RecalcStyleDuration"),
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
