"""A router's counters over many polls: sums that only rise, whatever restarts, comes or goes."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.contract.untrusted_text import matches
from collectors.polling.monotonic_counters import CounterDeltas, MonotonicSums
from collectors.router import address_names
from collectors.router.replies import Row
from collectors.router.snapshot import LinkGroup, RouterView, link_group

OUTCOMES: Final = ("accepted", "rejected", "released", "modified", "presettled", "dropped_presettled")
DELAYS: Final = ("delayed_1s", "delayed_10s")
FLOWS: Final = (
    *("ingress", "egress", "transit", "ingress_route_container", "egress_route_container", "fallback"),
)
ADDRESS_FLOWS: Final = (
    *("ingress", "egress", "transit", "to_container", "from_container"),
    *("ingress_route_container", "egress_route_container", "fallback"),
)
LINK_COUNTERS: Final = ("deliveries", *OUTCOMES, *DELAYS)
LINK_GAUGES: Final = ("undelivered", "unsettled", "credit", "capacity", "stuck")
TOTAL_COUNTERS: Final = (*OUTCOMES, *FLOWS, *DELAYS)
_LINK_VECTOR: Final = operator.itemgetter(*LINK_COUNTERS)
ALLOCATOR_COUNTERS: Final = ("heap_allocated", "heap_freed", "to_threads", "to_global")

# Of links, and as many addresses, for each router; the rest is summed as `_other`. Of links as many again are
# told apart by what is not the address.
MAX_GROUPS: Final = 500
FORGET_NS: Final = 900_000_000_000
UPTIME_SLACK_SECONDS: Final = 5
_REST: Final = LinkGroup(*[address_names.OTHER] * len(LinkGroup._fields))


@dataclass(slots=True)
class Entry:
    """A thing with counters: what they add up to, what this poll added, and values of now."""

    sums: tuple[int, ...]
    added: tuple[int, ...]
    gauges: dict[str, int] = field(default_factory=dict)
    members: int = 1


@dataclass(slots=True)
class Tallied:
    """What a poll of one router comes to."""

    restarted: bool
    interval_ns: int  # from what it said before, which `added` is since; 0 where that was nothing
    totals: Entry
    links: dict[LinkGroup, Entry]
    addresses: dict[str, Entry]
    allocators: dict[str, Entry]
    ingress: dict[str, int]  # by the router where they came in: deliveries this poll added
    omitted: dict[str, int]


class Tally:
    """Kept for one router, fed with each poll of it that succeeded."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._patterns = patterns
        self._deltas = CounterDeltas()
        self._allocator_deltas = CounterDeltas()  # which has rounds of its own: it is read less often
        self._sums = {
            "total": MonotonicSums(len(TOTAL_COUNTERS), FORGET_NS),
            "link": MonotonicSums(len(LINK_COUNTERS), FORGET_NS),
            "address": MonotonicSums(len(ADDRESS_FLOWS), FORGET_NS),
            "allocator": MonotonicSums(len(ALLOCATOR_COUNTERS), FORGET_NS),
        }
        self._allocators: dict[str, Entry] = {}
        self._before: RouterView | None = None

    def feed(self, seen: RouterView) -> Tallied:
        restarted = self._before is not None and _restarted(self._before, seen)
        interval_ns = seen.steady_ns - self._before.steady_ns if self._before else 0
        self._before = seen
        self._deltas.start_round(restarted=restarted)
        self._allocator_deltas.start_round(restarted=restarted)
        added = self._deltas.increase("total", _vector(seen.totals, TOTAL_COUNTERS))
        self._sums["total"].add("", added, seen.steady_ns)
        links, other_links = self._links(seen)
        addresses, other_addresses = self._addresses(seen)
        if "allocator" in seen.fresh:
            self._allocators = self._read_allocators(seen)
            self._allocator_deltas.end_round()
        tallied = Tallied(
            restarted,
            interval_ns,
            Entry(self._sums["total"].get(""), added),
            links,
            addresses,
            self._allocators,
            self._ingress(seen),
            {"link_group": other_links, "address": other_addresses},
        )
        self._deltas.end_round()
        for sums in self._sums.values():
            sums.forget_idle(seen.steady_ns)
        return tallied

    def _links(self, seen: RouterView) -> tuple[dict[LinkGroup, Entry], int]:
        sums = self._sums["link"]
        found: dict[LinkGroup, Entry] = {}
        omitted: set[LinkGroup] = set()
        groups: dict[tuple[Any, ...], LinkGroup] = {}
        for link in seen.rows("link"):
            where = (link["connection"], link["address"], link["direction"], link["type"])
            group = groups.get(where)
            if group is None:
                group = link_group(seen, link, self._patterns)
                if group not in sums and len(sums) >= MAX_GROUPS and group.address != address_names.OTHER:
                    omitted.add(group)
                    group = group._replace(address=address_names.OTHER)
                if group not in sums and len(sums) >= 2 * MAX_GROUPS:
                    omitted.add(group)
                    group = _REST
                groups[where] = group
            added = self._deltas.increase(("link", link["identity"]), _counted(link))
            sums.add(group, added, seen.steady_ns)
            idle = link["zero_credit_seconds"] or 0
            entry = found.get(group)
            if entry is None:
                gauges = {name: link[name] or 0 for name in LINK_GAUGES}
                found[group] = Entry((), added, {**gauges, "zero_credit_seconds": idle})
                continue
            _add(entry, added)
            gauges = entry.gauges
            for name in LINK_GAUGES:
                if value := link[name]:
                    gauges[name] += value
            gauges["zero_credit_seconds"] = max(gauges["zero_credit_seconds"], idle)
        _leave_out_own(found, seen)
        # A group whose links are gone keeps its counters for a while.
        for gone in sums.groups():
            if gone not in found and isinstance(gone, LinkGroup):
                found[gone] = Entry((), (0,) * len(LINK_COUNTERS), {}, 0)
        _finish(found, sums)
        return found, len(omitted)

    def _addresses(self, seen: RouterView) -> tuple[dict[str, Entry], int]:
        sums = self._sums["address"]
        found: dict[str, Entry] = {}
        omitted: set[str] = set()
        for row in seen.rows("address"):
            name = address_names.mobile(row["key"], seen.flavour)
            if name is None:
                continue
            if not matches(name, self._patterns) or (name not in sums and len(sums) >= MAX_GROUPS):
                omitted.add(name)
                name = address_names.OTHER
            added = self._deltas.increase(("address", row["key"]), _vector(row, ADDRESS_FLOWS))
            sums.add(name, added, seen.steady_ns)
            gauges = {"local": row["subscribers"] or 0, "remote": row["remotes"] or 0}
            _join(found, name, added, gauges)
        _finish(found, sums)
        return found, len(omitted)

    def _read_allocators(self, seen: RouterView) -> dict[str, Entry]:
        sums = self._sums["allocator"]
        found: dict[str, Entry] = {}
        for row in seen.rows("allocator"):
            added = self._allocator_deltas.increase(row["type"], _vector(row, ALLOCATOR_COUNTERS))
            sums.add(row["type"], added, seen.steady_ns)
            _join(found, row["type"], added, {"held_bytes": (row["held"] or 0) * (row["size_bytes"] or 0)})
        _finish(found, sums)
        return found

    def _ingress(self, seen: RouterView) -> dict[str, int]:
        """Who sent what leaves here; an edge's traffic is counted by its interior router."""
        if seen.edge:
            return {}
        routers = {row["index"]: row["id"] for row in seen.rows("node")}
        found: dict[str, int] = {}
        for link in seen.rows("link"):
            histogram = link["ingress_histogram"]
            if not histogram or link["type"] != "endpoint" or link["direction"] != "out":
                continue
            if address_names.mobile(link["address"], seen.flavour) is None:
                continue
            added = self._deltas.increase(("ingress", link["identity"]), tuple(histogram))
            for index, total in enumerate(histogram):
                if total:
                    router = routers.get(index, "_unknown")
                    found[router] = found.get(router, 0) + added[index]
        return found


