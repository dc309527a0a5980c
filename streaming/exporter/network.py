"""Routers, links and queues as the collectors' records tell them; the newest record of each wins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from collectors.telemetry import Telemetry

Json = dict[str, Any]

STALE_INTERVALS: Final = 3  # a target not heard of for longer is told as stale, not as up
FORGET_NS: Final = 900 * 10**9
MAX_TARGETS: Final = 1_000
CONTROL: Final = "router-control"  # links that carry no messages of users


@dataclass(slots=True)
class _Target:
    """The newest rows of a router, a broker or a mesh as a whole, by entity."""

    at_ns: int = 0
    interval_ns: int = 0
    tables: dict[str, list[Json]] = field(default_factory=dict)
    polls: dict[str, int] = field(default_factory=dict)

    def put(self, record: Telemetry) -> None:
        if record.part == 1 or self.polls.get(record.entity) != record.poll:
            self.tables[record.entity] = []
        self.polls[record.entity] = record.poll
        self.tables[record.entity] += record.rows
        self.at_ns, self.interval_ns = record.at_ns, record.interval_ns

    def rows(self, entity: str) -> list[Json]:
        return self.tables.get(entity, [])

    def stale(self, now_ns: int) -> bool:
        return now_ns - self.at_ns > STALE_INTERVALS * self.interval_ns + 5 * 10**9


class Network:
    """Guarded by the exporter's lock."""

    def __init__(self) -> None:
        self._routers: dict[tuple[str, str], _Target] = {}  # by mesh and router; no router: the mesh
        self._brokers: dict[tuple[str, str], _Target] = {}

    def apply_router(self, record: Telemetry) -> None:
        _put(self._routers, record)

    def apply_broker(self, record: Telemetry) -> None:
        _put(self._brokers, record)

    def view(self, now_ns: int) -> Json:
        """Routers, edges, brokers and queues, each with the moment it was last heard of."""
        for targets in (self._routers, self._brokers):
            for key in [k for k, target in targets.items() if now_ns - target.at_ns > FORGET_NS]:
                del targets[key]
        meshes = [(mesh, target) for (mesh, name), target in sorted(self._routers.items()) if not name]
        return {
            "routers": [
                self._router(mesh, row, target, now_ns)
                for mesh, target in meshes
                for row in target.rows("mesh")
                if row.get("kind") == "router"
            ],
            "edges": [
                self._edge(mesh, row, target, now_ns)
                for mesh, target in meshes
                for row in target.rows("mesh")
                if row.get("kind") == "edge"
            ],
            "differences": [
                {
                    "mesh": mesh,
                    "kind": _text(row, "difference"),
                    "names": _names(row),
                }
                for mesh, target in meshes
                for row in target.rows("mesh")
                if row.get("kind") == "difference"
            ],
            "brokers": [_broker(key, target, now_ns) for key, target in sorted(self._brokers.items())],
            "queues": [
                _queue(key, row, target, now_ns)
                for key, target in sorted(self._brokers.items())
                for row in target.rows("queue")
            ],
        }

    def _router(self, mesh: str, row: Json, of_mesh: _Target, now_ns: int) -> Json:
        name = _text(row, "router")
        target = self._routers.get((mesh, name), _Target())
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

    def _edge(self, mesh: str, row: Json, of_mesh: _Target, now_ns: int) -> Json:
        ends = _text(row, "source"), _text(row, "target")
        up = row.get("up") is True
        links = [
            link
            for here, there in (ends, ends[::-1])
            for link in self._routers.get((mesh, here), _Target()).rows("link")
            if up
            and link.get("peer") == there
            and link.get("type") != CONTROL
            and link.get("direction") == "out"
        ]
        return {
            "mesh": mesh,
            "id": "--".join(ends),
            "source": ends[0],
            "target": ends[1],
            "up": up,
            "stale": of_mesh.stale(now_ns),
            "cost": row.get("cost") if isinstance(row.get("cost"), int) else None,
            "undelivered": sum(_number(link, "undelivered") for link in links),
            "unsettled": sum(_number(link, "unsettled") for link in links),
            "rate": _rate(links, of_mesh.interval_ns) if up else None,
        }


def _put(targets: dict[tuple[str, str], _Target], record: Telemetry) -> None:
    key = record.mesh, record.target
    if key not in targets and len(targets) >= MAX_TARGETS:
        raise ValueError(f"{record.key}: {MAX_TARGETS} routers or brokers are the most that are shown")
    targets.setdefault(key, _Target()).put(record)


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
    value = row.get(name)
    return value if type(value) is int else 0


def _text(row: Json, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _names(row: Json) -> list[str]:
    names = row.get("names")
    return [str(name) for name in names] if isinstance(names, list) else []
