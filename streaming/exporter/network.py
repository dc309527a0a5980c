"""Routers, brokers, links and queues, from the newest of the collectors' records of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from collectors.contract.telemetry import Telemetry
from collectors.contract.untrusted_text import MAX_TEXT
from streaming.exporter.memory_bounds import Full, MemoryBound, weight

Json = dict[str, Any]
_Links = dict[tuple[str, str, str], list[Json]]  # by mesh, router and peer

STALE_INTERVALS: Final = 3  # a target not heard of for longer is told as stale, not as up
FORGET_NS: Final = 900 * 10**9
MAX_TARGETS: Final = 1_000
MAX_BYTES: Final = 128 << 20  # of rows
MAX_NAMES: Final = 1_000  # of a difference
CONTROL: Final = "router-control"  # links that carry no messages of users

# What is shown of the rows of each entity, and of which type it is; of others nothing is kept.
_SHOWN: Final[dict[str, dict[str, type]]] = {
    "mesh": {
        **dict.fromkeys(("kind", "router", "reason", "source", "target", "difference"), str),
        "up": bool,
        "cost": int,
        "names": list,
    },
    "router": {**dict.fromkeys(("mode", "flavour", "version"), str), "uptime_seconds": int},
    "link": {
        **dict.fromkeys(("peer", "direction", "type"), str),
        **dict.fromkeys(("deliveries_added", "undelivered", "unsettled", "dropped_presettled_added"), int),
    },
    "broker": {**dict.fromkeys(("reason", "version", "product"), str), "up": bool},
    "broker_link": {
        **dict.fromkeys(("kind", "link", "to", "queue", "state"), str),
        "up": bool,
        **dict.fromkeys(("messages", "delivering", "acknowledged", "acknowledged_added"), int),
    },
    "queue": {
        **dict.fromkeys(("queue", "address"), str),
        **dict.fromkeys(("messages", "consumers", "added_added", "acknowledged_added"), int),
    },
}


@dataclass(slots=True)
class _Table:
    """An entity's rows of one poll, by the part that they came in."""

    poll: int = 0
    parts: dict[int, list[Json]] = field(default_factory=dict)


@dataclass(slots=True)
class _Target:
    """The newest rows of a router, a broker or a mesh as a whole, by entity."""

    at_ns: int = 0
    interval_ns: int = 0
    tables: dict[str, _Table] = field(default_factory=dict)

    def rows(self, entity: str) -> list[Json]:
        table = self.tables.get(entity)
        return [] if table is None else [row for part in sorted(table.parts) for row in table.parts[part]]

    def stale(self, now_ns: int) -> bool:
        return now_ns - self.at_ns > STALE_INTERVALS * self.interval_ns + 5 * 10**9


class _Targets:
    """All routers and meshes, or all brokers."""

    def __init__(self, kind: str, memory: MemoryBound) -> None:
        self._kind = kind
        self._memory = memory
        self._of: dict[tuple[str, str], _Target] = {}

    def put(self, record: Telemetry, now_ns: int) -> None:
        """Take a record; raises Full if there are too many targets or rows."""
        shown = _SHOWN.get(record.entity)
        if shown is None:
            return
        key = record.mesh, record.target
        if key not in self._of:
            self.forget(now_ns)
            if len(self._of) >= MAX_TARGETS:
                raise Full(f"{MAX_TARGETS} routers or brokers are the most that are shown")
        target = self._of.setdefault(key, _Target())
        table = target.tables.setdefault(record.entity, _Table())
        if record.part == 1 or table.poll != record.poll:
            self._empty(key, record.entity, table)
            table.poll = record.poll
        rows = [_slim(row, shown) for row in record.rows]
        self._memory.reserve((self._kind, key, record.entity, record.part), weight(rows))
        table.parts[record.part] = rows
        target.at_ns, target.interval_ns = record.at_ns, record.interval_ns

    def forget(self, now_ns: int) -> None:
        """Forget the targets of which no record has come for 15 minutes."""
        for key in [k for k, target in self._of.items() if now_ns - target.at_ns > FORGET_NS]:
            for entity, table in self._of.pop(key).tables.items():
                self._empty(key, entity, table)

    def get(self, mesh: str, name: str) -> _Target:
        return self._of.get((mesh, name)) or _Target()

    def sorted(self) -> list[tuple[tuple[str, str], _Target]]:
        return sorted(self._of.items())

    def _empty(self, key: tuple[str, str], entity: str, table: _Table) -> None:
        self._memory.release((self._kind, key, entity, part) for part in table.parts)
        table.parts.clear()


