"""The dashboards: as the code makes them, and each panel as a reader needs it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner

from dashboards import build
from dashboards.panel_queries import fill, queries
from dashboards.promql import SERIES, metrics
from deploy.cli import main

BOARDS: dict[str, dict[str, Any]] = {
    file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(build.FOLDER.glob("*.json"))
}
PANELS = [
    pytest.param(panel, id=f"{name}: {panel['title']}")
    for name, board in BOARDS.items()
    for panel in board["panels"]
    if panel["type"] != "row"
]


def test_committed_files_are_what_the_code_makes() -> None:
    """Whoever changes the code builds the files; `build --check` says so."""
    assert {name: build.text(board) for name, board in build.dashboards().items()} == {
        name: (build.FOLDER / f"{name}.json").read_text(encoding="utf-8") for name in BOARDS
    }
    assert list(BOARDS) == ["brokers", "overview", "path", "pipeline", "routers"]


def test_check_finds_a_stale_file(tmp_path: Any) -> None:
    """Exit status 1 and the names, and nothing is written; `build` puts it right."""
    runner = CliRunner()
    assert runner.invoke(main, ["dashboards", "build", "--out", str(tmp_path)]).exit_code == 0
    (tmp_path / "path.json").write_text("{}")
    found = runner.invoke(main, ["dashboards", "build", "--check", "--out", str(tmp_path)])
    assert found.exit_code == 1
    assert "not as the code makes them: path; run `inflight dashboards build`" in found.output
    assert (tmp_path / "path.json").read_text() == "{}"
    again = runner.invoke(main, ["dashboards", "build", "--out", str(tmp_path)])
    assert "1 files written" in again.output


@pytest.mark.parametrize("panel", PANELS)
def test_each_panel_can_be_read_alone(panel: dict[str, Any]) -> None:
    """Title, a description that says more than the title, unit, thresholds, and the chosen data source."""
    assert panel["title"]
    assert len(panel["description"]) > len(panel["title"])
    assert panel["datasource"]["uid"] == "${datasource}"
    assert panel["targets"]
    defaults = panel["fieldConfig"]["defaults"]
    assert defaults["unit"]
    assert defaults["thresholds"]["steps"]


@pytest.mark.parametrize("name", BOARDS)
def test_each_dashboard_fits_into_the_set(name: str) -> None:
    """Fixed uid, shared crosshair, refresh, marks of events, and links that keep time, mesh and path."""
    board = BOARDS[name]
    assert board["uid"] == f"inflight-{name}"
    assert board["graphTooltip"] == 1
    assert board["refresh"] == "10s"
    assert [v["name"] for v in board["templating"]["list"]][:2] == ["datasource", "mesh"]
    assert "Events" in {a["name"] for a in board["annotations"]["list"]}
    link = board["links"][0]
    assert (link["type"], link["tags"], link["keepTime"], link["includeVars"]) == (
        "dashboards",
        ["inflight"],
        True,
        True,
    )


@pytest.mark.parametrize("name", BOARDS)
def test_variables_can_be_told_apart(name: str) -> None:
    """Grafana keys them by `id` where there is one: the same for all would make them one."""
    variables = BOARDS[name]["templating"]["list"]
    assert not [v for v in variables if "id" in v]
    for variable in variables[2:]:
        assert "$mesh" in variable["query"]["query"], "it is chained to the mesh"


@pytest.mark.parametrize("name", BOARDS)
def test_panels_lie_on_the_page_without_overlap(name: str) -> None:
    """Each cell of the grid of 24 columns belongs to one panel at most."""
    taken: set[tuple[int, int]] = set()
    for panel in BOARDS[name]["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert max(x for x, _ in cells) < 24, panel["title"]
        assert not taken & cells, panel["title"]
        taken |= cells


@pytest.mark.parametrize("name", BOARDS)
def test_queries_read_what_is_exported(name: str) -> None:
    """Every series is in the catalogue: no recorded one, for not everybody loads the recording rules.

    But for when the first alert fired: who loads no rules has no alerts in Prometheus either.
    """
    recorded = {"inflight:event_alerted:seconds"}
    for query in queries(BOARDS[name]):
        assert metrics(query.expression), query
        assert metrics(query.expression) <= SERIES.keys() | recorded, query


@pytest.mark.parametrize("name", BOARDS)
def test_percentiles_are_not_averaged(name: str) -> None:
    """Neither in PromQL, nor in the browser: the mean of percentiles is the percentile of nothing."""
    for query in queries(BOARDS[name]):
        if "quantile" in query.expression:
            assert "avg" not in query.expression, query
    for panel in BOARDS[name]["panels"]:
        text = json.dumps(panel.get("options", {}))
        assert '"mean"' not in text, panel["title"]


def test_the_table_of_paths_tells_the_course_of_each() -> None:
    """A row for each path with a line of its p99, colours by objective, and a link to the path's own page."""
    table = next(p for p in BOARDS["overview"]["panels"] if p["title"] == "All paths")
    steps = {step["id"]: step["options"] for step in table["transformations"]}
    grouped = steps["groupBy"]["fields"]
    assert {name for name, how in grouped.items() if how["operation"] == "groupby"} == {"path", "mesh"}
    assert grouped["Value #spark"]["aggregations"] == ["allValues"]
    spark = next(t for t in table["targets"] if t["refId"] == "spark")
    assert (spark["range"], spark["format"]) == (True, "table")
    assert table["maxDataPoints"] == 100  # of hundreds of paths
    # What groupBy calls a field is what the next steps look for.
    made = {f"{name} ({how['aggregations'][0]})" for name, how in grouped.items() if how["aggregations"]}
    shown = steps["organize"]["renameByName"]
    assert shown.keys() == made | {"path", "mesh"}
    assert all(re.fullmatch(steps["filterFieldsByName"]["include"]["pattern"], name) for name in shown)
    assert made == {
        f"Value #{t['refId']} ({'allValues' if t is spark else 'last'})" for t in table["targets"]
    }
    fields = {
        one["matcher"]["options"]: {p["id"]: p["value"] for p in one["properties"]}
        for one in table["fieldConfig"]["overrides"]
        if one["matcher"]["id"] == "byName"
    }
    assert fields["p99 over time"]["custom.cellOptions"]["type"] == "sparkline"
    assert fields["p99 of bound"]["thresholds"]["steps"][-1] == {"value": 1, "color": "red"}
    assert fields["Path"]["links"][0]["url"].startswith("/d/inflight-path?")


