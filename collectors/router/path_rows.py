"""What a router tells of the addresses and links of paths, one by one: contract/path_telemetry.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter, lt
from typing import Any, Final, NamedTuple

from collectors.amqp import containers
from collectors.contract.path_telemetry import PATH_ADDRESS, PATH_LINK, State
from collectors.contract.untrusted_text import shown
from collectors.router import address_names
from collectors.router.replies import Row
from collectors.router.snapshot import ROUTER_ROLES, RouterSnapshot

MAX_ROWS: Final = 2_000  # of a router and an entity; what is more is counted as left out
MAX_HOSTS: Final = 512
_MAX_NAME: Final = 192
_CONTROL: Final = "router-control"  # links of the routers' own protocol, which carry no messages of users
_EDGE_DOWN: Final = "edge-downlink"  # the one kind of link with an address that any message may take

_ADDRESS_COUNTERS: Final = ("ingress", "egress", "transit", "to_container", "from_container")
_LINK_COUNTERS: Final = (
    *("deliveries", "presettled", "dropped_presettled", "accepted", "rejected", "released", "modified"),
)
_LINK_GAUGES: Final = ("undelivered", "unsettled", "credit", "zero_credit_seconds")

Counts = tuple[int | None, ...]


class LinkPlace(NamedTuple):
    """What is the same of all links of one connection, address, direction and type."""

    kind: str
    direction: str
    peer: str
    own: bool
    address: str
    phase: str


class PathRows:
    """The rows of one router over many polls. Told by whoever goes through the router's tables anyway.

    A poll: `begin`, `address` and `link` for each row of a table, `end`. Without addresses nothing is told.
    """

    def __init__(self, addresses: frozenset[str]) -> None:
        self._addresses = addresses
        self._known = {
            PATH_ADDRESS: _Rows(("address",), _ADDRESS_COUNTERS, "key"),
            PATH_LINK: _Rows(("link", "connection"), _LINK_COUNTERS, "identity"),
        }
        self._told: dict[str, list[tuple[Row, Any]]] = {}
        self._instance: int | None = None

    def begin(self) -> None:
        """Forget what was told of the poll before."""
        self._told = {entity: [] for entity in self._known}

    def address(self, row: Row, name: str) -> None:
        """Take in a row of the router's addresses, by the name that applications know."""
        if name in self._addresses:
            self._told[PATH_ADDRESS].append((row, name))

    def link_place(self, snapshot: RouterSnapshot, link: Row) -> LinkPlace | None:
        """Return what to give to `link` with each link like this one; None: it is not told."""
        connection = snapshot.connections.get(link["connection"] or "")
        if connection is None or link["type"] == _CONTROL or not self._addresses:
            return None
        key = link["address"] or ""
        name = address_names.mobile(key, snapshot.flavour)
        of_path = name is not None and name in self._addresses
        direction = "in" if link["direction"] == "in" else "out"
        peer = snapshot.peers.get(connection["identity"], "")
        phase = address_names.phase(key, snapshot.flavour) if of_path else ""
        if connection["role"] in ROUTER_ROLES:
            # With an edge, and where a link route goes on, a link has the address of its messages.
            if key and name is None and link["type"] != _EDGE_DOWN:
                return None  # the routers' own
            return LinkPlace("router", direction, _name(peer), False, name if of_path and name else "", phase)
        if not of_path:
            return None
        container = connection["container"] or ""
        return LinkPlace(
            *("end", direction, _name(peer or container), containers.is_probe(container)), name or "", phase
        )

    def link(self, link: Row, place: LinkPlace) -> None:
        """Take in a row of the router's links; between routers those count that ever carried anything."""
        if place.kind == "end" or link["deliveries"]:
            self._told[PATH_LINK].append((link, place))

    def end(self, snapshot: RouterSnapshot, *, restarted: bool) -> tuple[dict[str, list[Row]], int]:
        """Return the rows of each entity that the router told of in this poll, and how many are left out."""
        found: dict[str, list[Row]] = {}
        omitted = 0
        if not self._addresses:
            return found, omitted
        # Who tells its instance is another one only if that is; an edge tells none, and its uptime has to do.
        instance, before = snapshot.instance, self._instance
        restarted = restarted and (instance is None or instance != before)
        other = restarted and instance is not None
        self._instance = instance
        makers: dict[str, Callable[[Row, Any], Row]] = {
            PATH_ADDRESS: lambda row, name: _address(row, name, snapshot),
            PATH_LINK: _link,
        }
        for entity, known in self._known.items():
            if other:
                known.forget()
            # Without a whole table nothing can be said of what is gone.
            if not known.tables <= snapshot.fresh:
                continue
            told = self._told[entity]
            omitted += max(0, len(told) - MAX_ROWS)
            absent = snapshot.absent.get(known.table, frozenset())
            found[entity] = known.states(told[:MAX_ROWS], makers[entity], absent, restarted=restarted)
        return found, omitted


class _Rows:
    """The rows of one entity as they were in the poll before."""

    def __init__(self, tables: tuple[str, ...], counters: Sequence[str], identity: str) -> None:
        self.table, self.tables = tables[0], {*tables}  # the one with the counters, and all that are needed
        self._counters, self._identity = counters, identity
        self._counts: Callable[[Row], Counts] = itemgetter(*counters)
        self._before: dict[str, tuple[Counts, Row]] | None = None

    def forget(self) -> None:
        self._before = None

    def states(
        self,
        told: Sequence[tuple[Row, Any]],
        make: Callable[[Row, Any], Row],
        absent: frozenset[str],
        *,
        restarted: bool,
    ) -> list[Row]:
        before, now = self._before, dict[str, tuple[Counts, Row]]()
        # What a version does not tell at all is 0; what it fails to tell once cannot be compared.
        untold = [name in absent for name in self._counters]
        for row, place in told:
            counts = self._counts(row)
            if None in counts:
                counts = tuple(0 if gone else count for gone, count in zip(untold, counts, strict=True))
            made = make(row, place)
            made |= dict(zip(self._counters, (count or 0 for count in counts), strict=True))
            made["state"] = _state(before, row[self._identity], counts, restarted=restarted)
            now[row[self._identity]] = counts, made
        gone = [] if before is None else [row for key, (_, row) in before.items() if key not in now]
        self._before = now
        return [*(row for _, row in now.values()), *({**row, "state": "gone"} for row in gone)]


def _state(
    before: Mapping[str, tuple[Counts, Row]] | None, key: str, counts: Counts, *, restarted: bool
) -> State:
    if before is None:
        return ""
    if key not in before:
        return "new"
    earlier = before[key][0]
    if restarted or None in counts or None in earlier or any(map(lt, counts, earlier)):  # type: ignore[arg-type]  # no None
        return "reset"
    return ""


def _address(row: Row, name: str, snapshot: RouterSnapshot) -> Row:
    return {
        "key": row["key"],
        "address": name,
        "phase": address_names.phase(row["key"], snapshot.flavour),
        "distribution": _name(row["distribution"] or ""),
        "local": max(0, row["local"] or 0),
        "remote": max(0, row["remote"] or 0),
        "hosts": [_name(host) for host in (row["hosts"] or ())[:MAX_HOSTS]],
    }


def _link(row: Row, place: LinkPlace) -> Row:
    return {
        "identity": _name(row["identity"]),
        "name": row["name"] or "",
        **place._asdict(),
        **{name: max(0, row[name] or 0) for name in _LINK_GAUGES},
    }


def _name(text: str) -> str:
    """Return the text as a name that the contract takes."""
    text = text[:_MAX_NAME]
    return text if text.isprintable() else shown(text)
