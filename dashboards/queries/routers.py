# ruff: noqa: E501 -- PromQL is read best in few lines
"""Queries about meshes and their routers."""

from __future__ import annotations

from typing import Final

from dashboards.promql import expand
from dashboards.queries.counted import rise_over_range


def _some(expression: str) -> str:
    """Expand an expression in which `%` stands for the selection of routers."""
    return expand(expression.replace("%", 'mesh=~"$mesh",router=~"$router"'))


def _id(expression: str, label: str, into: str) -> str:
    """Make a label of mesh and name: two meshes may have routers of the same name."""
    return f'label_join({expression}, "{into}", "/", "mesh", "{label}")'


# Grafana's node graph wants columns of just these names: id, title, source, target, color, mainstat. The value
# cannot be called so, but count_values makes a label of a value.
_FLOW: Final = (
    '(sum by (mesh, router) (rate(router_deliveries_total{mesh=~"$mesh",flow=~"ingress|transit"}[$__rate_interval]))'
    " or 0 * sum by (mesh, router) (router_up))"
)
# A link may lead to a router that nobody has reached yet: the graph wants a node for each end of each link.
_ENDS: Final = (
    '(label_replace(mesh_edge_up{mesh=~"$mesh"}, "router", "$1", "source", "(.*)")'
    ' or label_replace(mesh_edge_up{mesh=~"$mesh"}, "router", "$1", "target", "(.*)"))'
)
_NODES: Final = (
    f'(label_replace({_FLOW} and on (mesh, router) router_up{{mesh=~"$mesh"}} == 1, "color", "green", "", "")'
    ' or label_replace(0 * sum by (mesh, router) (router_up{mesh=~"$mesh"} == 0), "color", "red", "", "")'
    f' or label_replace(0 * max by (mesh, router) ({_ENDS}) unless on (mesh, router) router_up, "color", "gray", "", ""))'
)
_SHOWN: Final = f'count_values by (mesh, router, color) ("flow", round({_NODES}))'
NODES: Final = expand(
    f'label_replace(label_replace(label_replace({_id(_SHOWN, "router", "id")}, "title", "$1", "router", "(.*)"),'
    ' "mainstat", "$1 msg/s", "flow", "(.*)"), "subtitle", "$1", "mesh", "(.*)")'
)
_EDGES: Final = (
    'label_replace(max by (mesh, id, source, target) (mesh_edge_up{mesh=~"$mesh"}) == 1, "mainstat", "up", "", "")'
    ' or label_replace(max by (mesh, id, source, target) (mesh_edge_up{mesh=~"$mesh"}) == 0, "mainstat", "DOWN", "", "")'
)
EDGES: Final = expand(_id(_id(_id(f"({_EDGES})", "id", "id"), "source", "source"), "target", "target"))

# 2 where it is up and cut off: polled through a URL of its own.
_STATE: Final = (
    "min by (mesh, router) (router_up{%}) + on (mesh, router) max by (mesh, router) (router_cut_off{%})"
    " or min by (mesh, router) (router_up{%})"
)
UP: Final = _some(_STATE)
EDGE_UP: Final = expand('min by (id) (mesh_edge_up{mesh=~"$mesh"})')
INGRESS: Final = _some(
    'sum by (router, flow) (rate(router_deliveries_total{%,flow=~"ingress|egress|transit"}[$__rate_interval]))'
)
NOT_DELIVERED: Final = _some(
    'sum by (router, outcome) (rate(router_outcomes_total{%,outcome=~"dropped.*|released|modified|rejected"}[$__rate_interval]))'
    # Only what there was some of in the shown time.
    " and on (router, outcome) sum by (router, outcome) (increase(router_outcomes_total{%}[$__range])) > 0"
)
BACKLOG: Final = _some(
    'sum by (router, peer) (router_link_undelivered_messages{%,peer!="",type!="router-control"})'
    ' + sum by (router, peer) (router_link_unsettled_messages{%,peer!="",type!="router-control"})'
)
END_BACKLOG: Final = _some(
    'topk(10, sum by (router, address) (router_link_undelivered_messages{%,address!~"_internal|"})'
    ' + sum by (router, address) (router_link_unsettled_messages{%,address!~"_internal|"}))'
)
STARVED: Final = _some(
    'topk(10, max by (router, peer, address) (router_link_zero_credit_seconds{%,address!~"_internal"}))'
)
DELAYED: Final = _some(
    "sum by (router, threshold) (rate(router_delayed_deliveries_total{%}[$__rate_interval]))"
)
STUCK: Final = _some(
    "sum by (router) (router_stuck_deliveries{%}) + sum by (router) (router_blocked_links{%})"
)
WHO: Final = expand(
    'topk(20, sum by (mesh, ingress, egress) (rate(mesh_deliveries_total{mesh=~"$mesh"}[$__range])) > 0)'
)
# Dispatch tells its virtual memory only.
MEMORY: Final = _some(
    'max by (router, kind) (router_memory_bytes{%,kind="resident"}'
    ' or on (mesh, router) router_memory_bytes{%,kind="virtual"})'
)
TYPES: Final = _some("topk(10, sum by (router, type) (router_allocator_held_bytes{%}))")
NOT_UP: Final = _some(
    "max by (router, name, what) ("
    ' label_replace(router_connector_up{%} == 0, "what", "connector", "", "")'
    ' or label_replace(router_auto_link_up{%} == 0, "what", "auto-link", "", "")'
    ' or label_replace(router_link_route_up{%} == 0, "what", "link route", "", ""))'
)
DIFFERENCES: Final = expand('sum by (mesh, kind) (mesh_topology_differences{mesh=~"$mesh"})')
KINDS: Final = _some("max by (mesh, router, flavour, version, mode) (router_info{%})")
ADDRESSES: Final = _some(
    'topk(10, sum by (address) (rate(router_address_deliveries_total{%,flow="ingress"}[$__rate_interval])))'
)
TABLE_UP: Final = UP
TABLE_UPTIME: Final = _some("time() - max by (mesh, router) (router_start_time_seconds{%})")
TABLE_FLOW: Final = _some(
    'sum by (mesh, router) (rate(router_deliveries_total{%,flow="ingress"}[$__rate_interval]))'
)
TABLE_BACKLOG: Final = _some(
    'sum by (mesh, router) (router_link_undelivered_messages{%,type!="router-control"} + router_link_unsettled_messages{%,type!="router-control"})'
)
_NOT_DELIVERED: Final = 'router_outcomes_total{%,outcome=~"dropped.*|released|modified|rejected"}'
TABLE_DROPPED: Final = _some(f"sum by (mesh, router) ({rise_over_range(_NOT_DELIVERED)})")
TABLE_MEMORY: Final = _some(
    'max by (mesh, router) (router_memory_bytes{%,kind="resident"}'
    ' or on (mesh, router) router_memory_bytes{%,kind="virtual"})'
)
