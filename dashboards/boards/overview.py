"""Overview: all paths, the network under them and the monitor itself, on one page."""

from __future__ import annotations

from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.builders.dashboard import Row

from dashboards import style
from dashboards.boards import budgets
from dashboards.boards.shell import dashboard_frame, mesh_variable
from dashboards.queries import overview as q
from dashboards.style import instant_query, override, range_query, table_query
from streaming.states import BY_WORD

UID: Final = "inflight-overview"
_KEEP: Final = "${__url_time_range}&${datasource:queryparam}"
TO_PATH: Final = {
    "title": "Open the path ${__data.fields.Path}",
    "url": (
        f"/d/inflight-path?{_KEEP}&var-mesh=${{__data.fields.Mesh:percentencode}}"
        "&var-path=${__data.fields.Path:percentencode}"
    ),
}
TO_PATH_OF_SERIES: Final = {
    "title": "Open the path ${__field.labels.path}",
    "url": f"/d/inflight-path?{_KEEP}&${{mesh:queryparam}}&var-path=${{__field.labels.path:percentencode}}",
}
_LATER: Final = (
    "Figures are of final windows: they appear the window's length and the settle time after the event."
)


def _to(board: str) -> list[dict[str, str]]:
    return [{"title": "Open", "url": f"/d/inflight-{board}?{_KEEP}&${{mesh:queryparam}}"}]


def _linked(panel: Any, board: str) -> Any:
    return override(panel, "/.*/", links=_to(board))


def _figures() -> list[Any]:
    size = (3, 4)
    return [
        style.stat_panel(
            "Paths", "Paths that are configured or heard of.", "short", [instant_query(q.PATHS)], size=size
        ),
        style.stat_panel(
            "In outage",
            f"Paths in the state outage. {BY_WORD['outage'].rule}",
            "short",
            [instant_query(q.IN_OUTAGE)],
            size=size,
            steps=style.NONE_IS_GOOD,
        ),
        style.stat_panel(
            "Missing now",
            "Messages missing for longer than usual, not final yet: they may still come.",
            "short",
            [range_query(q.SUSPECT)],
            size=size,
            steps=style.NONE_IS_GOOD,
            sparkline=True,
        ),
        style.stat_panel(
            "Lost",
            f"Messages lost for good in the shown time, less those that came after all. {_LATER}",
            "short",
            [instant_query(q.LOST_ALL)],
            size=size,
            steps=style.NONE_IS_GOOD,
        ),
        style.stat_panel(
            "Slow paths",
            f"Paths in the state slow. {BY_WORD['slow'].rule}",
            "short",
            [instant_query(q.TOO_SLOW)],
            size=size,
            steps=style.SOME_IS_ODD,
        ),
        _linked(
            style.stat_panel(
                "Routers up",
                "Share of the routers whose last poll succeeded.",
                "percentunit",
                [instant_query(q.ROUTERS_UP)],
                size=size,
                steps=style.ALL_IS_GOOD,
                none="no collector",
            ),
            "routers",
        ),
        _linked(
            style.stat_panel(
                "Mesh differs",
                "Routers and links missing or unexpected against `expect` of the config.",
                "short",
                [instant_query(q.DIFFERENCES)],
                size=size,
                steps=style.NONE_IS_GOOD,
                none="no collector",
            ),
            "routers",
        ),
        _linked(
            style.stat_panel(
                "Monitor lag",
                "How long ago Kafka took the newest record that the Spark job has processed, while more wait."
                " Above 10 s the figures on this page are of the past. With `inflight run` there is no job"
                " and nothing here.",
                "s",
                [range_query(q.LAG)],
                size=size,
                steps=style.AGE,
                sparkline=True,
                none="no job",
            ),
            "pipeline",
        ),
    ]


