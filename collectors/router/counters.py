"""A router's counters over many polls, as sums that only rise."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.contract.untrusted_text import matches
from collectors.polling.monotonic_counters import CounterDeltas, MonotonicSums
from collectors.router import address_names, schema
from collectors.router.path_rows import LinkPlace, PathRows
from collectors.router.replies import Row
from collectors.router.snapshot import LinkGroup, RouterSnapshot, link_group

LINK_COUNTERS: Final = tuple(a.name for a in schema.LINK.counts)
TOTAL_COUNTERS: Final = tuple(a.name for a in schema.ROUTER.counts)
ADDRESS_COUNTERS: Final = tuple(a.name for a in schema.ADDRESS.counts)
ALLOCATOR_COUNTERS: Final = tuple(a.name for a in schema.ALLOCATOR.counts)
_LINK_COUNTS: Final = operator.itemgetter(*LINK_COUNTERS)
_LINK_GAUGES: Final = tuple(a.name for a in schema.LINK.gauges)
_LINK_SUMMED: Final = tuple(a.name for a in schema.LINK.gauges if not a.highest)
_LINK_HIGHEST: Final = tuple(a.name for a in schema.LINK.gauges if a.highest)
_ADDRESS_GAUGES: Final = tuple(a.name for a in schema.ADDRESS.gauges)

# Of links, and as many addresses, for each router; the rest is summed as `_other`. Of links as many again are
# told apart by what is not the address.
MAX_GROUPS: Final = 500
FORGET_NS: Final = 900_000_000_000
UPTIME_SLACK_SECONDS: Final = 5
_REST: Final = LinkGroup(*[address_names.OTHER] * len(LinkGroup._fields))


@dataclass(slots=True)
class CountedGroup:
    """Counters of links or addresses: their sums, what this poll added, and this poll's gauges."""

    sums: tuple[int, ...]
    added: tuple[int, ...]
    gauges: dict[str, int] = field(default_factory=dict)
    members: int = 1  # of this poll


@dataclass(slots=True)
class CountedRouter:
    """The result of a poll of one router."""

    restarted: bool
    interval_ns: int  # from what it said before, which `added` is since; 0 where that was nothing
    totals: CountedGroup
    links: dict[LinkGroup, CountedGroup]
    addresses: dict[str, CountedGroup]
    allocators: dict[str, CountedGroup]
    ingress: dict[str, int]  # by the router where they came in: deliveries this poll added
    omitted: dict[str, int]
    of_paths: dict[str, list[Row]] = field(default_factory=dict)  # by entity of contract/path_telemetry.py
    polls: int = 1  # of this router, through whichever URL


