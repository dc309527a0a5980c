"""A poll of a mesh as records for `inflight.router`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from collectors.contract.path_telemetry import PATH_ADDRESS, PATH_LINK
from collectors.contract.telemetry import MAX_ROWS, Telemetry, split
from collectors.contract.untrusted_text import encodable
from collectors.router import schema
from collectors.router.asked import Asked
from collectors.router.counters import (
    ADDRESS_COUNTERS,
    ALLOCATOR_COUNTERS,
    LINK_COUNTERS,
    TOTAL_COUNTERS,
    CountedGroup,
)
from collectors.router.mesh_status import MeshStatus
from collectors.router.replies import Row
from collectors.router.snapshot import RouterSnapshot

_TOTALS: Final = tuple(a.name for a in schema.ROUTER.attributes if a.type == "number")
# As they came; those that hardly change are published less often.
_PLAIN: Final = ("node", "connector", "auto_link", "link_route")
_ASKED: Final = ("listener", "address_config", "allocator")  # when they have been asked for
_SELDOM: Final = ("connection",)
SELDOM_POLLS: Final = 12
_FEW_NAMES: Final = 8
# Of what tables of the router an entity's rows say something that changes, where it is not that of its name.
_TABLES: Final = {"router": ("router", "metrics"), PATH_ADDRESS: ("address",), PATH_LINK: ("link",)}


def of_poll(site: str, status: MeshStatus, poll: int, run: str = "") -> Iterator[Telemetry]:
    """Yield a record of the mesh, and one of each entity of each router that answered this poll.

    `poll` numbers the mesh's record; a router's are numbered by its own polls, so that one that is missing
    shows. `run` is the collector's.
    """
    yield from split(of_mesh(site, status, poll, run))
    for router in status.polled:
        snapshot, counted = status.snapshots[router], status.counted[router]
        entities: dict[str, list[dict[str, Any]]] = {
            "router": [_who(snapshot) | _counters(TOTAL_COUNTERS, counted.totals)],
            "link": [
                {**group._asdict(), **entry.gauges, **_counters(LINK_COUNTERS, entry), "links": entry.members}
                for group, entry in counted.links.items()
            ],
            "address": [
                {"address": name, **entry.gauges, **_counters(ADDRESS_COUNTERS, entry)}
                for name, entry in counted.addresses.items()
            ],
            **counted.of_paths,
        }
        fresh = [entity for entity in _ASKED if entity in snapshot.fresh]
        for entity in (*_PLAIN, *fresh, *(_SELDOM if counted.polls % SELDOM_POLLS == 1 else ())):
            if entity == "allocator":
                entities[entity] = [
                    {**row, **_counters(ALLOCATOR_COUNTERS, counted.allocators[row["type"]])}
                    for row in snapshot.rows(entity)
                ]
            elif entity in snapshot.tables:
                entities[entity] = snapshot.rows(entity)
        for entity, rows in entities.items():
            asked_ns, answered_ns = _times(snapshot, entity)
            yield from split(
                Telemetry(
                    site=site,
                    mesh=status.mesh,
                    target=router,
                    entity=entity,
                    at_ns=status.at_ns,
                    interval_ns=counted.interval_ns or status.interval_ns,
                    poll=counted.polls,
                    rows=rows,
                    restarted=counted.restarted,
                    run=run,
                    asked_ns=asked_ns,
                    answered_ns=answered_ns,
                    instance=max(0, snapshot.instance or 0),
                ),
                _rows_of_a_part(rows) if entity == PATH_ADDRESS else MAX_ROWS,
            )


def of_mesh(site: str, status: MeshStatus, poll: int, run: str = "") -> Telemetry:
    """Return the graph: routers with `up` and why not, or `reason` if cut off; edges with `up` and `cost`."""
    reasons = {**status.down, **{router: found.text for router, found in status.cut_off.items()}}
    rows: list[dict[str, Any]] = [
        {"kind": "router", "router": router, "up": up, "reason": encodable(reasons.get(router, "")) or None}
        for router, up in status.graph.routers.items()
    ]
    rows += [
        {"kind": "edge", "source": e.pair.first, "target": e.pair.second, "up": e.up, "cost": e.cost}
        for e in status.graph.edges
    ]
    rows += [
        {"kind": "difference", "difference": kind, "names": list(found)}
        for kind, found in _differences(status).items()
    ]
    return Telemetry(
        site=site,
        mesh=status.mesh,
        target="",
        entity="mesh",
        at_ns=status.at_ns,
        interval_ns=status.interval_ns,
        poll=poll,
        rows=rows,
        run=run,
        asked_ns=status.asked_ns or status.at_ns,
        answered_ns=status.at_ns,
    )


def _rows_of_a_part(addresses: Sequence[Row]) -> int:
    """Return how many rows go into a part: each may name hundreds of routers."""
    names = max((len(row["hosts"]) for row in addresses), default=0)
    return max(1, MAX_ROWS // (1 + names // _FEW_NAMES))


def _times(snapshot: RouterSnapshot, entity: str) -> Asked:
    """Return when the tables that an entity's rows are made of were asked for, and the last of them told."""
    tables = _TABLES.get(entity, (entity,))
    times = [snapshot.times[table] for table in tables if table in snapshot.times]
    if not times:
        return Asked(snapshot.at_ns, snapshot.at_ns)
    return Asked(min(each.asked_ns for each in times), max(each.answered_ns for each in times))


def _differences(status: MeshStatus) -> dict[str, Sequence[str]]:
    """Return the differences from the expected topology, those that are not empty."""
    return {kind: names for kind, names in status.graph.differences._asdict().items() if names}


def _who(snapshot: RouterSnapshot) -> dict[str, Any]:
    return {
        "router": snapshot.router,
        "flavour": snapshot.flavour,
        "version": snapshot.version,
        "mode": snapshot.mode,
        "instance": snapshot.instance,
        **{name: snapshot.totals.get(name) for name in _TOTALS},
    }


def _counters(names: Sequence[str], entry: CountedGroup) -> dict[str, int]:
    counters = dict(zip(names, entry.sums, strict=True))
    added = {f"{name}_added": value for name, value in zip(names, entry.added, strict=True)}
    return {**counters, **added}
