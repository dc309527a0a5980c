"""Path: everything about one path."""

from __future__ import annotations

from typing import Any, Final

from grafana_foundation_sdk.builders import common, dashboard, heatmap
from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models import common as common_models
from grafana_foundation_sdk.models import heatmap as heatmap_models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards import style
from dashboards.boards import budgets
from dashboards.boards.shell import dashboard_frame, label_variable, mesh_variable
from dashboards.queries import path as q
from dashboards.style import colour, instant_query, override, range_query, table_query

UID: Final = "inflight-path"
_LATER: Final = (
    "Figures are of final windows: they appear the window's length and the settle time after the event."
)
_DASHED: Final = {"fill": "dash", "dash": [6, 4]}


def _figures() -> list[Any]:
    size = (3, 4)
    return [
        style.stat_panel(
            "State",
            "The state of the path, as on the live page and in the terminal; METRICS.md has the rules.",
            "short",
            [instant_query(q.STATE)],
            size=size,
            words=style.PATH_STATES,
        ),
        style.stat_panel(
            "p99",
            "Response time that 99 of 100 messages of the last minute's final windows kept.",
            "s",
            [range_query(q.P99)],
            size=size,
            steps=((None, style.BLUE),),  # what is too slow, the objective says
            sparkline=True,
        ),
        style.stat_panel(
            "Received",
            "Messages received a second, live, as the probe counts them.",
            style.MESSAGES,
            [range_query(q.RECEIVED)],
            size=size,
            sparkline=True,
        ),
        style.stat_panel(
            "Lost",
            "Messages lost for good in the shown time, less those that came after all.",
            "short",
            [instant_query(q.LOST)],
            size=size,
            steps=style.NONE_IS_GOOD,
        ),
        style.stat_panel(
            "Refused",
            "Messages that the network gave back in the shown time: rejected, released or modified.",
            "short",
            [instant_query(q.REFUSED)],
            size=size,
            steps=style.SOME_IS_ODD,
        ),
        style.stat_panel(
            "Outage",
            "Send time in the shown time in which nothing was delivered of what was sent.",
            "s",
            [instant_query(q.OUTAGE_TOTAL)],
            size=size,
            steps=((None, style.GREEN), (0.05, style.YELLOW), (5, style.RED)),
        ),
        style.stat_panel(
            "Last received",
            "Since the last message was received, whatever was sent.",
            "s",
            [instant_query(q.AGE)],
            size=size,
            steps=style.AGE,
        ),
        style.stat_panel(
            "Budget left",
            budgets.ABOUT,
            "percentunit",
            [instant_query(q.BUDGET_LEFT, "{{slo}}")],
            size=size,
            steps=style.BUDGET,
            words=budgets.USED_UP,
            names=True,
            none="no objectives",
        ),
    ]


def _who() -> Any:
    columns = {
        "address": "Address",
        "source": "From",
        "target": "To",
        "via": "Through",
        "settlement": "Settlement",
    }
    return style.table_panel(
        "This path", "As the config and the data say.", [table_query(q.WHO)], columns, size=(24, 3)
    )


def _heatmap() -> Any:
    return (
        heatmap.Panel()
        .title("Response latency")
        .description(
            "How many messages took how long, from the moment each was due: the brighter, the more."
            f" A second band is a second way, a queue or a pause. {_LATER}"
        )
        .datasource(style.SOURCE)
        .targets([range_query(q.HEATMAP, "{{le}}").format(PromQueryFormat.HEATMAP)])
        .unit("s")
        .thresholds(style.thresholds(style.PLAIN))
        .calculate(False)
        .color(
            heatmap.HeatmapColorOptions()
            .mode(heatmap_models.HeatmapColorMode.SCHEME)
            .scheme("Oranges")
            .scale(heatmap_models.HeatmapColorScale.EXPONENTIAL)
            .exponent(0.5)
            .steps(64)
        )
        .cell_gap(1)
        .filter_values(heatmap.FilterValueRange().le(1e-9))
        .y_axis(heatmap.YAxisConfig().unit("s").axis_placement(common_models.AxisPlacement.LEFT).decimals(1))
        .rows_frame(heatmap.RowsHeatmapOptions().layout(common_models.HeatmapCellLayout.AUTO))
        .show_legend()
        .show_tooltip()
        .span(12)
        .height(9)
    )


