"""`inflight top`: the essentials in a terminal, read from the exporter over HTTP."""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import replace
from typing import Any, Final

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from collectors.config.model import http_url
from collectors.contract.untrusted_text import shown
from collectors.http import client
from collectors.http.server import NO_PAGE
from collectors.process.worker import Worker
from dashboards.terminal.controls import TableControls
from dashboards.terminal.keys import Keys
from dashboards.terminal.table import SORTS, TableOptions, around, screen, selected
from deploy.errors import Problem
from deploy.signals import stop_on_signals

_TIMEOUT_SECONDS: Final = 5.0
_REFRESH_SECONDS: Final = 1.0
_OK: Final = 200
_REASON_BYTES: Final = 300


@click.command()
@click.argument("url", default="http://127.0.0.1:9750", metavar="[URL]")
@click.option("--sort", type=click.Choice(tuple(SORTS)), default="state", show_default=True)
@click.option("--filter", "filter_", default="", help="Show only paths whose names contain this.")
@click.option(
    "--once", is_flag=True, help="Print the table once; the same as when the output is no terminal."
)
def command(url: str, sort: str, filter_: str, *, once: bool) -> None:
    """Show what the exporter at URL knows, worst paths first, and keep it up to date.

    URL is that of `inflight export` or `inflight run`, http://127.0.0.1:9750 unless given.
    Keys: s sorts by the next column, r reverses, / filters by name, q ends.
    """
    try:
        http_url(url)
    except ValueError as error:
        raise Problem(str(error)) from None
    console = Console()
    options = TableOptions(sort=sort, filter=filter_)
    try:
        state = fetch(url)
    except (OSError, ValueError) as error:
        raise Problem(
            f"no answer from {url}: {error}; is `inflight export` or `inflight run` there?"
        ) from None
    if once or not console.is_terminal or not sys.stdin.isatty():
        console.print(screen(state, console.width, options))
        return
    _watch(url, console, TableControls(options), state)


def fetch(url: str) -> dict[str, Any]:
    """Returns the exporter's state; raises OSError or ValueError where there is none."""
    until = time.monotonic() + _TIMEOUT_SECONDS
    answer = client.get(f"{url.rstrip('/')}/api/state", until, **{NO_PAGE: "top"})
    if answer.status != _OK:
        # The answer may say why, or where else to ask.
        said = answer.headers.get("location") or answer.body[:_REASON_BYTES].decode("utf-8", "replace")
        raise ValueError(shown(f"HTTP status {answer.status}: {said.strip()}"))
    try:
        state = json.loads(answer.body)
        screen(state, 80, TableOptions())  # raises where something is missing that is shown
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise ValueError("this is no state of Inflight") from None
    return dict(state)


class _Reader:
    """Reads in the background, so that keys are answered at once however slow the exporter is."""

    def __init__(self, url: str, state: dict[str, Any], stop: threading.Event) -> None:
        self._url, self._stop = url, stop
        self.state, self._silent = state, ""
        self._worker = Worker("reader", self._read)
        self._worker.start()

    @property
    def trouble(self) -> str:
        """Why `state` is not the newest."""
        return self._worker.problem or self._silent

    def _read(self) -> None:
        while not self._stop.wait(_REFRESH_SECONDS):
            try:
                self.state, self._silent = fetch(self._url), ""
            except (OSError, ValueError) as error:
                self._silent = f"no answer from {self._url}: {error}"


def _watch(url: str, console: Console, controls: TableControls, state: dict[str, Any]) -> None:
    stop = threading.Event()
    stop_on_signals(stop)
    reader = _Reader(url, state, stop)
    with Keys() as keys, Live(console=console, auto_refresh=False, screen=True) as live:
        while not stop.is_set() and not controls.ended:
            live.update(_render(reader, controls, console), refresh=True)
            for key in keys.read(_REFRESH_SECONDS / 2):
                paths = len(selected(reader.state, controls.options))
                controls.press(key, paths=paths, rows=_rows(reader.state, console))
    stop.set()


def _render(reader: _Reader, controls: TableControls, console: Console) -> Group:
    options = replace(controls.options, rows=_rows(reader.state, console), height=console.height)
    foot = Text(reader.trouble, style="bold red") if reader.trouble else Text(controls.foot(), style="dim")
    return Group(screen(reader.state, console.width, options), foot)


def _rows(state: dict[str, Any], console: Console) -> int:
    """Returns how many paths fit between the events above and the network below."""
    return max(3, console.height - 5 - around(state, TableOptions(height=console.height)))
