"""Lost and refused over a time, as a panel asks for them: whole messages, as a real Prometheus reckons."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers import missing

from dashboards.alerts import files
from dashboards.panel_queries import fill
from dashboards.queries import overview, path, pipeline, routers
from dashboards.queries.counted import messages_of_class

_LOST = 'inflight_path_messages_total{mesh="m",path="p",class="lost"}'
_FROM = 'inflight_path_reclassified_messages_total{mesh="m",path="p",from="lost",to="received"}'
_TO = 'inflight_path_reclassified_messages_total{mesh="m",path="p",from="unobserved",to="lost"}'


@pytest.mark.parametrize(
    ("story", "lost", "came", "went", "expected"),
    [
        ("all of it within the range", "0x34 143x16", "0x50", "0x50", 143),
        ("some before the range", "7x34 150x16", "0x50", "0x50", 143),
        ("some arrived after all", "0x34 143x16", "0x50", "0x40 3x10", 140),
        ("some turned out to be lost", "0x34 143x16", "0x40 2x10", "0x50", 145),
        ("all of it before the range", "0x10 143x40", "0x50", "0x50", 0),
        ("the path came within the range", "_x34 143x16", "_x34 0x16", "_x34 0x16", 143),
        ("counters began anew within the range", "500x34 20x16", "9x34 0x16", "9x34 0x16", 20),
        ("what was lost before arrived now", "7x50", "0x50", "0x34 7x16", 0),
    ],
)
def test_what_was_lost_is_told_to_the_message(
    story: str, lost: str, came: str, went: str, expected: int, tmp_path: Path
) -> None:
    """However the counters' samples lie to the edges of the range; increase() would say 145 for 143."""
    expression = messages_of_class("lost", 'mesh=~"m"').replace("$__range", "5m")
    series = {_LOST: lost, _TO: came, _FROM: went}
    found = [{"labels": '{mesh="m",path="p"}', "value": expected}]
    _finds(tmp_path, expression, series, found, story)


_AT = "727s"  # between two samples: increase() stretches to the edges
_P = 'mesh="m",path="p"'
_ERRORS = "inflight_exporter_accounting_errors_total"
_OUTAGE = f"inflight_path_outage_seconds_total{{{_P}}}"
_DROPPED = 'inflight_router_outcomes_total{mesh="m",router="r",outcome="released"}'
_UNOBSERVED = f'inflight_path_messages_total{{{_P},class="unobserved"}}'
_RECEIVED = f'inflight_path_messages_total{{{_P},class="received"}}'
_NO_MOVES = {
    f'inflight_path_reclassified_messages_total{{{_P},from="unobserved",to="lost"}}': "0x50",
    f'inflight_path_reclassified_messages_total{{{_P},from="lost",to="unobserved"}}': "0x50",
}


@pytest.mark.parametrize(
    ("expression", "series", "expected"),
    [
        (overview.ERRORS, {_ERRORS: "0x34 1 3x16"}, 3),
        (pipeline.ERRORS, {_ERRORS: "7x34 9x16"}, 2),
        (pipeline.ERRORS, {_ERRORS: "7x32 9 9 1x16"}, 3),  # the exporter was started anew
        (path.OUTAGE_TOTAL, {_OUTAGE: "0x34 12x16"}, 12),
        (path.OUTAGE_TOTAL, {_OUTAGE: "30x34 42x16"}, 12),
        (routers.TABLE_DROPPED, {_DROPPED: "5x34 25x16"}, 20),
        (routers.TABLE_DROPPED, {_DROPPED: "5x32 25 25 10x16"}, 30),  # the collector was started anew
        (
            pipeline.UNOBSERVED,
            {_UNOBSERVED: "0x34 20x16", _RECEIVED: "0x30 80x20", **_NO_MOVES},
            0.2,
        ),
    ],
)
def test_tiles_of_the_shown_time_count_exactly(
    expression: str, series: dict[str, str], expected: float, tmp_path: Path
) -> None:
    """What came within the range: neither stretched to its edges, nor lost with a restart in it."""
    asked = fill(expression).replace("$__range", "5m").replace("$__interval", "15s")
    found = [{"labels": '{mesh="m",router="r"}' if "router" in asked else "{}", "value": expected}]
    _finds(tmp_path, asked, series, found)