def _restarted(before: RouterView, now: RouterView) -> bool:
    if None not in {before.instance, now.instance} and before.instance != now.instance:
        return True
    if before.uptime_seconds is None or now.uptime_seconds is None:
        return False
    elapsed_seconds = (now.steady_ns - before.steady_ns) // 1_000_000_000
    return now.uptime_seconds < before.uptime_seconds + elapsed_seconds - UPTIME_SLACK_SECONDS


def _vector(row: Row, counters: Sequence[str]) -> tuple[int, ...]:
    return tuple([row.get(name) or 0 for name in counters])


def _counted(link: Row) -> tuple[int, ...]:
    counts: tuple[int, ...] = _LINK_VECTOR(link)
    return counts if None not in counts else tuple([count or 0 for count in counts])


def _join(found: dict[Any, Entry], group: Hashable, added: tuple[int, ...], gauges: dict[str, int]) -> None:
    entry = found.get(group)
    if entry is None:
        found[group] = Entry((), added, gauges)
        return
    _add(entry, added)
    for name, value in gauges.items():
        entry.gauges[name] = entry.gauges.get(name, 0) + value


def _add(entry: Entry, added: tuple[int, ...]) -> None:
    entry.members += 1
    if any(added):
        entry.added = tuple(map(operator.add, entry.added, added))


def _leave_out_own(links: Mapping[LinkGroup, Entry], seen: RouterView) -> None:
    """What may be our own requests and replies does not wait, unless the link has long had no credit."""
    for group, entry in links.items():
        if group.peer in seen.neighbours and not entry.gauges["zero_credit_seconds"]:
            for name in ("undelivered", "unsettled"):
                entry.gauges[name] = max(0, entry.gauges[name] - seen.own)


def _finish(found: dict[Any, Entry], sums: MonotonicSums) -> None:
    for group, entry in found.items():
        entry.sums = sums.get(group)
