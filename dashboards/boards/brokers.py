"""Brokers: queues, limits and JVM."""

from __future__ import annotations

from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.builders.dashboard import Row

from dashboards import style
from dashboards.boards.shell import dashboard_frame, label_variable, mesh_variable
from dashboards.queries import brokers as q
from dashboards.style import colour, instant_query, override, range_query, table_query

UID: Final = "inflight-brokers"


def _figures() -> list[Any]:
    size = (4, 4)
    return [
        style.stat_panel(
            "Up",
            "Whether the last poll succeeded.",
            "short",
            [instant_query(q.UP, "{{broker}}")],
            size=size,
            words=style.UP,
            names=True,
        ),
        style.stat_panel(
            "Running for",
            "Since the broker's process started.",
            "s",
            [instant_query(q.UPTIME, "{{broker}}")],
            size=size,
            names=True,
        ),
        style.stat_panel(
            "Messages in queues",
            "In all queues that are watched.",
            "short",
            [range_query(q.MESSAGES)],
            size=size,
            sparkline=True,
        ),
        style.stat_panel(
            "Queues at risk",
            "Queues with messages and without a consumer.",
            "short",
            [instant_query(q.AT_RISK)],
            size=size,
            steps=style.NONE_IS_GOOD,
        ),
        style.stat_panel(
            "Addresses paging",
            "Addresses that write to disk because their memory is full.",
            "short",
            [instant_query(q.PAGING)],
            size=size,
            steps=style.NONE_IS_GOOD,
        ),
        style.stat_panel(
            "Fullest limit",
            "The fullest of disk store and memory for messages.",
            "percentunit",
            [instant_query(q.FULLEST)],
            size=size,
            steps=style.FILL,
        ),
    ]


def _table() -> Any:
    columns = {
        "broker": "Broker",
        "queue": "Queue",
        "Value #depth": "Messages",
        "Value #consumers": "Consumers",
        "Value #in": "In",
        "Value #out": "Out",
        "Value #drain": "Empty in",
    }
    panel = style.table_panel(
        "Queues",
        "The deepest first. Empty in: at the rates of the last five minutes; nothing where it does"
        " not shrink.",
        [
            table_query(q.DEPTH, ref="depth"),
            table_query(q.CONSUMERS, ref="consumers"),
            table_query(q.IN, ref="in"),
            table_query(q.OUT, ref="out"),
            table_query(q.DRAIN, ref="drain"),
        ],
        columns,
        size=(12, 8),
        sort="Messages",
    )
    override(panel, "Broker", custom__minWidth=90)
    override(panel, "Queue", custom__minWidth=130)
    override(panel, "Messages", custom__width=105)
    override(
        panel,
        "Consumers",
        custom__width=100,
        thresholds=style.thresholds(((None, style.RED), (1, style.GREEN))),
        custom__cellOptions={"type": "color-text"},
    )
    for name in ("In", "Out"):
        override(panel, name, unit=style.MESSAGES, decimals=1, custom__width=93)
    return override(panel, "Empty in", unit="s", decimals=1, custom__width=80)


def _flow() -> Any:
    panel = style.time_series_panel(
        "In against out",
        "Messages added and acknowledged; where they part, a queue grows or drains.",
        style.MESSAGES,
        [range_query(q.IN_ALL, "{{broker}} in", ref="A"), range_query(q.OUT_ALL, "{{broker}} out", ref="B")],
        size=(8, 8),
    )
    return override(
        panel, "/out$/", custom__lineStyle={"fill": "dash", "dash": [6, 4]}, custom__fillOpacity=0
    )


def _queues() -> list[Any]:
    gone = style.time_series_panel(
        "Expired, killed, unrouted",
        "Messages that left without being consumed: too old, given up on after redeliveries, or"
        " with no queue.",
        style.MESSAGES,
        [
            range_query(q.EXPIRED, "{{broker}} expired", ref="A"),
            range_query(q.KILLED, "{{broker}} killed", ref="B"),
            range_query(q.UNROUTED, "{{broker}} unrouted", ref="C"),
        ],
        size=(8, 8),
    )
    return [
        style.time_series_panel(
            "Depth, the ten deepest",
            "Messages in each queue.",
            "short",
            [range_query(q.DEPTH_TOP, "{{broker}} {{queue}}")],
            size=(12, 8),
        ),
        _flow(),
        style.time_series_panel(
            "Time in queue",
            "Messages that wait, over those that leave: how long one waits on average.",
            "s",
            [range_query(q.TIME_IN_QUEUE, "{{broker}} {{queue}}")],
            size=(8, 8),
        ),
        gone,
    ]