def _table() -> Any:
    columns = {
        "path": "Path",
        "mesh": "Mesh",
        "Value #state": "State",
        "Value #p50": "p50",
        "Value #p99": "p99",
        "Value #spark": "p99 over time",
        "Value #share": "p99 of bound",
        "Value #worst": "Max",
        "Value #rate": "Received",
        "Value #missing": "Missing",
        "Value #lost": "Lost",
        "Value #budget": "Budget left",
        "Value #age": "Last received",
    }
    panel = style.table_panel(
        "All paths",
        "The worst first. p50 and max: of the newest final window; p99: of five minutes, its line and lost:"
        " of the shown time, each line by its own least and most; received: live; budget left: of the"
        " path's objective that has least left of 30 days. Click a path for its own page."
        f" {_LATER}",
        [
            table_query(q.STATE, ref="state"),
            table_query(q.P50, ref="p50"),
            table_query(q.P99, ref="p99"),
            style.range_table_query(q.SPARK, ref="spark"),
            table_query(q.SHARE_OF_BOUND, ref="share"),
            table_query(q.WORST, ref="worst"),
            table_query(q.RECEIVED, ref="rate"),
            table_query(q.MISSING, ref="missing"),
            table_query(q.LOST, ref="lost"),
            table_query(q.BUDGET_LEAST, ref="budget"),
            table_query(q.AGE, ref="age"),
        ],
        columns,
        size=(24, 8),
        sort="State",
        group=("path", "mesh"),
        sparks=("Value #spark",),
    )
    override(panel, "Path", links=[TO_PATH], custom__minWidth=120)
    override(panel, "Mesh", custom__width=90)
    override(
        panel,
        "State",
        mappings=style.mappings(style.PATH_STATES),
        custom__cellOptions={"type": "color-background", "mode": "basic"},
        custom__width=110,
    )
    for name in ("p50", "p99", "Max"):
        override(panel, name, unit="s", decimals=1, custom__width=85)
    override(
        panel,
        "p99 over time",
        unit="s",
        color=style.colour(style.BLUE),
        custom__cellOptions={"type": "sparkline", "hideValue": True, "lineInterpolation": "linear"},
        custom__width=220,
    )
    override(
        panel,
        "p99 of bound",
        unit="percentunit",
        decimals=0,
        max=1.5,
        min=0,
        thresholds=style.thresholds(style.SHARE_OF_BOUND),
        custom__cellOptions={"type": "gauge", "mode": "basic", "valueDisplayMode": "color"},
        custom__width=130,
    )
    override(panel, "Received", unit=style.MESSAGES, decimals=1, custom__width=110)
    for name in ("Missing", "Lost"):
        _coloured(panel, name, style.NONE_IS_GOOD, custom__width=80)
    _coloured(
        panel,
        "Budget left",
        style.BUDGET,
        unit="percentunit",
        decimals=0,
        mappings=style.mappings(budgets.USED_UP),
        custom__width=100,
    )
    _coloured(panel, "Last received", style.AGE, unit="s", decimals=1, custom__width=110)
    return panel


def _events() -> Any:
    panel = style.table_panel(
        "Faults and works",
        "What was recorded of the network in the shown time, done on purpose or not, the newest first.",
        [table_query(q.EVENTS)],
        {"Value": "When", "kind": "Kind", "text": "What"},
        size=(8, 7),
        sort="When",
        none="nothing was recorded",
    )
    override(panel, "When", unit="dateTimeFromNow", custom__width=140)
    override(panel, "Kind", custom__width=110)
    return override(panel, "What", custom__minWidth=150)


def _effects() -> Any:
    panel = style.table_panel(
        "What was done, and what it did",
        "Faults and deployments that were recorded, until an hour after their end, the newest first."
        " Detected: from the begin until a path's trouble was first shown. First alert: until one of"
        " Prometheus' rules began to fire; rules that Grafana evaluates are not seen here. Recovered: from"
        " the end until the first clean window of the last path that was touched. A dash says that there"
        " was none, or none yet. METRICS.md has the definitions.",
        [
            table_query(q.EVENT_BEGUN, ref="begun"),
            table_query(q.EVENT_LASTED, ref="lasted"),
            table_query(q.EVENT_DETECTED, ref="detected"),
            table_query(q.EVENT_ALERTED, ref="alerted"),
            table_query(q.EVENT_RECOVERED, ref="recovered"),
            table_query(q.EVENT_TOUCHED, ref="touched"),
            table_query(q.EVENT_LOST, ref="lost"),
        ],
        {
            "text": "Event",
            "kind": "Kind",
            "what": "Part",
            "Value #begun": "Begun",
            "Value #lasted": "Went on for",
            "Value #detected": "Detected after",
            "Value #alerted": "First alert after",
            "Value #recovered": "Recovered after",
            "Value #touched": "Paths touched",
            "Value #lost": "Lost",
        },
        size=(24, 6),
        sort="Begun",
    )
    override(panel, "Event", custom__minWidth=200)
    override(panel, "Went on for", unit="s", decimals=1, custom__width=110)
    for name in ("Kind", "Part"):
        override(panel, name, custom__width=110)
    override(panel, "Begun", unit="dateTimeFromNow", custom__width=140)
    for name in ("Detected after", "First alert after", "Recovered after"):
        override(panel, name, unit="s", decimals=1, custom__width=140)
    override(panel, "Paths touched", custom__width=120)
    _coloured(panel, "Lost", style.NONE_IS_GOOD, custom__width=100)
    return panel


