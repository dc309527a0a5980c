"""A poll's outcome as samples for /metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from collectors.contract.untrusted_text import matches
from collectors.polling.metric_cache import MetricValue
from collectors.router import address_names
from collectors.router.counters import (
    ADDRESS_FLOWS,
    ALLOCATOR_COUNTERS,
    DELAYS,
    FLOWS,
    LINK_COUNTERS,
    OUTCOMES,
    TOTAL_COUNTERS,
    Entry,
    Tallied,
)
from collectors.router.eyes import CutOff
from collectors.router.snapshot import RouterView
from collectors.router.topology import Graph

TOP_ALLOCATORS: Final = 10
MAX_NAMED: Final = 200  # connectors, auto-links and link routes, each, for a router
_OBJECTS: Final = ("addresses", "links", "nodes", "link_routes", "auto_links", "connections")
_THRESHOLDS: Final = {"delayed_1s": "1s", "delayed_10s": "10s"}
_LINK_GAUGES: Final = {
    "router_link_undelivered_messages": "undelivered",
    "router_link_unsettled_messages": "unsettled",
    "router_link_credit": "credit",
    "router_link_capacity": "capacity",
    "router_link_stuck_deliveries": "stuck",
    "router_link_zero_credit_seconds": "zero_credit_seconds",
}
# Metric, entity, and the status that means it is up.
_NAMED: Final = (
    ("router_connector_up", "connector", "SUCCESS"),
    ("router_auto_link_up", "auto_link", "active"),
    ("router_link_route_up", "link_route", "active"),
)
_ALLOCATOR_GAUGES: Final = {
    "router_allocator_held_objects": "held",
    "router_allocator_object_bytes": "size_bytes",
    "router_allocator_batch_objects": "batch",
    "router_allocator_thread_max_objects": "thread_max",
    "router_allocator_global_max_objects": "global_max",
}


def of_router(
    mesh: str, seen: RouterView, tallied: Tallied, single: tuple[str, ...]
) -> Iterator[MetricValue]:
    """Everything of one router that answered; `single` are patterns of links to tell one by one."""
    r = (mesh, seen.router)
    yield "router_info", (*r, seen.flavour, seen.version, seen.mode), 1
    if seen.uptime_seconds is not None:
        yield "router_start_time_seconds", r, round(seen.at_ns / 1e9 - seen.uptime_seconds)
    yield from _totals(r, seen, tallied.totals)
    for group, entry in tallied.links.items():
        yield from _link((*r, *group), entry)
    yield from _links_one_by_one(r, seen, single)
    for name, address in tallied.addresses.items():
        yield from _counted("router_address_deliveries_total", (*r, name), ADDRESS_FLOWS, address.sums)
        for scope, value in address.gauges.items():
            yield "router_address_subscribers", (*r, name, scope), value
    yield from _allocators(r, seen, tallied.allocators)
    yield from _census(r, seen)
    for metric, entity, good in _NAMED:
        for name, up in _states(seen, entity, good):
            yield metric, (*r, name), up


def _totals(r: tuple[str, ...], seen: RouterView, entry: Entry) -> Iterator[MetricValue]:
    sums = dict(zip(TOTAL_COUNTERS, entry.sums, strict=True))
    yield from _counted("router_outcomes_total", r, OUTCOMES, [sums[name] for name in OUTCOMES])
    yield from _counted("router_deliveries_total", r, FLOWS, [sums[name] for name in FLOWS])
    for name in DELAYS:
        yield "router_delayed_deliveries_total", (*r, _THRESHOLDS[name]), sums[name]
    for name in _OBJECTS:
        if (value := seen.totals.get(name)) is not None:
            yield "router_objects", (*r, name), value
    for name in ("virtual", "resident"):
        if (value := seen.totals.get(name)) is not None:
            yield "router_memory_bytes", (*r, name), value
    yield "router_stuck_deliveries", r, seen.totals.get("stuck") or 0
    yield "router_blocked_links", r, seen.totals.get("blocked_links") or 0


def _link(labels: tuple[str, ...], entry: Entry) -> Iterator[MetricValue]:
    sums = dict(zip(LINK_COUNTERS, entry.sums, strict=True))
    yield "router_link_deliveries_total", labels, sums["deliveries"]
    yield from _counted("router_link_outcomes_total", labels, OUTCOMES, [sums[name] for name in OUTCOMES])
    for name in DELAYS:
        yield "router_link_delayed_deliveries_total", (*labels, _THRESHOLDS[name]), sums[name]
    if entry.members:
        for metric, gauge in _LINK_GAUGES.items():
            yield metric, labels, entry.gauges[gauge]


def _links_one_by_one(r: tuple[str, ...], seen: RouterView, single: tuple[str, ...]) -> Iterator[MetricValue]:
    wanted = [row for row in seen.rows("link") if row["name"] and matches(row["name"], single)]
    for row in wanted[:MAX_NAMED]:
        key = row["address"] or ""
        labels = (
            *(*r, row["name"], row["identity"], row["direction"] or ""),
            address_names.readable(key, seen.flavour) if key else "",
        )
        yield "router_single_link_up", labels, float(row["status"] == "up")
        yield "router_single_link_deliveries_total", labels, row["deliveries"] or 0
        for metric, column in (
            ("router_single_link_undelivered_messages", "undelivered"),
            ("router_single_link_unsettled_messages", "unsettled"),
            ("router_single_link_credit", "credit"),
        ):
            yield metric, labels, row[column] or 0
        for outcome in OUTCOMES:
            yield "router_single_link_outcomes_total", (*labels, outcome), row[outcome] or 0


def _allocators(r: tuple[str, ...], seen: RouterView, entries: Mapping[str, Entry]) -> Iterator[MetricValue]:
    """The largest by what threads hold, and the sum of the rest."""
    rows = {row["type"]: row for row in seen.rows("allocator")}
    ranked = sorted(entries, key=lambda kind: (-entries[kind].gauges["held_bytes"], kind))
    for kind in ranked[:TOP_ALLOCATORS]:
        for metric, column in _ALLOCATOR_GAUGES.items():
            if (value := rows[kind][column]) is not None:
                yield metric, (*r, kind), value
        yield "router_allocator_held_bytes", (*r, kind), entries[kind].gauges["held_bytes"]
        yield from _allocator_counters((*r, kind), entries[kind].sums)
    if rest := ranked[TOP_ALLOCATORS:]:
        held_bytes = sum(entries[kind].gauges["held_bytes"] for kind in rest)
        yield "router_allocator_held_bytes", (*r, address_names.OTHER), held_bytes
        held = sum(rows[kind]["held"] or 0 for kind in rest)
        yield "router_allocator_held_objects", (*r, address_names.OTHER), held


def _allocator_counters(labels: tuple[str, ...], sums: tuple[int, ...]) -> Iterator[MetricValue]:
    values = dict(zip(ALLOCATOR_COUNTERS, sums, strict=True))
    yield "router_allocator_heap_allocated_objects_total", labels, values["heap_allocated"]
    yield "router_allocator_heap_freed_objects_total", labels, values["heap_freed"]
    yield "router_allocator_rebalanced_batches_total", (*labels, "threads"), values["to_threads"]
    yield "router_allocator_rebalanced_batches_total", (*labels, "global"), values["to_global"]


def _census(r: tuple[str, ...], seen: RouterView) -> Iterator[MetricValue]:
    for metric, entity, columns in (
        ("router_links", "link", ("type", "direction", "status")),
        ("router_connections", "connection", ("role", "direction", "status")),
    ):
        found = Counter(tuple(row[c] or "unknown" for c in columns) for row in seen.rows(entity))
        named = found.most_common(MAX_NAMED)
        for labels, count in named:
            yield metric, (*r, *labels), count
        if rest := found.total() - sum(count for _, count in named):
            yield metric, (*r, *[address_names.OTHER] * len(columns)), rest


def _states(seen: RouterView, entity: str, good: str) -> Iterator[tuple[str, float]]:
    """Those of one name are up when all are: a link route's two directions may be called the same."""
    found: dict[str, float] = {}
    for row in seen.rows(entity)[:MAX_NAMED]:
        up = float(row["status"] == good)
        found[row["name"]] = min(found.get(row["name"], up), up)
    yield from found.items()