def test_variables_are_filled_for_trying_queries() -> None:
    """What the browser would fill in stands for everything."""
    assert fill('a{mesh=~"$mesh",path="$path"}') == 'a{mesh=~".*",path=~".*"}'


@pytest.mark.parametrize("panel", [p for p in PANELS if p.values[0]["type"] == "bargauge"])
def test_names_of_bars_stay_small(panel: dict[str, Any]) -> None:
    """Grafana writes them as large as there is room: with one or two bars larger than the panel's figures."""
    assert panel["options"]["text"]["titleSize"] <= 16


def test_what_is_not_there_is_a_dash_without_colour() -> None:
    """A cell of *Where* does not say what is meant for the panel, and one of the matrix is not green."""
    panels = {panel["title"]: panel for name in ("overview", "path") for panel in BOARDS[name]["panels"]}
    everywhere = [
        told
        for override in panels["Where"]["fieldConfig"]["overrides"]
        if override["matcher"]["options"] == "/.*/"
        for told in override["properties"]
    ]
    assert {"id": "noValue", "value": "–"} in everywhere
    matrix = panels["Lost, from and to"]["fieldConfig"]["overrides"][0]["properties"]
    nothing = {"match": "null", "result": {"text": "–", "color": "transparent"}}
    assert {"id": "mappings", "value": [{"type": "special", "options": nothing}]} in matrix