def _matrix() -> Any:
    return style.matrix_panel(
        "Lost, from and to",
        "Share of the messages sent in the shown time that were lost, by the end point that they came from"
        " (rows) and the one that they went to (columns). A red row points at what is near a sender, a red"
        f" column at what is near a receiver. {_LATER}",
        "percentunit",
        table_query(q.LOST_SHARE),
        ("source", "target"),
        size=(14, 7),
        steps=((None, style.GREEN), (1e-9, style.YELLOW), (0.01, style.RED)),
        none="–",
    ).decimals(2)


def _backlog() -> Any:
    panel = style.bar_gauge_panel(
        "Backlog by hop, the largest",
        "Where messages wait now: to go out over links between routers, to receivers, and in queues; the"
        " eight largest. On the way to a hop that takes nothing they pile up before it.",
        "short",
        instant_query(q.HOP_BACKLOG),
        ("hop",),
        size=(10, 7),
        steps=((None, style.BLUE),),
        none="nothing waits",
    )
    return _linked(panel, "routers")


def _coloured(panel: Any, name: str, steps: style.Steps, **properties: object) -> Any:
    """Colour the figures of a column by thresholds."""
    return override(
        panel,
        name,
        thresholds=style.thresholds(steps),
        custom__cellOptions={"type": "color-text"},
        **properties,
    )


def build() -> dashboard.Dashboard:
    board = dashboard_frame(
        UID, "Overview", "How long do messages take right now, is any missing, and where does it stick?"
    ).with_variable(mesh_variable("path_info"))
    for panel in _figures():
        board = board.with_panel(panel)
    timeline = style.state_timeline_panel(
        "Paths over time",
        "The state of each path, as on the live page and in the terminal; METRICS.md has the rules."
        " Red marks are events, orange ones routers that were down.",
        [range_query(q.STATE, "{{path}}")],
        style.PATH_STATES,
        size=(16, 7),
    )
    override(timeline, "/.*/", links=[TO_PATH_OF_SERIES])
    board = board.with_panel(timeline).with_panel(_events())
    board = board.with_panel(_table()).with_panel(_effects())
    board = board.with_panel(_matrix()).with_panel(_backlog())
    board = board.with_row(Row("What is wrong, and for how long it may be"))
    missing = style.time_series_panel(
        "Missing, not final yet",
        "Messages missing for longer than usual, by path: the first sign of a fault, within about"
        " a second of it.",
        "short",
        [range_query(q.MISSING_BY_PATH, "{{path}}")],
        size=(8, 8),
        stacked=True,
    )
    lost = style.time_series_panel(
        "Lost since the beginning",
        f"Messages lost since the beginning of the shown time, by path: a step is a loss, its"
        f" height how many. {_LATER}",
        "short",
        [range_query(q.LOST_BY_PATH, "{{path}}")],
        size=(8, 8),
        stacked=True,
    )
    budget = budgets.panel(
        "Error budgets of 30 days, the eight worst",
        q.BUDGETS_LEFT,
        q.BUDGETS_USED,
        q.OVERSPENT_SINCE,
        {"path": "Path", "slo": "Objective"},
        size=(8, 8),
    )
    slow = style.bar_gauge_panel(
        "Slowest five, p99 of 5 minutes",
        "From the histograms of all final windows in five minutes.",
        "s",
        instant_query(q.WORST_P99),
        ("path",),
        size=(8, 7),
        steps=((None, style.BLUE),),
    )
    queues = style.table_panel(
        "Queues at risk",
        "Queues with messages and no consumer, the five deepest.",
        [table_query(q.QUEUES_AT_RISK)],
        {"broker": "Broker", "queue": "Queue", "Value": "Messages"},
        size=(8, 7),
        none="no queue waits without a consumer",
    )
    ends = style.stat_panel(
        "Is the monitor well?",
        "Probe ends that are not connected, attached or without credit; seconds since the Spark"
        " job's last batch;"
        " windows whose classes do not add up. All of them are 0 or near when the monitor is well.",
        "short",
        [
            instant_query(q.ENDS_DOWN, "probe ends down", ref="A"),
            instant_query(q.PROGRESS, "since last batch", ref="B"),
            instant_query(q.ERRORS, "books that do not balance", ref="C"),
        ],
        size=(8, 7),
        steps=style.NONE_IS_GOOD,
        names=True,
    )
    override(ends, "since last batch", unit="s", decimals=1, thresholds=style.thresholds(style.AGE))
    for panel in (missing, lost, budget, slow, queues, _linked(ends, "pipeline")):
        board = board.with_panel(panel)
    return board