def _percentiles() -> Any:
    panel = style.time_series_panel(
        "Latency of each window",
        "Response: from when a message was due; service: from when it was sent. Where they part,"
        " the sender was"
        f" held up, by credit or by itself. The dashed red line is the objective's bound. {_LATER}",
        "s",
        [
            range_query(q.RESPONSE, "response p{{quantile}}", ref="A"),
            range_query(q.SERVICE, "service max", ref="B"),
            range_query(q.BOUND, "bound", ref="C"),
        ],
        size=(12, 9),
    )
    panel = panel.fill_opacity(0).scale_distribution(
        common.ScaleDistributionConfig().type(common_models.ScaleDistribution.LOG).log(10)
    )
    for name, words, shade in (
        ("response p0.5", "response p50", style.GREEN),
        ("response p0.99", "response p99", style.BLUE),
        ("response p1", "response max", style.GREY),
    ):
        override(panel, name, displayName=words, color=colour(shade))
    override(
        panel,
        "service max",
        color=colour(style.PURPLE),
        custom__lineStyle=_DASHED,
    )
    return override(panel, "bound", color=colour(style.RED), custom__lineStyle=_DASHED, custom__fillOpacity=0)


def _classes() -> Any:
    panel = style.time_series_panel(
        "Where the messages went",
        "Each message sent is in exactly one class; the height is what was sent. Counted when"
        " windows are final: after"
        f" a pause of the monitor many come at once. {_LATER}",
        style.MESSAGES,
        [range_query(q.CLASSES, "{{class}}")],
        size=(12, 9),
        stacked=True,
    )
    for name, shade in style.CLASS_COLOURS.items():
        override(panel, name, color=colour(shade))
    return panel


def _missing() -> Any:
    panel = style.time_series_panel(
        "Missing and outage",
        "Missing: longer away than usual, not final yet. Pending: sent, not final yet."
        " Outage: the running stretch of send time with nothing delivered; right axis.",
        "short",
        [
            range_query(q.SUSPECT, "missing", ref="A"),
            range_query(q.PENDING, "pending", ref="B"),
            range_query(q.OUTAGE, "outage", ref="C"),
        ],
        size=(12, 9),
    )
    override(panel, "missing", color=colour(style.ORANGE))
    override(panel, "pending", color=colour(style.GREY), custom__fillOpacity=0)
    return override(
        panel,
        "outage",
        unit="s",
        color=colour(style.RED),
        custom__axisPlacement="right",
        custom__fillOpacity=25,
    )


def _where() -> Any:
    columns = {
        "place": "#",
        "hop": "Hop",
        "Value #in": "In",
        "Value #out": "Out",
        "Value #lost": "Lost",
        "Value #refused": "Refused",
        "cause": "Cause",
        "Value #delay": "Delay",
    }
    panel = style.table_panel(
        "Where",
        "Which hop lost or refused messages in the shown time, and by which cause; (no hop): what no hop"
        " explains. #, in and out are of the route in the newest episode, until ten minutes after its end;"
        " delay is of a slow episode that goes on. The runbook has a section for each cause;"
        " `inflight why PATH` tells the evidence.",
        [
            table_query(q.WHERE_IN, ref="in"),
            table_query(q.WHERE_OUT, ref="out"),
            table_query(q.WHERE_LOST, ref="lost"),
            table_query(q.WHERE_REFUSED, ref="refused"),
            table_query(q.WHERE_DELAY, ref="delay"),
        ],
        columns,
        size=(24, 7),
        none="no hop lost, refused or delayed anything",
    ).sort_by([common.TableSortByFieldState().display_name("#").desc(False)])
    override(panel, "#", custom__width=60)
    override(panel, "/.*/", noValue="–")  # a cell; the text is for the whole panel
    override(panel, "Hop", custom__minWidth=200)
    for name in ("In", "Out", "Lost", "Refused"):
        override(panel, name, unit="locale")  # they are compared, to the message
    for name in ("Lost", "Refused"):
        override(
            panel,
            name,
            thresholds=style.thresholds(style.NONE_IS_GOOD),
            custom__cellOptions={"type": "color-text"},
        )
    return override(panel, "Delay", unit="s", decimals=1)


