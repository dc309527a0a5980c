"""The demonstration from start to summary."""

from __future__ import annotations

import json
import logging
import math
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kafka.errors import KafkaError
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from collectors.contract.window_rows import CLASSES
from dashboards.terminal.table import screen
from deploy.demo import audit
from deploy.demo.fault import Breaking
from deploy.demo.stack import Stack
from deploy.demo.stories import stories
from deploy.demo.verdict import Verdict
from deploy.embedded import http
from deploy.embedded.supervise.process import Interrupted
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.jvm import artifacts
from deploy.lab.lab import PREFIX
from deploy.signals import stop_on_signals

_REFRESH_SECONDS = 1.0
_COMPLETE_SECONDS = 20.0
_log = logging.getLogger("inflight.demo")


def run(*, seconds: int | None, fault: str | None, json_file: Path | None, state_dir: Path) -> int:
    """Run the demonstration, with the story of that name; return how many messages were unaccounted for."""
    console = Console(stderr=False)
    stopping = threading.Event()
    stop_on_signals(stopping)
    artifacts.ensure()  # fetched here where set-up has not; the time of the start is counted from below
    began = time.monotonic()

    def say(text: str) -> None:
        console.print(f"[dim]{time.monotonic() - began:5.1f} s[/] {text}")

    story = None if fault is None else stories()[fault]
    with Supervisor(state_dir, stopping=stopping.is_set) as supervisor:
        stack = Stack(supervisor, say, story=story)
        try:
            stack.start()
        except Interrupted:
            return 0
        shown = _Screen(console, stack, began)
        breaking = None if story is None else Breaking(story, stack, shown.tell)
        if breaking is not None:
            breaking.begin(shown.has_results, stopping)
        shown.watch(stopping, seconds, lambda: breaking is not None and not breaking.over)
        if seconds is None:
            return 0
        memory = supervisor.memory_bytes()
        found = _wait_for_totals(supervisor, stack)
    unaccounted = sum(totals.unaccounted for totals in found.paths.values())
    summary = {
        "seconds": seconds,
        "first_result_seconds": shown.first_result_seconds,
        "memory_bytes": memory,
        "paths": {name: totals.as_dict() for name, totals in found.paths.items()},
        "junk": found.junk,
        "unaccounted": unaccounted,
        "story": shown.told,
    }
    if breaking is not None and breaking.verdict is not None:
        summary["verdict"] = asdict(breaking.verdict)
    _print_summary(console, summary)
    if json_file is not None:
        json_file.write_text(json.dumps(summary, indent=2) + "\n")
    return unaccounted


def _wait_for_totals(supervisor: Supervisor, stack: Stack) -> audit.Totals:
    """End the probes and wait for the last final rows."""
    probe = next(process for process in supervisor.processes if process.spec.name == "probe")
    probe.stop()
    bootstrap = stack.lab.kafka.bootstrap
    try:
        return audit.wait_complete(bootstrap, PREFIX, _COMPLETE_SECONDS)
    except KafkaError as error:
        raise Problem(f"the audit cannot read Kafka at {bootstrap}, which may have ended: {error}") from None


class _Screen:
    """Shows the live table on a terminal; elsewhere a line for each event, and the table at the end."""

    def __init__(self, console: Console, stack: Stack, began: float) -> None:
        self._console = console
        self._stack = stack
        self._began = began
        self.first_result_seconds: float | None = None
        self.has_results = threading.Event()
        self.told: list[str] = []

    def tell(self, text: str) -> None:
        line = f"{time.monotonic() - self._began:5.1f} s {text}"
        self.told.append(line)
        if not self._console.is_terminal:
            self._console.print(line, markup=False, highlight=False)

    def watch(self, stopping: threading.Event, seconds: int | None, is_broken: Callable[[], bool]) -> None:
        """Show until asked to stop, or until so many seconds after the first results, if all is mended."""
        until = math.inf
        with Live(console=self._console, auto_refresh=False, screen=False) as live:
            while not stopping.wait(_REFRESH_SECONDS) and (time.monotonic() < until or is_broken()):
                state = self._state()
                if state is None:
                    continue
                if self.first_result_seconds is None and _has_results(state):
                    self.first_result_seconds = round(time.monotonic() - self._began, 1)
                    until = time.monotonic() + (math.inf if seconds is None else seconds)
                    self.tell("first results are on the screen")
                    self.has_results.set()
                if self._console.is_terminal:
                    live.update(self._render(state), refresh=True)
            last = self._state()
            if last is not None:
                live.update(self._render(last), refresh=True)

    def _state(self) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = json.loads(http.get(f"{self._stack.url('export')}/api/state"))
        except (OSError, ValueError) as error:
            _log.debug("the exporter does not answer: %s", error)
            return None
        return found

    def _render(self, state: dict[str, Any]) -> Group:
        parts: list[Any] = [screen(state, self._console.width)]
        parts += [Text(line, style="bold yellow") for line in self.told[-4:]]
        parts.append(Text("  ".join(f"{name}: {url}" for name, url in self._stack.urls.items()), style="dim"))
        if self._stack.stand_ins:
            parts.append(
                Text(
                    "The routers are stand-ins: neither qdrouterd nor skrouterd is on the PATH.", style="dim"
                )
            )
        return Group(*parts)


def _has_results(state: dict[str, Any]) -> bool:
    return bool(state.get("paths")) and any(path.get("response") for path in state["paths"])


def _print_summary(console: Console, summary: dict[str, Any]) -> None:
    table = Table("path", title="What became of every message sent", title_justify="left", box=None)
    columns = ("sent", *CLASSES, "duplicate", "unaccounted")
    for column in columns:
        table.add_column(column, justify="right")
    for name, totals in summary["paths"].items():
        table.add_row(Text(name), *(f"{totals[column]:,}" for column in columns))
    console.print()
    console.print(table)
    if summary["junk"]:
        console.print(f"{summary['junk']:,} records of the two topics were no use", highlight=False)
    memory = ", ".join(f"{name} {size / 2**20:,.0f}" for name, size in summary["memory_bytes"].items())
    console.print(
        f"first results after {summary['first_result_seconds']} s; memory in MiB: {memory}", highlight=False
    )
    if found := summary.get("verdict"):
        console.print(f"\n{Verdict(**found).text}", markup=False, highlight=False)
    sys.stdout.flush()