def _links() -> list[Any]:
    columns = {
        "broker": "Broker",
        "kind": "Kind",
        "link": "Link",
        "to": "To",
        "Value #state": "State",
        "Value #backlog": "Waiting",
        "Value #delivering": "Unacked",
        "Value #rate": "Acked",
    }
    table = style.table_panel(
        "Links of brokers",
        "Bridges, AMQP connections and mirrors to other brokers. Down: stopped, not connected, or nothing"
        " takes messages from the queue that feeds it. Waiting: messages in that queue; nothing where the"
        " broker does not say which it is.",
        [
            table_query(q.LINK_STATE, ref="state"),
            table_query(q.LINK_BACKLOG, ref="backlog"),
            table_query(q.LINK_DELIVERING, ref="delivering"),
            table_query(q.LINK_RATE, ref="rate"),
        ],
        columns,
        size=(14, 8),
        sort="Waiting",
    )
    override(table, "Broker", custom__minWidth=80)
    override(table, "Kind", custom__width=70)
    override(table, "Link", custom__minWidth=120)
    override(table, "To", custom__minWidth=130)
    override(
        table,
        "State",
        mappings=style.mappings(style.UP),
        custom__cellOptions={"type": "color-text"},
        custom__width=65,
    )
    for name in ("Waiting", "Unacked"):
        override(table, name, custom__width=85)
    override(table, "Acked", unit=style.MESSAGES, decimals=1, custom__width=93)
    backlog = style.time_series_panel(
        "Waiting for links",
        "Messages in the queues that feed links, the ten longest: what the next broker has yet to get.",
        "short",
        [range_query(q.LINK_BACKLOG_TOP, "{{broker}} {{kind}} {{link}}")],
        size=(10, 8),
    )
    return [table, backlog]


def _limits() -> list[Any]:
    shares = style.time_series_panel(
        "Limits",
        "Shares in use: disk store, memory for messages, file descriptors. A broker at a limit blocks"
        " its producers.",
        "percentunit",
        [
            range_query(q.DISK, "{{broker}} disk", ref="A"),
            range_query(q.MEMORY, "{{broker}} memory", ref="B"),
            range_query(q.FDS, "{{broker}} descriptors", ref="C"),
        ],
        size=(8, 8),
        steps=style.FILL,
        show_steps=True,
    ).max(1)
    addresses = style.bar_gauge_panel(
        "Fullest addresses",
        "Share of each address's own memory limit, the five fullest.",
        "percentunit",
        instant_query(q.ADDRESS_LIMIT),
        ("broker", "address"),
        size=(8, 8),
        steps=style.FILL,
        most=1,
        none="no address has a limit",
    )
    connections = style.time_series_panel(
        "Connections and threads",
        "Connections of clients, and live threads of the JVM.",
        "short",
        [
            range_query(q.CONNECTIONS, "{{broker}} connections", ref="A"),
            range_query(q.THREADS, "{{broker}} threads", ref="B"),
        ],
        size=(8, 8),
    )
    return [shares, addresses, connections]


def _jvm() -> list[Any]:
    heap = style.time_series_panel(
        "Memory by pool",
        "What each pool holds, stacked; the red line is the most that the heap may be.",
        "bytes",
        [
            range_query(q.HEAP, "{{broker}} {{pool}}", ref="A"),
            range_query(q.HEAP_MAX, "{{broker}} most", ref="B"),
        ],
        size=(8, 8),
        stacked=True,
    )
    override(
        heap, "/most$/", color=colour(style.RED), custom__stacking={"mode": "none"}, custom__fillOpacity=0
    )
    return [
        heap,
        style.time_series_panel(
            "Garbage collection",
            "Share of time spent in collections.",
            "percentunit",
            [range_query(q.GC, "{{broker}} {{gc}}")],
            size=(8, 8),
            steps=((None, style.GREEN), (0.1, style.RED)),
            show_steps=True,
        ),
        style.time_series_panel(
            "CPU and load",
            "Processors that the broker uses, and the load of its machine over a minute.",
            "short",
            [range_query(q.CPU, "{{broker}} CPUs", ref="A"), range_query(q.LOAD, "{{broker}} load", ref="B")],
            size=(8, 8),
        ),
    ]


def build() -> dashboard.Dashboard:
    board = (
        dashboard_frame(
            UID, "Brokers", "Brokers: what waits in queues, for how long, and what is near its limit."
        )
        .with_variable(mesh_variable("broker_up"))
        .with_variable(
            label_variable("broker", "Broker", 'broker_up{mesh=~"$mesh"}', "One broker, several, or all.")
        )
    )
    for panel in (*_figures(), _table(), *_queues()):
        board = board.with_panel(panel)
    board = board.with_row(Row("Links to other brokers"))
    for panel in _links():
        board = board.with_panel(panel)
    board = board.with_row(Row("Limits"))
    for panel in _limits():
        board = board.with_panel(panel)
    board = board.with_row(Row("The broker's JVM and machine"))
    for panel in _jvm():
        board = board.with_panel(panel)
    return board