def _jitter() -> Any:
    panel = style.time_series_panel(
        "Jitter",
        "Variation of the delay from message to message: percentiles of its size, and the largest"
        " of each sign. Above"
        " 0 a message was held up, below it one caught up.",
        "s",
        [
            range_query(q.JITTER, "p{{quantile}}", ref="A"),
            range_query(q.JITTER_MAX, "held up most", ref="B"),
            range_query(q.JITTER_MIN, "caught up most", ref="C"),
        ],
        size=(8, 8),
    )
    override(panel, "p0.5", displayName="p50")
    override(panel, "p0.99", displayName="p99")
    override(
        panel, "p1", displayName="largest", custom__hideFrom={"viz": True, "legend": True, "tooltip": True}
    )
    override(panel, "/.*most/", custom__lineStyle=_DASHED, custom__fillOpacity=0)
    return panel


def _odd() -> Any:
    queries = [
        range_query(expression, kind.replace("_", " "), ref=kind) for kind, expression in q.ODD.items()
    ]
    return style.time_series_panel(
        "Order and copies",
        "Messages that came twice, marked as redelivered, after later ones, after their window was"
        " final, with"
        " numbers nobody sent, of other senders, or before they were sent by the clocks.",
        "short",
        queries,
        size=(8, 8),
        bars=True,
        stacked=True,
    )


def _rates() -> Any:
    panel = style.time_series_panel(
        "Sent, received, not sent",
        "Live counts of the probes: attempts to send and messages received; below 0 what was due"
        " and given up, by"
        " reason. Received drops at once where a fault begins; final windows follow.",
        style.MESSAGES,
        [
            range_query(q.ASKED, "sent", ref="A"),
            range_query(q.RECEIVED, "received", ref="B"),
            range_query(f"-{q.UNSENT}", "not sent: {{reason}}", ref="C"),
        ],
        size=(8, 8),
    )
    override(panel, "sent", color=colour(style.BLUE), custom__fillOpacity=0, custom__lineStyle=_DASHED)
    return override(panel, "received", color=colour(style.GREEN))


def _clock() -> Any:
    panel = style.time_series_panel(
        "Clocks",
        "The receiver's clock less the sender's, with the bounds of its error. An error near the"
        " p50 means that"
        " latencies say more of clocks than of the network.",
        "s",
        [
            range_query(q.CLOCK, "offset", ref="A"),
            range_query(q.CLOCK_HIGH, "offset + error", ref="B"),
            range_query(q.CLOCK_LOW, "offset − error", ref="C"),
            range_query(q.P50, "p50", ref="D"),
        ],
        size=(8, 8),
    )
    override(panel, "/error/", custom__lineStyle=_DASHED, custom__fillOpacity=0, color=colour(style.GREY))
    return override(panel, "p50", color=colour(style.BLUE), custom__fillOpacity=0)


def _burn() -> Any:
    return style.time_series_panel(
        "Budget burned, times what lasts 30 days",
        "1 uses the budget up in exactly 30 days; 14.4 wakes somebody, 6 writes a ticket. Of the last hour.",
        "short",
        [range_query(q.BURN, "{{slo}}")],
        size=(8, 8),
        steps=((None, style.GREEN), (6, style.YELLOW), (14.4, style.RED)),
        show_steps=True,
    )


def _sli() -> Any:
    return style.time_series_panel(
        "Objectives kept",
        f"Share of messages that met each objective. {_LATER}",
        "percentunit",
        [range_query(q.SLI, "{{slo}}")],
        size=(8, 8),
    ).max(1)


def build() -> dashboard.Dashboard:
    board = (
        dashboard_frame(UID, "Path", "One path: how long, what is missing, and since when.")
        .with_variable(mesh_variable("path_info"))
        .with_variable(
            label_variable(
                "path",
                "Path",
                'path_info{mesh=~"$mesh"}',
                "The path that this page is about.",
                several=False,
            )
        )
    )
    for panel in (*_figures(), _percentiles(), _heatmap(), _classes(), _missing(), _where()):
        board = board.with_panel(panel)
    board = board.with_row(Row("In detail"))
    ends = style.state_timeline_panel(
        "Probe ends",
        "Connected, attached and, a sender, with credit. A sender without credit is being held"
        " back by the network.",
        [range_query(q.ENDS, "{{end}} ({{site}})")],
        style.UP,
        size=(8, 8),
    )
    for panel in (_rates(), _jitter(), _odd(), _sli(), _burn(), _clock()):
        board = board.with_panel(panel)
    objectives = budgets.panel(
        "Error budgets of 30 days",
        q.BUDGET_LEFT,
        q.BUDGET_USED,
        q.OVERSPENT_SINCE,
        {"slo": "Objective"},
        size=(8, 6),
    )
    for panel in (ends.span(8).height(6), objectives, _who().span(8).height(6)):
        board = board.with_panel(panel)
    return board
