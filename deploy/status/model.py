"""What `inflight status` shows, worst first, as plain data; nothing of terminals or of the network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from collectors.broker.collector import BrokerStatus
from collectors.broker.counters import CountedRow
from collectors.router.address_names import INTERNAL
from collectors.router.counters import LINK_COUNTERS, TOTAL_COUNTERS, CountedGroup, CountedRouter
from collectors.router.mesh_status import MeshStatus
from collectors.router.schema import AUTO_LINK, CONNECTOR, LINK_ROUTE
from collectors.router.snapshot import LinkGroup

Json = dict[str, Any]
Level = Literal["bad", "odd"]

_FULL: Final = 0.9  # of a disk, of memory, of file descriptors
_BETWEEN_ROUTERS: Final = frozenset({"inter-router", "router-data", "inter-edge"})


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that an operator wants to know first; `weight` orders findings of one level."""

    level: Level
    where: str
    text: str
    weight: float = 0


@dataclass(slots=True)
class Status:
    """Findings and rows, the worst first."""

    findings: list[Finding] = field(default_factory=list)
    routers: list[Json] = field(default_factory=list)
    edges: list[Json] = field(default_factory=list)
    links: list[Json] = field(default_factory=list)
    brokers: list[Json] = field(default_factory=list)
    broker_links: list[Json] = field(default_factory=list)
    queues: list[Json] = field(default_factory=list)

    def as_json(self) -> Json:
        findings = [{"level": f.level, "where": f.where, "text": f.text} for f in self.findings]
        return {
            "findings": findings,
            "routers": self.routers,
            "edges": self.edges,
            "links": self.links,
            "brokers": self.brokers,
            "broker_links": self.broker_links,
            "queues": self.queues,
        }


def status(meshes: Iterable[MeshStatus], brokers: Iterable[BrokerStatus], *, one_mesh: bool = True) -> Status:
    """Return the status by the newest polls; `one_mesh`: the URLs of a mesh surely belong to one mesh."""
    found = Status()
    for mesh in meshes:
        _mesh(found, mesh, one_mesh=one_mesh)
    for broker in brokers:
        _broker(found, broker)
    found.findings.sort(key=lambda f: (f.level, -f.weight, f.where))
    found.routers.sort(key=lambda r: (r["up"], -r["undelivered"], r["router"]))
    found.links.sort(key=lambda k: (-k["undelivered"], -k["dropped"], -k["per_second"], k["router"]))
    found.broker_links.sort(key=lambda k: (k["up"] is not False, -(k["messages"] or 0), k["link"]))
    found.queues.sort(key=lambda q: (q["consumers"] > 0, -q["messages"], q["queue"]))
    return found


def _mesh(found: Status, mesh: MeshStatus, *, one_mesh: bool) -> None:
    if mesh.failure:
        found.findings.append(Finding("bad", mesh.mesh, mesh.failure))
    else:
        found.findings += [Finding("bad", url, why) for url, why in mesh.urls.items() if why]
    for router, cut in mesh.cut_off.items():
        # URLs from a command line may be of two meshes, which have no way to each other and need none.
        two = cut.stranger and not one_mesh
        text = f"no way to it from {cut.origin}: two meshes, or one in two parts" if two else cut.explained
        found.findings.append(Finding("odd" if two else "bad", router, text))
    for router, reason in mesh.down.items():
        if not mesh.failure:
            found.findings.append(Finding("bad", router, f"does not answer: {reason}"))
        found.routers.append({"mesh": mesh.mesh, "router": router, "up": False, **_NO_ROUTER})
    for router, snapshot in mesh.snapshots.items():
        cut_off = mesh.cut_off.get(router)
        counted = mesh.counted[router]
        seconds = counted.interval_ns / 1e9
        into, out = _passed(counted)
        found.routers.append(
            {
                "mesh": mesh.mesh,
                "router": router,
                "up": True,
                "cut_off_from": cut_off.origin if cut_off else None,
                "mode": snapshot.mode,
                "version": snapshot.version,
                "uptime_seconds": snapshot.uptime_seconds,
                "connections": len(snapshot.rows("connection")),
                "links": len(snapshot.rows("link")),
                "in_per_second": _rate(into, seconds),
                "out_per_second": _rate(out, seconds),
                "undelivered": sum(e.gauges.get("undelivered", 0) for e in counted.links.values()),
                "unsettled": sum(e.gauges.get("unsettled", 0) for e in counted.links.values()),
            }
        )
        for group, entry in counted.links.items():
            _link(found, mesh, router, group, entry, seconds)
        found.findings += _router_findings(router, snapshot.tables)
    for edge in mesh.graph.edges:
        found.edges.append({"mesh": mesh.mesh, "edge": edge.pair.id, "up": edge.up, "cost": edge.cost})
        if not edge.up and not mesh.failure:
            found.findings.append(Finding("bad", edge.pair.id, "the link between these routers is down"))