class Network:
    """All meshes and brokers; the exporter's lock guards it."""

    def __init__(self) -> None:
        self.memory: Final = MemoryBound(MAX_BYTES)
        self._routers: Final = _Targets("router", self.memory)  # by mesh and router; no router: the mesh
        self._brokers: Final = _Targets("broker", self.memory)

    def apply_router(self, record: Telemetry, now_ns: int) -> None:
        self._routers.put(record, now_ns)

    def apply_broker(self, record: Telemetry, now_ns: int) -> None:
        self._brokers.put(record, now_ns)

    def as_json(self, now_ns: int) -> Json:
        """Return routers, edges, brokers, their links and queues, each with the time it was last heard of."""
        for targets in (self._routers, self._brokers):
            targets.forget(now_ns)
        meshes = [(mesh, target) for (mesh, name), target in self._routers.sorted() if not name]
        # Each is looked for once, and told once, however often its row is there.
        routers = {
            (mesh, _text(row, "router")): (row, target)
            for mesh, target in meshes
            for row in target.rows("mesh")
            if row.get("kind") == "router"
        }
        edges = {
            (mesh, _text(row, "source"), _text(row, "target")): (row, target)
            for mesh, target in meshes
            for row in target.rows("mesh")
            if row.get("kind") == "edge"
        }
        links = self._links_out()
        return {
            "routers": [self._router(key, row, target, now_ns) for key, (row, target) in routers.items()],
            "edges": [_edge(key, row, target, links, now_ns) for key, (row, target) in edges.items()],
            "differences": [
                {
                    "mesh": mesh,
                    "kind": _text(row, "difference"),
                    "names": row.get("names", []),
                }
                for mesh, target in meshes
                for row in target.rows("mesh")
                if row.get("kind") == "difference"
            ],
            "brokers": [_broker(key, target, now_ns) for key, target in self._brokers.sorted()],
            "broker_links": [
                _broker_link(key, row, target, now_ns)
                for key, target in self._brokers.sorted()
                for row in target.rows("broker_link")
            ],
            "queues": [
                _queue(key, row, target, now_ns)
                for key, target in self._brokers.sorted()
                for row in target.rows("queue")
            ],
        }

    def _links_out(self) -> _Links:
        found: _Links = {}
        for (mesh, name), target in self._routers.sorted():
            for link in target.rows("link"):
                if link.get("type") != CONTROL and link.get("direction") == "out":
                    found.setdefault((mesh, name, _text(link, "peer")), []).append(link)
        return found

    def _router(self, key: tuple[str, str], row: Json, of_mesh: _Target, now_ns: int) -> Json:
        mesh, name = key
        target = self._routers.get(mesh, name)
        who = next(iter(target.rows("router")), {})
        up = row.get("up") is True
        # What a router said before it died is of no use now.
        links = [link for link in target.rows("link") if up and link.get("type") != CONTROL]
        return {
            "mesh": mesh,
            "router": name,
            "up": up,
            "stale": of_mesh.stale(now_ns),
            "reason": _text(row, "reason"),
            "at_seconds": of_mesh.at_ns / 1e9,
            "mode": _text(who, "mode"),
            "flavour": _text(who, "flavour"),
            "version": _text(who, "version"),
            "uptime_seconds": _number(who, "uptime_seconds") if up else 0,
            "rate": _rate(links, target.interval_ns) if up else None,
            "undelivered": sum(_number(link, "undelivered") for link in links),
            "unsettled": sum(_number(link, "unsettled") for link in links),
            "dropped": sum(_number(link, "dropped_presettled_added") for link in links),
        }


def _edge(key: tuple[str, str, str], row: Json, of_mesh: _Target, links_out: _Links, now_ns: int) -> Json:
    mesh, source, target = key
    up = row.get("up") is True
    links = [*links_out.get(key, []), *links_out.get((mesh, target, source), [])] if up else []
    return {
        "mesh": mesh,
        "id": f"{source}--{target}",
        "source": source,
        "target": target,
        "up": up,
        "stale": of_mesh.stale(now_ns),
        "cost": row.get("cost"),
        "undelivered": sum(_number(link, "undelivered") for link in links),
        "unsettled": sum(_number(link, "unsettled") for link in links),
        "rate": _rate(links, of_mesh.interval_ns) if up else None,
    }


def _slim(row: Json, shown: dict[str, type]) -> Json:
    """Return the fields that are shown, cut to the length that is shown; decoding has checked the record."""
    found: Json = {}
    for name, kind in shown.items():
        value = row.get(name)
        if type(value) is kind:
            found[name] = value[:MAX_TEXT] if isinstance(value, str) else value
            if isinstance(value, list):
                found[name] = [str(item)[:MAX_TEXT] for item in value[:MAX_NAMES]]
    return found


def _broker(key: tuple[str, str], target: _Target, now_ns: int) -> Json:
    who = next(iter(target.rows("broker")), {})
    return {
        "mesh": key[0],
        "broker": key[1],
        "up": who.get("up") is not False,
        "stale": target.stale(now_ns),
        "at_seconds": target.at_ns / 1e9,
        "reason": _text(who, "reason"),
        "version": _text(who, "version"),
        "product": _text(who, "product"),
    }


def _broker_link(key: tuple[str, str], row: Json, target: _Target, now_ns: int) -> Json:
    return {
        "mesh": key[0],
        "broker": key[1],
        **{name: _text(row, name) for name in ("kind", "link", "to", "queue", "state")},
        "up": row.get("up") is not False,
        "stale": target.stale(now_ns) or next(iter(target.rows("broker")), {}).get("up") is False,
        "messages": row.get("messages"),
        "delivering": row.get("delivering"),
        "rate": _rate([row], target.interval_ns, "acknowledged_added") if "acknowledged" in row else None,
    }


def _queue(key: tuple[str, str], row: Json, target: _Target, now_ns: int) -> Json:
    return {
        "mesh": key[0],
        "broker": key[1],
        "queue": _text(row, "queue"),
        "address": _text(row, "address"),
        "stale": target.stale(now_ns) or next(iter(target.rows("broker")), {}).get("up") is False,
        "messages": _number(row, "messages"),
        "consumers": _number(row, "consumers"),
        "in_rate": _rate([row], target.interval_ns, "added_added"),
        "out_rate": _rate([row], target.interval_ns, "acknowledged_added"),
    }


def _rate(rows: list[Json], interval_ns: int, name: str = "deliveries_added") -> float | None:
    added = sum(_number(row, name) for row in rows)
    return round(added * 1e9 / interval_ns, 1) if interval_ns > 0 else None


def _number(row: Json, name: str) -> int:
    value: int = row.get(name, 0)
    return value


def _text(row: Json, name: str) -> str:
    value: str = row.get(name, "")
    return value
