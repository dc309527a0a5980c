"""Routers: the mesh, and each of its routers."""

from __future__ import annotations

from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard, nodegraph
from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models import dashboard as models

from dashboards import style
from dashboards.boards.shell import dashboard_frame, label_variable, mesh_variable
from dashboards.queries import routers as q
from dashboards.style import colour, override, range_query, table_query

UID: Final = "inflight-routers"


def _mesh() -> Any:
    return (
        nodegraph.Panel()
        .title("Mesh")
        .description(
            "Routers with the messages a second that pass them, red where the last poll failed; links"
            " between them,"
            " up or DOWN. Edge routers hang on the router they are connected to."
        )
        .datasource(style.SOURCE)
        .targets([table_query(q.NODES, ref="nodes"), table_query(q.EDGES, ref="edges")])
        .unit("short")
        .thresholds(style.thresholds(style.PLAIN))
        .span(10)
        .height(11)
    )


def _table() -> Any:
    columns = {
        "router": "Router",
        "mode": "Mode",
        "Value #up": "Up",
        "Value #uptime": "Running for",
        "Value #flow": "In",
        "Value #backlog": "Backlog",
        "Value #dropped": "Not delivered",
        "Value #memory": "Memory",
    }
    panel = style.table_panel(
        "Routers",
        "As of the last poll; not delivered: dropped, released, modified or rejected in the shown time.",
        [
            table_query(q.TABLE_UP, ref="up"),
            table_query(q.KINDS, ref="kind"),
            table_query(q.TABLE_UPTIME, ref="uptime"),
            table_query(q.TABLE_FLOW, ref="flow"),
            table_query(q.TABLE_BACKLOG, ref="backlog"),
            table_query(q.TABLE_DROPPED, ref="dropped"),
            table_query(q.TABLE_MEMORY, ref="memory"),
        ],
        columns,
        size=(14, 6),
    )
    override(
        panel,
        "Up",
        mappings=style.mappings(style.ROUTER_UP),
        custom__cellOptions={"type": "color-background", "mode": "basic"},
        custom__width=70,
    )
    override(panel, "Running for", unit="s", decimals=0)
    override(panel, "In", unit=style.MESSAGES, decimals=1)
    override(panel, "Memory", unit="bytes", decimals=0)
    return override(
        panel,
        "Not delivered",
        thresholds=style.thresholds(style.SOME_IS_ODD),
        custom__cellOptions={"type": "color-text"},
    )


def _not_delivered() -> Any:
    panel = style.time_series_panel(
        "Not delivered",
        "Deliveries that ended otherwise than accepted. Dropped presettled ones are lost without a"
        " word to anyone;"
        " released ones went back to their senders.",
        style.MESSAGES,
        [range_query(q.NOT_DELIVERED, "{{router}} {{outcome}}")],
        size=(12, 8),
    )
    return override(panel, "/dropped/", color=colour(style.RED))


def build() -> dashboard.Dashboard:
    board = (
        dashboard_frame(UID, "Routers", "The mesh: which router or link is in trouble, and with what.")
        .with_variable(mesh_variable("router_up"))
        .with_variable(
            label_variable("router", "Router", 'router_up{mesh=~"$mesh"}', "One router, several, or all.")
        )
        .with_panel(_mesh())
    )
    up = style.state_timeline_panel(
        "Up",
        "Whether polls of the router succeed; cut off: it answers at a URL of its own, and the mesh has no"
        " way to it from another one. Of links, whether both routers see them.",
        [range_query(q.UP, "{{router}}", ref="A"), range_query(q.EDGE_UP, "link {{id}}", ref="B")],
        style.ROUTER_UP,
        size=(14, 5),
    )
    table = _table()
    # The two beside the tall graph, one above the other.
    up = up.grid_pos(models.GridPos(h=5, w=14, x=10, y=0))
    table = table.grid_pos(models.GridPos(h=6, w=14, x=10, y=5))
    board = board.with_panel(up).with_panel(table)
    board = board.with_row(Row("Flow"))
    flow = style.time_series_panel(
        "Deliveries",
        "In from clients, out to clients, and through from router to router.",
        style.MESSAGES,
        [range_query(q.INGRESS, "{{router}} {{flow}}")],
    )
    who = style.table_panel(
        "Who talks to whom",
        "Deliveries a second in the shown time, by the router where they came in and the one where"
        " they went out,"
        " the twenty largest.",
        [table_query(q.WHO)],
        {"ingress": "In at", "egress": "Out at", "Value": "Rate"},
        size=(8, 8),
        sort="Rate",
        none="the routers tell no ingress histogram",
    )
    override(who, "Rate", unit=style.MESSAGES, decimals=1)
    addresses = style.time_series_panel(
        "By address",
        "Deliveries in, the ten busiest of the addresses that the config watches.",
        style.MESSAGES,
        [range_query(q.ADDRESSES, "{{address}}")],
        size=(8, 8),
    )
    differences = style.time_series_panel(
        "Topology differs",
        "Routers and links missing or unexpected against `expect` of the config.",
        "short",
        [range_query(q.DIFFERENCES, "{{mesh}}: {{kind}}")],
        size=(8, 8),
        steps=style.NONE_IS_GOOD,
    )
    for panel in (flow, _not_delivered(), who, addresses, differences):
        board = board.with_panel(panel)
    board = board.with_row(Row("Backlog and credit"))
    backlog = style.time_series_panel(
        "Backlog by hop",
        "Messages waiting to go to the next router, or gone and not settled. The hop where it"
        " grows is the one"
        " before the trouble.",
        "short",
        [range_query(q.BACKLOG, "{{router}} → {{peer}}")],
    )
    ends = style.time_series_panel(
        "Backlog by address",
        "The same of clients' links: receivers that are slow, or too few.",
        "short",
        [range_query(q.END_BACKLOG, "{{router}} {{address}}")],
    )
    starved = style.time_series_panel(
        "Credit starved",
        "For how long the worst link has had no credit: its receiver takes nothing.",
        "s",
        [range_query(q.STARVED, "{{router}} → {{peer}} {{address}}")],
        size=(8, 8),
        steps=((None, style.GREEN), (30, style.RED)),
        show_steps=True,
    )
    stuck = style.time_series_panel(
        "Stuck deliveries and blocked links",
        "As the routers themselves judge it.",
        "short",
        [range_query(q.STUCK, "{{router}}")],
        size=(8, 8),
    )
    delayed = style.time_series_panel(
        "Slow deliveries",
        "Deliveries that took longer than 1 s or 10 s to settle.",
        style.MESSAGES,
        [range_query(q.DELAYED, "{{router}} over {{threshold}}")],
        size=(8, 8),
    )
    for panel in (backlog, ends, starved, stuck, delayed):
        board = board.with_panel(panel)
    board = board.with_row(Row("Resources"))
    memory = style.time_series_panel(
        "Memory",
        "Of the router's process; dispatch tells its virtual memory, skupper the resident one.",
        "bytes",
        [range_query(q.MEMORY, "{{router}} {{kind}}")],
        size=(8, 8),
    )
    types = style.time_series_panel(
        "Memory by type",
        "Objects that the router's threads hold, the ten largest types.",
        "bytes",
        [range_query(q.TYPES, "{{router}} {{type}}")],
        size=(8, 8),
    )
    not_up = style.table_panel(
        "Not up",
        "Connectors, auto-links and link routes that should be up and are not.",
        [table_query(q.NOT_UP)],
        {"router": "Router", "what": "What", "name": "Name"},
        size=(8, 8),
        none="all are up",
    )
    for panel in (memory, types, not_up):
        board = board.with_panel(panel)
    return board
