"""A poll of a mesh as metric values; the schema says which attribute is which metric."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from collectors.contract.metrics import CATALOGUE, MetricValue
from collectors.contract.untrusted_text import matches
from collectors.polling.attributes import Attribute, metric_values
from collectors.router import address_names, schema
from collectors.router.counters import CountedGroup, CountedRouter
from collectors.router.mesh_urls import CutOff
from collectors.router.schema import ADDRESS, ALLOCATOR, LINK, ROUTER, Entity
from collectors.router.snapshot import RouterSnapshot
from collectors.router.topology import Graph

TOP_ALLOCATORS: Final = 10
MAX_NAMED: Final = 200  # connectors, auto-links and link routes, each, for a router


def _single(attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
    """Return the attributes of a link that the catalogue has for single links, too."""
    single = [
        dataclasses.replace(a, metric=a.metric.replace("router_link_", "router_single_link_"))
        for a in attributes
    ]
    return tuple(a for a in single if a.metric in CATALOGUE)


_LINK: Final = (LINK.counts, LINK.gauges)
_SINGLE_LINK: Final = _single((*LINK.counts, *LINK.gauges))
# Told row by row, under the name that is their key.
_NAMED: Final = tuple(
    entity
    for entity in dict.fromkeys(entity for flavour in schema.FLAVOURS.values() for entity in flavour.entities)
    if entity not in {ROUTER, schema.METRICS, LINK, ADDRESS, ALLOCATOR} and (entity.states or entity.gauges)
)


def of_router(
    mesh: str, snapshot: RouterSnapshot, counted: CountedRouter, single: tuple[str, ...]
) -> Iterator[MetricValue]:
    """Yield all values of a router that answered; `single` are patterns of links to tell one by one."""
    r = (mesh, snapshot.router)
    yield "router_info", (*r, snapshot.flavour, snapshot.version, snapshot.mode), 1
    if snapshot.uptime_seconds is not None:
        yield "router_start_time_seconds", r, round(snapshot.at_ns / 1e9 - snapshot.uptime_seconds)
    yield from metric_values(ROUTER.counts, r, counted.totals.sums)
    yield from metric_values(ROUTER.gauges, r, [snapshot.totals.get(a.name) for a in ROUTER.gauges])
    counts, gauges = _LINK
    for group, entry in counted.links.items():
        labels = (*r, *group)
        yield from metric_values(counts, labels, entry.sums)
        if entry.members:
            yield from metric_values(gauges, labels, [entry.gauges[a.name] for a in gauges])
    yield from _links_one_by_one(r, snapshot, single)
    counts, gauges = ADDRESS.counts, ADDRESS.gauges
    for name, address in counted.addresses.items():
        yield from metric_values(counts, (*r, name), address.sums)
        yield from metric_values(gauges, (*r, name), [address.gauges.get(a.name) for a in gauges])
    yield from _allocators(r, snapshot, counted.allocators)
    yield from _census(r, snapshot)
    for entity in _NAMED:
        yield from _named(r, snapshot, entity)


def _links_one_by_one(
    r: tuple[str, ...], snapshot: RouterSnapshot, single: tuple[str, ...]
) -> Iterator[MetricValue]:
    wanted = [row for row in snapshot.rows("link") if row["name"] and matches(row["name"], single)]
    for row in wanted[:MAX_NAMED]:
        key = row["address"] or ""
        labels = (
            *(*r, row["name"], row["identity"], row["direction"] or ""),
            address_names.readable(key, snapshot.flavour) if key else "",
        )
        yield "router_single_link_up", labels, float(row["status"] == "up")
        yield from metric_values(_SINGLE_LINK, labels, [row[a.name] or 0 for a in _SINGLE_LINK])


def _allocators(
    r: tuple[str, ...], snapshot: RouterSnapshot, entries: Mapping[str, CountedGroup]
) -> Iterator[MetricValue]:
    """Yield the largest by what threads hold, and the sum of the rest."""
    rows = {row["type"]: row for row in snapshot.rows("allocator")}
    ranked = sorted(entries, key=lambda kind: (-entries[kind].gauges["held_bytes"], kind))
    counts, gauges = ALLOCATOR.counts, ALLOCATOR.gauges
    for kind in ranked[:TOP_ALLOCATORS]:
        yield from metric_values(gauges, (*r, kind), [rows[kind][a.name] for a in gauges])
        yield "router_allocator_held_bytes", (*r, kind), entries[kind].gauges["held_bytes"]
        yield from metric_values(counts, (*r, kind), entries[kind].sums)
    if rest := ranked[TOP_ALLOCATORS:]:
        held_bytes = sum(entries[kind].gauges["held_bytes"] for kind in rest)
        yield "router_allocator_held_bytes", (*r, address_names.OTHER), held_bytes
        held = sum(rows[kind]["held"] or 0 for kind in rest)
        yield "router_allocator_held_objects", (*r, address_names.OTHER), held


def _census(r: tuple[str, ...], snapshot: RouterSnapshot) -> Iterator[MetricValue]:
    """Yield how many links and connections there are of each kind."""
    for metric, entity, columns in (
        ("router_links", "link", ("type", "direction", "status")),
        ("router_connections", "connection", ("role", "direction", "status")),
    ):
        found = Counter(tuple(row[c] or "unknown" for c in columns) for row in snapshot.rows(entity))
        named = found.most_common(MAX_NAMED)
        for labels, count in named:
            yield metric, (*r, *labels), count
        if rest := found.total() - sum(count for _, count in named):
            yield metric, (*r, *[address_names.OTHER] * len(columns)), rest


def _named(r: tuple[str, ...], snapshot: RouterSnapshot, entity: Entity) -> Iterator[MetricValue]:
    """Yield the lowest value of all rows of a name: a link route's two directions may have the same one."""
    found: dict[tuple[str, tuple[str, ...]], float] = {}
    for row in snapshot.rows(entity.name)[:MAX_NAMED]:
        states = [float(row[a.name] == a.good) for a in entity.states]
        values = (
            *metric_values(entity.states, (*r, row[entity.key]), states),
            *metric_values(entity.gauges, (*r, row[entity.key]), [row[a.name] for a in entity.gauges]),
        )
        for metric, labels, value in values:
            found[metric, labels] = min(found.get((metric, labels), value), value)
    for (metric, labels), value in found.items():
        yield metric, labels, value