@pytest.mark.parametrize(
    ("expression", "series", "expected"),
    [
        *(
            (expression, {f"inflight_path_{kind}_messages_total{{{_P}}}": "2x34 3 6x16"}, 4)
            for kind, expression in path.ODD.items()
        ),
        (pipeline.DEAD_ALL, {'inflight_stream_dead_letters_total{reason="inflated"}': "0x34 5x16"}, 5),
        (pipeline.DEAD_ALL, {'inflight_stream_dead_letters_total{reason="inflated"}': "9x34 5x16"}, 5),
        (pipeline.DEAD_ALL, {'inflight_stream_dead_letters_total{reason="inflated"}': "_x40 9x16"}, 0),
        (pipeline.IGNORED_ALL, {'inflight_stream_ignored_total{reason="x"}': "1x34 4x16"}, 3),
        (pipeline.LOST_RECORDS, {"inflight_stream_records_lost_total": "0x34 7x16"}, 7),
        (pipeline.RESTARTS, {"inflight_stream_restarts_total": "0x34 1x16"}, 1),
        (pipeline.DROPPED, {'inflight_sink_dropped_seconds_total{part="p"}': "0x34 2x16"}, 2),
        (pipeline.DEAD, {'inflight_stream_dead_letters_total{reason="r"}': "0x34 5x16"}, 5),
        (pipeline.IGNORED, {'inflight_stream_ignored_total{reason="r"}': "0x34 5x16"}, 5),
        (path.HEATMAP, {f'inflight_path_response_latency_seconds_bucket{{{_P},le="1"}}': "0x34 50x16"}, 50),
    ],
)
def test_the_steps_of_a_graph_add_up_to_what_came(
    expression: str, series: dict[str, str], expected: float, tmp_path: Path
) -> None:
    """Each message is in one bar; what was started anew counts from 0, what was just found not at all."""
    step = fill(expression).replace("$__range", "5m").replace("$__interval", "15s")
    step = step.replace("$__rate_interval", "1m")
    _finds(tmp_path, f"sum(sum_over_time(({step})[5m:15s])) or vector(0)", series, [{"value": expected}])


def test_alerts_that_tell_a_count_tell_whole_messages(tmp_path: Path) -> None:
    """Of three copies and two expired messages; increase() would tell of 3.077 and 2.051."""
    series = {
        f"inflight_path_duplicate_messages_total{{{_P}}}": "4x34 7x16",
        'inflight_broker_queue_expired_messages_total{mesh="m",broker="b",queue="q"}': "1x34 3x16",
    }
    for name, value in (("DuplicatesReceived", 3), ("MessagesExpired", 2)):
        expression = next(rule.expr for group in files.INFO for rule in group.rules if rule.name == name)
        labels = '{mesh="m",path="p"}' if value == 3 else '{mesh="m",broker="b",queue="q"}'
        _finds(tmp_path, expression, series, [{"labels": labels, "value": value}])


_AT_C = 'hop="C → receiver",cause="dropped"'
_NO_HOP = 'hop="(no hop)",cause="unexplained"'
_EXPLAINED = f'inflight_path_explained_messages_total{{{_P},class="lost",{_AT_C}}}'
_REFUSED = f'inflight_path_explained_messages_total{{{_P},class="refused",hop="B",cause="released"}}'
_REST = f'inflight_path_unexplained_messages_total{{{_P},class="lost"}}'


def _revised(direction: str, hop: str, cause: str) -> str:
    labels = f'{_P},class="lost",hop="{hop}",cause="{cause}",direction="{direction}"'
    return f"inflight_path_reexplained_messages_total{{{labels}}}"