def _passed(counted: CountedRouter) -> tuple[int, int]:
    """Return how many messages came into a router and went out of it, from and to anywhere."""
    totals = dict(zip(TOTAL_COUNTERS, counted.totals.added, strict=True))
    # `transit` counts what went out to other routers; nothing of a router as a whole what came from them.
    came = sum(
        entry.added[LINK_COUNTERS.index("deliveries")]
        for group, entry in counted.links.items()
        if group.type in _BETWEEN_ROUTERS and group.direction == "in"
    )
    return totals["ingress"] + came, totals["egress"] + totals["transit"]


_NO_ROUTER: Final[Json] = {
    **dict.fromkeys(("cut_off_from", "mode", "version", "uptime_seconds"), None),
    **dict.fromkeys(
        ("connections", "links", "in_per_second", "out_per_second", "undelivered", "unsettled"), 0
    ),
}


def _link(
    found: Status, mesh: MeshStatus, router: str, group: LinkGroup, entry: CountedGroup, seconds: float
) -> None:
    if not entry.members or (group.address in {"", INTERNAL} and group.type not in _BETWEEN_ROUTERS):
        return
    added = dict(zip(LINK_COUNTERS, entry.added, strict=True))
    row: Json = {
        "mesh": mesh.mesh,
        "router": router,
        "peer": group.peer,
        "address": group.address,
        "direction": group.direction,
        "links": entry.members,
        "per_second": _rate(added["deliveries"], seconds),
        "undelivered": entry.gauges["undelivered"],
        "unsettled": entry.gauges["unsettled"],
        "dropped": added["dropped_presettled"],
        "refused": added["rejected"] + added["released"] + added["modified"],
        "credit": entry.gauges["credit"],
        "zero_credit_seconds": entry.gauges["zero_credit_seconds"],
    }
    found.links.append(row)
    where = f"{router} {group.direction} {group.address or group.peer}"
    if row["dropped"]:
        found.findings.append(
            Finding("bad", where, f"{row['dropped']} presettled messages dropped just now", row["dropped"])
        )
    if row["undelivered"]:
        wait = row["zero_credit_seconds"]
        why = f"; the receiver has given no credit for {wait} s" if wait else ""
        found.findings.append(
            Finding("odd", where, f"{row['undelivered']} messages wait to go out{why}", row["undelivered"])
        )
    if row["refused"]:
        found.findings.append(
            Finding("odd", where, f"{row['refused']} messages refused just now", row["refused"])
        )


_TITLES: Final = {CONNECTOR: "connector", AUTO_LINK: "auto-link", LINK_ROUTE: "link route"}


def _router_findings(router: str, tables: dict[str, list[Json]]) -> Iterator[Finding]:
    for entity in (CONNECTOR, AUTO_LINK, LINK_ROUTE):
        (state,) = entity.states
        for row in tables.get(entity.name, []):
            if row[state.name] not in {state.good, None}:
                said = row.get("last_error") or row.get("message") or row[state.name]
                yield Finding("bad", router, f"{_TITLES[entity]} {row['name']} is not up: {said}")


