"""Brokers: queues, limits and JVM."""

from __future__ import annotations

from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.builders.dashboard import Row

from dashboards import style
from dashboards.boards.shell import choice, mesh_variable, shell
from dashboards.queries import brokers as q
from dashboards.style import colour, instant, override, query, rows

UID: Final = "inflight-brokers"


def _figures() -> list[Any]:
    size = (4, 4)
    return [
        style.figures(
            "Up",
            "Whether the last poll succeeded.",
            "short",
            [instant(q.UP, "{{broker}}")],
            size=size,
            words=style.UP,
            names=True,
        ),
        style.figures(
            "Running for",
            "Since the broker's process started.",
            "s",
            [instant(q.UPTIME, "{{broker}}")],
            size=size,
            names=True,
        ),
        style.figures(
            "Messages in queues",
            "In all queues that are watched.",
            "short",
            [query(q.MESSAGES)],
            size=size,
            sparkline=True,
        ),
        style.figures(
            "Queues at risk",
            "Queues with messages and without a consumer.",
            "short",
            [instant(q.AT_RISK)],
            size=size,
            steps=style.NONE_IS_GOOD,
        ),
        style.figures(
            "Addresses paging",
            "Addresses that write to disk because their memory is full.",
            "short",
            [instant(q.PAGING)],
            size=size,
            steps=style.NONE_IS_GOOD,
        ),
        style.figures(
            "Fullest limit",
            "The fullest of disk store and memory for messages.",
            "percentunit",
            [instant(q.FULLEST)],
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
    panel = style.grid(
        "Queues",
        "The deepest first. Empty in: at the rates of the last five minutes; nothing where it does"
        " not shrink.",
        [
            rows(q.DEPTH, ref="depth"),
            rows(q.CONSUMERS, ref="consumers"),
            rows(q.IN, ref="in"),
            rows(q.OUT, ref="out"),
            rows(q.DRAIN, ref="drain"),
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
    panel = style.lines(
        "In against out",
        "Messages added and acknowledged; where they part, a queue grows or drains.",
        style.MESSAGES,
        [query(q.IN_ALL, "{{broker}} in", ref="A"), query(q.OUT_ALL, "{{broker}} out", ref="B")],
        size=(8, 8),
    )
    return override(
        panel, "/out$/", custom__lineStyle={"fill": "dash", "dash": [6, 4]}, custom__fillOpacity=0
    )


def _queues() -> list[Any]:
    gone = style.lines(
        "Expired, killed, unrouted",
        "Messages that left without being consumed: too old, given up on after redeliveries, or"
        " with no queue.",
        style.MESSAGES,
        [
            query(q.EXPIRED, "{{broker}} expired", ref="A"),
            query(q.KILLED, "{{broker}} killed", ref="B"),
            query(q.UNROUTED, "{{broker}} unrouted", ref="C"),
        ],
        size=(8, 8),
    )
    return [
        style.lines(
            "Depth, the ten deepest",
            "Messages in each queue.",
            "short",
            [query(q.DEPTH_TOP, "{{broker}} {{queue}}")],
            size=(12, 8),
        ),
        _flow(),
        style.lines(
            "Time in queue",
            "Messages that wait, over those that leave: how long one waits on average.",
            "s",
            [query(q.TIME_IN_QUEUE, "{{broker}} {{queue}}")],
            size=(8, 8),
        ),
        gone,
    ]


def _limits() -> list[Any]:
    shares = style.lines(
        "Limits",
        "Shares in use: disk store, memory for messages, file descriptors. A broker at a limit blocks"
        " its producers.",
        "percentunit",
        [
            query(q.DISK, "{{broker}} disk", ref="A"),
            query(q.MEMORY, "{{broker}} memory", ref="B"),
            query(q.FDS, "{{broker}} descriptors", ref="C"),
        ],
        size=(8, 8),
        steps=style.FILL,
        show_steps=True,
    ).max(1)
    addresses = style.bars(
        "Fullest addresses",
        "Share of each address's own memory limit, the five fullest.",
        "percentunit",
        instant(q.ADDRESS_LIMIT),
        ("broker", "address"),
        size=(8, 8),
        steps=style.FILL,
        most=1,
        none="no address has a limit",
    )
    connections = style.lines(
        "Connections and threads",
        "Connections of clients, and live threads of the JVM.",
        "short",
        [
            query(q.CONNECTIONS, "{{broker}} connections", ref="A"),
            query(q.THREADS, "{{broker}} threads", ref="B"),
        ],
        size=(8, 8),
    )
    return [shares, addresses, connections]


def _jvm() -> list[Any]:
    heap = style.lines(
        "Memory by pool",
        "What each pool holds, stacked; the red line is the most that the heap may be.",
        "bytes",
        [query(q.HEAP, "{{broker}} {{pool}}", ref="A"), query(q.HEAP_MAX, "{{broker}} most", ref="B")],
        size=(8, 8),
        stacked=True,
    )
    override(
        heap, "/most$/", color=colour(style.RED), custom__stacking={"mode": "none"}, custom__fillOpacity=0
    )
    return [
        heap,
        style.lines(
            "Garbage collection",
            "Share of time spent in collections.",
            "percentunit",
            [query(q.GC, "{{broker}} {{gc}}")],
            size=(8, 8),
            steps=((None, style.GREEN), (0.1, style.RED)),
            show_steps=True,
        ),
        style.lines(
            "CPU and load",
            "Processors that the broker uses, and the load of its machine over a minute.",
            "short",
            [query(q.CPU, "{{broker}} CPUs", ref="A"), query(q.LOAD, "{{broker}} load", ref="B")],
            size=(8, 8),
        ),
    ]


def build() -> dashboard.Dashboard:
    board = (
        shell(UID, "Brokers", "Brokers: what waits in queues, for how long, and what is near its limit.")
        .with_variable(mesh_variable("broker_up"))
        .with_variable(choice("broker", "Broker", 'broker_up{mesh=~"$mesh"}', "One broker, several, or all."))
    )
    for panel in (*_figures(), _table(), *_queues()):
        board = board.with_panel(panel)
    board = board.with_row(Row("Limits"))
    for panel in _limits():
        board = board.with_panel(panel)
    board = board.with_row(Row("The broker's JVM and machine"))
    for panel in _jvm():
        board = board.with_panel(panel)
    return board
