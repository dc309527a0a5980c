"""Page, terminal and Grafana say the same word of a path at the same moment."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from helpers import missing, wait_until
from live_queries import ask_now
from made_exporter import Served, recent
from made_rows import SECOND, live, window
from rich.console import Console

from collectors.contract.events import Event
from dashboards import build
from dashboards.panel_queries import fill
from dashboards.terminal.table import screen
from deploy.embedded.programs import prometheus
from deploy.embedded.supervise.supervisor import Supervisor
from streaming.states import BY_WORD

pytestmark = pytest.mark.slow

# By hand: what is wrong with the path of each name.
EXPECTED = {
    **{
        f"is-{word}": word
        for word in ("outage", "losing", "behind", "suspect", "refused", "blind", "slow", "ok")
    },
    "is-silent": "silent",
    "is-maintenance": "maintenance",
    "east-west": "waiting",
    "is-nearly-slow": "ok",
}


def put_all(served: Served) -> None:
    """A path in each state; one whose p99 is 97 % of the objective's bound of 50 ms is within it."""
    number, now_ns = recent(), time.time_ns()
    quiet = [2_000_000] * 200
    rows: dict[str, dict[str, Any]] = {
        "is-losing": {"lost": 3},
        "is-refused": {"refused": 3},
        "is-blind": {"unobserved": 3},
        "is-slow": {"values_ns": quiet + [60_000_000] * 9},
        "is-nearly-slow": {"values_ns": [48_500_000] * 200},
    }
    for name in EXPECTED.keys() - {"east-west"}:
        served.exporter.apply_window(window(name, number, **{"values_ns": quiet, **rows.get(name, {})}))
    served.exporter.apply_live(live("is-outage", number, outage_since_ns=now_ns - 60 * SECOND))
    served.exporter.apply_live(live("is-behind", number, behind_ns=4 * SECOND))
    served.exporter.apply_live(live("is-suspect", number, suspect=2))
    served.exporter.apply_event(
        Event(now_ns - SECOND, now_ns + 600 * SECOND, "maintenance", ("is-maintenance",), "cable")
    )
    for name, path in served.exporter.paths.items():
        if path.seen_ns is not None:  # as long as the test lasts, or since a minute
            path.seen_ns += -60 * SECOND if name == "is-silent" else 600 * SECOND


def on_the_page(served: Served, profile: Path) -> dict[str, str]:
    with Browser(profile) as browser:
        page = browser.page(served.url)
        page.wait(f"document.querySelectorAll('#paths tbody tr').length === {len(EXPECTED)}", "the paths")
        words: dict[str, str] = page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('#paths tbody tr')]"
            ".map((row) => [row.dataset.path, row.querySelector('.word').innerText]))"
        )
    return words


def in_the_terminal(served: Served) -> dict[str, str]:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(screen(json.loads(served.get("/api/state")), 80))
    lines = [line.split() for line in console.export_text().splitlines()]
    return {cells[0]: cells[-1] for cells in lines if cells and cells[0] in EXPECTED}


def in_grafana(prometheus_url: str, panel: str, word_of: dict[str, str]) -> dict[str, str]:
    """By a committed panel's own query, and the words that its JSON has for the numbers."""
    board = json.loads((build.FOLDER / "overview.json").read_text())
    expression = next(p for p in board["panels"] if p["title"] == panel)["targets"][0]["expr"]
    return {
        one["metric"]["path"]: word_of[one["value"][1]] for one in ask_now(prometheus_url, fill(expression))
    }


def words_of(panel: str, field: str | None = None) -> dict[str, str]:
    """By number, from a committed panel's value mappings, its own or those of a field."""
    board = json.loads((build.FOLDER / "overview.json").read_text())
    config = next(p for p in board["panels"] if p["title"] == panel)["fieldConfig"]
    mappings = config["defaults"].get("mappings")
    if field is not None:
        override = next(o for o in config["overrides"] if o["matcher"]["options"] == field)
        mappings = next(p["value"] for p in override["properties"] if p["id"] == "mappings")
    return {number: shown["text"] for one in mappings for number, shown in one["options"].items()}


def test_one_word_at_one_moment(served: Served, tmp_path: Path) -> None:
    """The same rows: each display says what the exporter found, and what is expected of these rows."""
    if prometheus.program() is None:
        missing("prometheus")
    put_all(served)
    assert set(EXPECTED.values()) == BY_WORD.keys()
    with Supervisor(tmp_path / "parts") as supervisor:
        address = served.url.removeprefix("http://").rstrip("/")
        url = prometheus.Prometheus(supervisor, targets={"export": [address]}).start().url
        for panel, words in (
            ("Paths over time", words_of("Paths over time")),
            ("All paths", words_of("All paths", "State")),
        ):
            wait_until(
                lambda panel=panel, words=words: in_grafana(url, panel, words), 30, f"the states in {panel}"
            )
            assert in_grafana(url, panel, words) == EXPECTED
        assert in_the_terminal(served) == EXPECTED
        assert on_the_page(served, tmp_path / "profile") == EXPECTED