def _samples(values: dict[str, float]) -> list[dict[str, Any]]:
    return [{"labels": f"{{{labels}}}", "value": value} for labels, value in values.items()]


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (
            {_EXPLAINED: "_x34 211x16", _REST: "0x34 3x16"},
            {_AT_C: 211, _NO_HOP: 3},
        ),
        ({_EXPLAINED: "40x34 251x16", _REST: "9x50", _REFUSED: "0x34 7x16"}, {_AT_C: 211}),
        ({_EXPLAINED: "40x50", _REST: "0x50"}, {}),
        (
            {
                _EXPLAINED: "_x34 211x16",
                _revised("removed", "C → receiver", "dropped"): "_x40 60x10",
                _revised("added", "A → C", "dropped"): "_x40 57x10",
                _revised("added", "", "unexplained"): "_x40 3x10",
                _REST: "0x34 3x16",
            },
            {_AT_C: 151, 'hop="A → C",cause="dropped"': 57, _NO_HOP: 6},
        ),
    ],
    ids=["within the range", "some before, and others refused", "all before", "revised"],
)
def test_what_hops_lost_in_the_shown_time(
    series: dict[str, str], expected: dict[str, float], tmp_path: Path
) -> None:
    """By hop and cause, with what revisions changed, and what no hop explains."""
    _finds(tmp_path, fill(path.WHERE_LOST).replace("$__range", "5m"), series, _samples(expected))


def test_the_route_stands_beside_what_it_lost(tmp_path: Path) -> None:
    """What entered each stop, once for each cause there; a hop that is on it twice ends no query."""

    def entered(place: str, hop: str) -> str:
        return f'inflight_path_route_messages{{{_P},place="{place}",hop="{hop}",flow="in"}}'

    series = {
        _EXPLAINED: "211x50",
        _EXPLAINED.replace("dropped", "gone"): "1x50",
        entered("01", "A"): "500x50",
        entered("02", "C → receiver"): "400x50",
        entered("03", "A"): "30x50",
    }
    expected = {
        'place="01",hop="A"': 500.0,
        'place="02",hop="C → receiver",cause="dropped"': 400,
        'place="02",hop="C → receiver",cause="gone"': 400,
    }
    _finds(tmp_path, fill(path.WHERE_IN), series, _samples(expected))


def test_shares_lost_from_and_to(tmp_path: Path) -> None:
    """Of all paths between two end points together."""
    series = {}
    for name, target, sent, lost in (("p", "west", 150, 15), ("q", "west", 50, 5), ("r", "south", 100, 0)):
        labels = f'mesh="m",path="{name}"'
        series |= {
            f'inflight_path_info{{{labels},source="east",target="{target}"}}': "1x50",
            f"inflight_path_sent_messages_total{{{labels}}}": f"0x34 {sent}x16",
            f'inflight_path_messages_total{{{labels},class="lost"}}': f"0x34 {lost}x16",
            f'inflight_path_reclassified_messages_total{{{labels},from="lost",to="received"}}': "0x50",
            f'inflight_path_reclassified_messages_total{{{labels},from="none",to="lost"}}': "0x50",
        }
    asked = fill(overview.LOST_SHARE).replace("$__range", "5m")
    expected = {'source="east",target="west"': 0.1, 'source="east",target="south"': 0}
    _finds(tmp_path, asked, series, _samples(expected))


def test_backlog_by_hop(tmp_path: Path) -> None:
    """Between routers, before receivers and in queues, and nothing where nothing waits."""
    link = 'inflight_router_link_undelivered_messages{mesh="m",router="A",'
    queue = 'inflight_broker_queue_messages{mesh="m",broker="b",address="o",'
    series = {
        f'{link}peer="B",address="",direction="out",type="inter-router"}}': "30x50",
        f'{link}peer="B",address="",direction="out",type="router-control"}}': "99x50",
        f'{link}peer="",address="q",direction="out",type="endpoint"}}': "20x50",
        f'{queue}queue="orders"}}': "10x50",
        f'{queue}queue="empty"}}': "0x50",
    }
    expected = {'hop="A → B"': 30.0, 'hop="A → q"': 20, 'hop="b: orders"': 10}
    _finds(tmp_path, fill(overview.HOP_BACKLOG), series, _samples(expected))


def _finds(
    folder: Path, expression: str, series: dict[str, str], samples: list[dict[str, Any]], story: str = ""
) -> None:
    """As Prometheus evaluates it, over one sample of each series in 15 s."""
    if shutil.which("promtool") is None:
        missing("promtool")
    test = {
        "name": story,
        "interval": "15s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": expression, "eval_time": _AT, "exp_samples": samples}],
    }
    file = folder / "counted.yml"
    file.write_text(yaml.safe_dump({"rule_files": [], "tests": [test]}))
    done = subprocess.run(
        ["promtool", "test", "rules", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