def of_mesh(
    mesh: str,
    *,
    up: bool,
    graph: Graph,
    between: Mapping[tuple[str, str], int],
    urls: Mapping[str, str | None],
    cut_off: Mapping[str, CutOff],
) -> Iterator[MetricValue]:
    """Yield the graph, its differences, deliveries between routers, and which routers and URLs are up."""
    yield "mesh_up", (mesh,), float(up)
    for edge in graph.edges:
        labels = (mesh, edge.pair.id, *edge.pair)
        yield "mesh_edge_up", labels, float(edge.up)
        if edge.cost is not None:
            yield "mesh_edge_cost", labels, edge.cost
    if up:
        for kind, names in graph.differences._asdict().items():
            yield "mesh_topology_differences", (mesh, kind), len(names)
    for (ingress, egress), count in between.items():
        yield "mesh_deliveries_total", (mesh, ingress, egress), count
    for router, is_up in graph.routers.items():
        yield "router_up", (mesh, router), float(is_up)
    for url, failure in urls.items():
        yield "mesh_url_up", (mesh, url), float(failure is None)
    for router, found in cut_off.items():
        yield "router_cut_off", (mesh, router, found.origin), 1.0


def of_omitted(mesh: str, omitted: Mapping[str, int]) -> Iterator[MetricValue]:
    """Yield how many routers, groups of links and addresses are left out."""
    for entity, count in omitted.items():
        yield "collector_omitted_series", ("router", mesh, entity), float(count)