class RouterCounters:
    """Counters of one router; `count` is given each poll that succeeded."""

    def __init__(self, patterns: tuple[str, ...], addresses: frozenset[str] = frozenset()) -> None:
        """`patterns` say what is told apart in sums; the `addresses` of paths are told one by one, too."""
        self._patterns = patterns
        self._paths = PathRows(addresses)
        self._deltas = CounterDeltas()
        self._allocator_deltas = CounterDeltas()  # which has rounds of its own: it is read less often
        self._sums = {
            "total": MonotonicSums(len(TOTAL_COUNTERS), FORGET_NS),
            "link": MonotonicSums(len(LINK_COUNTERS), FORGET_NS),
            "address": MonotonicSums(len(ADDRESS_COUNTERS), FORGET_NS),
            "allocator": MonotonicSums(len(ALLOCATOR_COUNTERS), FORGET_NS),
        }
        self._allocators: dict[str, CountedGroup] = {}
        self._before: RouterSnapshot | None = None
        self._polls = 0

    def count(self, snapshot: RouterSnapshot) -> CountedRouter:
        self._polls += 1
        restarted = self._before is not None and _restarted(self._before, snapshot)
        interval_ns = snapshot.steady_ns - self._before.steady_ns if self._before else 0
        self._before = snapshot
        self._deltas.start_round(restarted=restarted)
        self._allocator_deltas.start_round(restarted=restarted)
        added = self._deltas.increase("total", _vector(snapshot.totals, TOTAL_COUNTERS))
        self._sums["total"].add("", added, snapshot.steady_ns)
        self._paths.begin()
        links, other_links = self._links(snapshot)
        addresses, other_addresses = self._addresses(snapshot)
        of_paths, other_rows = self._paths.end(snapshot, restarted=restarted)
        if "allocator" in snapshot.fresh:
            self._allocators = self._read_allocators(snapshot)
            self._allocator_deltas.end_round()
        counted = CountedRouter(
            restarted,
            interval_ns,
            CountedGroup(self._sums["total"].get(""), added),
            links,
            addresses,
            self._allocators,
            self._ingress(snapshot),
            {"link_group": other_links, "address": other_addresses, "path_row": other_rows},
            of_paths,
            self._polls,
        )
        self._deltas.end_round()
        for sums in self._sums.values():
            sums.forget_idle(snapshot.steady_ns)
        return counted

    def _links(self, snapshot: RouterSnapshot) -> tuple[dict[LinkGroup, CountedGroup], int]:
        sums = self._sums["link"]
        found: dict[LinkGroup, CountedGroup] = {}
        omitted: set[LinkGroup] = set()
        groups: dict[tuple[Any, ...], tuple[LinkGroup, LinkPlace | None]] = {}
        for link in snapshot.rows("link"):
            where = (link["connection"], link["address"], link["direction"], link["type"])
            known = groups.get(where)
            if known is None:
                place = self._paths.link_place(snapshot, link)
                known = groups[where] = self._group(snapshot, link, omitted), place
            group, place = known
            if place is not None:
                self._paths.link(link, place)
            added = self._deltas.increase(("link", link["identity"]), _counted(link))
            sums.add(group, added, snapshot.steady_ns)
            entry = found.get(group)
            if entry is None:
                gauges = {name: link[name] or 0 for name in _LINK_GAUGES}
                found[group] = CountedGroup((), added, gauges)
                continue
            _add(entry, added)
            gauges = entry.gauges
            for name in _LINK_SUMMED:
                if value := link[name]:
                    gauges[name] += value
            for name in _LINK_HIGHEST:
                gauges[name] = max(gauges[name], link[name] or 0)
        _leave_out_own(found, snapshot)
        # A group whose links are gone keeps its counters for a while.
        for gone in sums.groups():
            if gone not in found and isinstance(gone, LinkGroup):
                found[gone] = CountedGroup((), (0,) * len(LINK_COUNTERS), {}, 0)
        _finish(found, sums)
        return found, len(omitted)

    def _group(self, snapshot: RouterSnapshot, link: Row, omitted: set[LinkGroup]) -> LinkGroup:
        """Return the link's group, or a group that is shared by those that are too many."""
        sums = self._sums["link"]
        group = link_group(snapshot, link, self._patterns)
        if group not in sums and len(sums) >= MAX_GROUPS and group.address != address_names.OTHER:
            omitted.add(group)
            group = group._replace(address=address_names.OTHER)
        if group not in sums and len(sums) >= 2 * MAX_GROUPS:
            omitted.add(group)
            group = _REST
        return group

    def _addresses(self, snapshot: RouterSnapshot) -> tuple[dict[str, CountedGroup], int]:
        sums = self._sums["address"]
        found: dict[str, CountedGroup] = {}
        omitted: set[str] = set()
        for row in snapshot.rows("address"):
            name = address_names.mobile(row["key"], snapshot.flavour)
            if name is None:
                continue
            self._paths.address(row, name)
            if not matches(name, self._patterns) or (name not in sums and len(sums) >= MAX_GROUPS):
                omitted.add(name)
                name = address_names.OTHER
            added = self._deltas.increase(("address", row["key"]), _vector(row, ADDRESS_COUNTERS))
            sums.add(name, added, snapshot.steady_ns)
            _join(found, name, added, {gauge: row[gauge] or 0 for gauge in _ADDRESS_GAUGES})
        _finish(found, sums)
        return found, len(omitted)

    def _read_allocators(self, snapshot: RouterSnapshot) -> dict[str, CountedGroup]:
        sums = self._sums["allocator"]
        found: dict[str, CountedGroup] = {}
        for row in snapshot.rows("allocator"):
            added = self._allocator_deltas.increase(row["type"], _vector(row, ALLOCATOR_COUNTERS))
            sums.add(row["type"], added, snapshot.steady_ns)
            _join(found, row["type"], added, {"held_bytes": (row["held"] or 0) * (row["size_bytes"] or 0)})
        _finish(found, sums)
        return found

    def _ingress(self, snapshot: RouterSnapshot) -> dict[str, int]:
        """Return the deliveries that left here by the router where they came in.

        An edge's traffic is counted by its interior router.
        """
        if snapshot.edge:
            return {}
        routers = {row["index"]: row["id"] for row in snapshot.rows("node")}
        found: dict[str, int] = {}
        for link in snapshot.rows("link"):
            histogram = link["ingress_histogram"]
            if not histogram or link["type"] != "endpoint" or link["direction"] != "out":
                continue
            if address_names.mobile(link["address"], snapshot.flavour) is None:
                continue
            added = self._deltas.increase(("ingress", link["identity"]), tuple(histogram))
            for index, total in enumerate(histogram):
                if total:
                    router = routers.get(index, "_unknown")
                    found[router] = found.get(router, 0) + added[index]
        return found


def _restarted(before: RouterSnapshot, now: RouterSnapshot) -> bool:
    if None not in {before.instance, now.instance} and before.instance != now.instance:
        return True
    if before.uptime_seconds is None or now.uptime_seconds is None:
        return False
    elapsed_seconds = (now.steady_ns - before.steady_ns) // 1_000_000_000
    return now.uptime_seconds < before.uptime_seconds + elapsed_seconds - UPTIME_SLACK_SECONDS


def _vector(row: Row, counters: Sequence[str]) -> tuple[int, ...]:
    return tuple([row.get(name) or 0 for name in counters])


def _counted(link: Row) -> tuple[int, ...]:
    counts: tuple[int, ...] = _LINK_COUNTS(link)
    return counts if None not in counts else tuple([count or 0 for count in counts])


def _join(
    found: dict[Any, CountedGroup], group: Hashable, added: tuple[int, ...], gauges: dict[str, int]
) -> None:
    entry = found.get(group)
    if entry is None:
        found[group] = CountedGroup((), added, gauges)
        return
    _add(entry, added)
    for name, value in gauges.items():
        entry.gauges[name] = entry.gauges.get(name, 0) + value


def _add(entry: CountedGroup, added: tuple[int, ...]) -> None:
    entry.members += 1
    if any(added):
        entry.added = tuple(map(operator.add, entry.added, added))


def _leave_out_own(links: Mapping[LinkGroup, CountedGroup], snapshot: RouterSnapshot) -> None:
    """Take our own requests and replies, as many as may be, off what waits on links that have credit."""
    for group, entry in links.items():
        if group.peer in snapshot.neighbours and not entry.gauges["zero_credit_seconds"]:
            for name in ("undelivered", "unsettled"):
                entry.gauges[name] = max(0, entry.gauges[name] - snapshot.own)


def _finish(found: dict[Any, CountedGroup], sums: MonotonicSums) -> None:
    for group, entry in found.items():
        entry.sums = sums.get(group)