def _counted(
    metric: str, labels: tuple[str, ...], kinds: Iterable[str], sums: Iterable[int]
) -> Iterator[MetricValue]:
    for kind, value in zip(kinds, sums, strict=True):
        yield metric, (*labels, kind), value


def of_mesh(mesh: str, graph: Graph, between: Mapping[tuple[str, str], int]) -> Iterator[MetricValue]:
    """The graph, what is wrong with it, and who talks to whom."""
    for edge in graph.edges:
        labels = (mesh, edge.pair.id, *edge.pair)
        yield "mesh_edge_up", labels, float(edge.up)
        if edge.cost is not None:
            yield "mesh_edge_cost", labels, edge.cost
    for kind in ("missing_router", "unexpected_router", "missing_link", "unexpected_link"):
        yield "mesh_topology_differences", (mesh, kind), len(getattr(graph.differences, kind))
    for (ingress, egress), count in between.items():
        yield "mesh_deliveries_total", (mesh, ingress, egress), count
    for router, up in graph.routers.items():
        yield "router_up", (mesh, router), float(up)


def of_urls(mesh: str, urls: Mapping[str, str | None]) -> Iterator[MetricValue]:
    """Through which URLs something is seen."""
    for url, failure in urls.items():
        yield "mesh_url_up", (mesh, url), float(failure is None)


def of_cut_off(mesh: str, cut_off: Mapping[str, CutOff]) -> Iterator[MetricValue]:
    """Routers that are up, and to which there is no way from another one."""
    for router, found in cut_off.items():
        yield "router_cut_off", (mesh, router, found.origin), 1.0