def _broker(found: Status, seen: BrokerStatus) -> None:
    if seen.snapshot is None or seen.counted is None:
        found.findings.append(Finding("bad", seen.broker, seen.failure or "not polled"))
        found.brokers.append({"broker": seen.broker, "up": False})
        return
    snapshot, counted = seen.snapshot, seen.counted
    own, system = snapshot.one("broker"), snapshot.one("system")
    heap = snapshot.pools.get("heap", {})
    shares = {
        "memory for messages": own.get("address_memory_ratio"),
        "disk": own.get("disk_ratio"),
        "heap": _share(heap.get("used"), heap.get("max")),
        "file descriptors": (system.get("open_fds") or 0) / system["max_fds"]
        if system.get("max_fds")
        else None,
    }
    found.brokers.append(
        {
            "broker": seen.broker,
            "up": True,
            "product": snapshot.product.title,
            "version": own.get("version"),
            "connections": own.get("connections"),
            "uptime_seconds": (own.get("uptime_ms") or 0) // 1000,
            **{name.replace(" ", "_"): share for name, share in shares.items()},
        }
    )
    for name, share in shares.items():
        if share is not None and share >= _FULL:
            found.findings.append(Finding("bad", seen.broker, f"{name} {share:.0%} full", share))
    for each in counted.rows("address"):
        if each.row.get("paging"):
            text = f"address {each.row['address']} is paging to disk"
            found.findings.append(Finding("odd", seen.broker, text))
    for each in counted.rows("link"):
        _broker_link(found, seen.broker, each, seen.interval_ns / 1e9)
    for each in counted.rows("queue"):
        _queue(found, seen.broker, each.row, each.added, seen.interval_ns / 1e9)


def _broker_link(found: Status, broker: str, link: CountedRow, seconds: float) -> None:
    row, known = link.row, link.sums["acknowledged"] is not None
    found.broker_links.append(
        {
            "broker": broker,
            **{name: row[name] for name in ("link", "kind", "queue", "state", "up")},
            "to": row["to"] or ", ".join(row["peers"] or ()),
            "messages": row["messages"],
            "delivering": row["delivering"],
            "acknowledged_per_second": _rate(link.added["acknowledged"], seconds) if known else None,
        }
    )
    if row["up"] is False:
        waiting = f"; {row['messages']} messages wait" if row["messages"] else ""
        to = f" to {row['to']}" if row["to"] else ""
        text = f"{row['kind']} {row['link']}{to}: {row['state']}{waiting}"
        found.findings.append(Finding("bad", broker, text, row["messages"] or 0))


def _queue(found: Status, broker: str, row: Json, added: dict[str, int], seconds: float) -> None:
    queue = {
        "broker": broker,
        "queue": row["queue"],
        "messages": row.get("messages") or 0,
        "consumers": row.get("consumers") or 0,
        "delivering": row.get("delivering") or 0,
        "added_per_second": _rate(added["added"], seconds),
        "acknowledged_per_second": _rate(added["acknowledged"], seconds),
        "expired": added["expired"],
        "killed": added["killed"],
    }
    found.queues.append(queue)
    where = f"{broker} {row['queue']}"
    if queue["messages"] and not queue["consumers"]:
        text = f"{queue['messages']} messages and no consumer"
        found.findings.append(Finding("odd", where, text, queue["messages"]))
    for name in ("expired", "killed"):
        if queue[name]:
            found.findings.append(
                Finding("bad", where, f"{queue[name]} messages {name} just now", queue[name])
            )


def _rate(added: int, seconds: float) -> float:
    return round(added / seconds, 1) if seconds > 0 else 0.0


def _share(used: int | None, most: int | None) -> float | None:
    return (used or 0) / most if most else None
