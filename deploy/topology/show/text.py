"""A topology as text: its parts, who dials whom, and what hangs on what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deploy.topology import graph
from deploy.topology.plan import Plan

_MOST_NAMED = 8


def lines(plan: Plan) -> Iterator[str]:
    topology = plan.topology
    meshes = plan.meshes
    several = f" in {len(meshes)} meshes" if len(meshes) > 1 else ""
    yield (
        f"{topology.name}: {count(len(plan.routers), 'router')} ({topology.program}){several},"
        f" {count(len(plan.brokers), 'broker')}, {count(sum(1 for _ in graph.links(plan.graph())), 'link')}"
    )
    yield ""
    yield from table(["router", "mode", "clients", "listens to", "dials"], _routers(plan))
    if plan.brokers:
        yield ""
        yield from table(["broker", "AMQP", "queues", "sends to"], _brokers(plan))
    yield ""
    yield from _ways(plan)


def _routers(plan: Plan) -> Iterator[list[str]]:
    for router in plan.routers.values():
        clients, *others = sorted(router.listeners, key=lambda listener: listener.role != "normal")
        dials = [
            f"{c.to or c.host}:{c.port}" + (f" cost {c.cost}" if c.cost != 1 else "")
            for c in router.connectors
        ]
        yield [
            router.id,
            router.router.mode,
            f"{router.address}:{clients.port}",
            ", ".join(f"{listener.role} {listener.port}" for listener in others) or "–",
            ", ".join(dials) or "–",
        ]


def _brokers(plan: Plan) -> Iterator[list[str]]:
    for broker in plan.brokers.values():
        routes = [
            route.address
            for router in plan.routers.values()
            for route in router.auto_links
            if route.broker == broker.name
        ]
        queues = dict.fromkeys([*broker.broker.queues, *routes])
        sent = [f"{link.to} ({link.by})" for link in broker.links]
        yield [
            broker.name,
            f"{broker.address}:{broker.port}",
            ", ".join(queues) or "–",
            ", ".join(sent) or "–",
        ]


def _ways(plan: Plan) -> Iterator[str]:
    whole = plan.graph()
    dearest = max(
        ((cost, one, other) for one in plan.routers for other, cost in graph.costs(whole, one).items()),
        key=lambda way: way[0],
    )
    if dearest[0]:
        yield f"longest way: {dearest[1]} to {dearest[2]}, cost {dearest[0]}"
    nodes = [*graph.cut_nodes(whole)]
    cut = [f"{one} – {other}" for one, other in graph.cut_links(whole)]
    if not nodes and not cut:
        yield "no single router and no single link whose loss cuts another one off"
    if nodes:
        yield f"others are cut off without: {_some(nodes)}"
    if cut:
        yield f"the only way between its ends: {_some(cut)}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def table(head: Sequence[str], rows: Iterator[list[str]]) -> Iterator[str]:
    every = [list(head), *rows]
    widths = [max(len(row[column]) for row in every) for column in range(len(head))]
    for row in every:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
