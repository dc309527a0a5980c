"""What one router told over its polls: addresses of paths, links, ways on, restarts."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from collectors.contract.path_telemetry import (
    PATH_ADDRESS,
    PATH_LINK,
    PathAddress,
    PathLink,
    check_address,
    check_link,
)
from collectors.contract.telemetry import Telemetry
from streaming.attribution.clocks import Lateness
from streaming.attribution.one_run import STALE_INTERVALS
from streaming.attribution.series import Asked, Series, Values
from streaming.attribution.told_names import is_name

# Places in the values of a series.
ADDRESS_COUNTERS: Final = ("ingress", "egress", "transit", "to_container", "from_container")
LINK_COUNTERS: Final = ("dropped_presettled", "rejected", "released", "modified")
INGRESS, EGRESS, TRANSIT, TO_CONTAINER, FROM_CONTAINER = range(len(ADDRESS_COUNTERS))
PLACE_OF: Final = {name: place for place, name in enumerate(LINK_COUNTERS)}

MOST_ADDRESSES: Final = 4_096
MOST_LINKS: Final = 8_192
MOST_NODES: Final = 2_000
MOST_RESTARTS: Final = 256  # the newest ones are kept
MOST_HELD: Final = 256
STUCK_NS: Final = 2_000_000_000


@dataclass(slots=True)
class Address:
    """An address, in one phase."""

    address: str
    phase: str
    series: Series = field(default_factory=Series)
    epoch: int = 0
    hosts: list[str] = field(default_factory=list)  # routers with subscribers, where it tells them
    asked_ns: int = 0


@dataclass(slots=True)
class Link:
    """A link: what is fixed, what it lost, and how full it was at the last poll."""

    kind: str
    direction: str
    peer: str
    own: bool
    address: str
    phase: str
    series: Series = field(default_factory=Series)
    epoch: int = 0
    born_ns: int = 0  # a poll saw it first, and the one before had not; 0: it was there from the beginning
    gone_ns: int = 0  # a poll missed it first
    deliveries: int = 0
    moved_ns: int = 0  # when a poll saw `deliveries` rise last
    rate: float = 0.0  # messages a second, between the last two polls
    asked_ns: int = 0
    held: list[list[int]] = field(default_factory=list)  # how much was undelivered, from when on
    undelivered: int = 0
    unsettled: int = 0
    zero_credit_seconds: int = 0

    def held_at(self, ns: int) -> int:
        """Return how much was undelivered at this time, as the poll before told it."""
        before = bisect_right(self.held, ns, key=lambda one: one[0])
        return self.held[before - 1][1] if before else 0

    @property
    def stuck_ns(self) -> int:
        """For how long nothing has moved on it though something is unsettled; 0 where something has."""
        since_ns = self.asked_ns - self.moved_ns if self.moved_ns else 0
        return since_ns if self.unsettled and since_ns > STUCK_NS else 0


@dataclass(slots=True)
class Polled:
    """The last poll that asked for an entity."""

    number: int
    asked_ns: int
    answered_ns: int
    before: list[int] = field(default_factory=list)  # asked and answered of the poll right before it

    @property
    def previous(self) -> Asked | None:
        return Asked(*self.before) if self.before else None


@dataclass(slots=True)
class RouterHistory:
    """One router. What is kept of it has bounds; rows beyond them are left out, and counted."""

    mesh: str
    router: str
    run: str = ""
    instance: int = 0
    heard_ns: int = 0
    interval_ns: int = 0
    epoch: int = 0  # of counters that can be compared: ends with the router and with the collector's run
    polled: dict[str, Polled] = field(default_factory=dict)  # by entity
    addresses: dict[str, Address] = field(default_factory=dict)  # by key
    links: dict[str, Link] = field(default_factory=dict)  # by instance and identity
    next_hops: dict[str, str] = field(default_factory=dict)  # by router: the next one, itself for a neighbour
    restarts: list[list[int]] = field(default_factory=list)  # each between two times
    omitted: int = 0
    lateness: Lateness = field(default_factory=Lateness)  # of its collector's clock

    def take(self, record: Telemetry) -> None:
        """Take in a record; raises ValueError where its rows cannot be read."""
        at = Asked(record.asked_ns, max(record.asked_ns, record.answered_ns))
        if record.entity == PATH_ADDRESS:
            rows = [check_address(row) for row in record.rows]
            if self._begin(record, at):
                for row in rows:
                    self._address(row, at)
        elif record.entity == PATH_LINK:
            links = [check_link(row) for row in record.rows]
            if self._begin(record, at):
                for link in links:
                    self._link(link, at)
        elif record.entity == "node":
            self._nodes(record)

    def of_address(self, address: str) -> list[Address]:
        return [found for found in self.addresses.values() if found.address == address]

    def forget(self, before_ns: int) -> None:
        """Drop what was told before this time."""
        for links in [
            key for key, link in self.links.items() if max(link.asked_ns, link.gone_ns) < before_ns
        ]:
            del self.links[links]
        for key in [key for key, each in self.addresses.items() if each.asked_ns < before_ns]:
            del self.addresses[key]
        for series in [each.series for kept in (self.links, self.addresses) for each in kept.values()]:
            series.forget(before_ns)
        self.restarts = [span for span in self.restarts if span[1] >= before_ns]

    def _begin(self, record: Telemetry, at: Asked) -> bool:
        """Return whether the record is to be taken in: of two collectors at a time only the first is."""
        waited_ns = at.asked_ns - self.heard_ns
        if self.run and record.run != self.run and waited_ns < STALE_INTERVALS * max(1, self.interval_ns):
            return False
        if (record.run, record.instance) != (self.run, self.instance):
            if self.instance and record.instance and record.instance != self.instance:
                self._restarted(at)
            self.run, self.instance = record.run, record.instance
            self.epoch += 1
            self.polled.clear()
        self.interval_ns = record.interval_ns
        self.heard_ns = max(self.heard_ns, at.answered_ns)
        known = self.polled.get(record.entity)
        if known is None or known.number != record.poll:  # else it is a further part of the same poll
            if known is not None and record.poll < known.number:
                return False
            follows = known is not None and known.number + 1 == record.poll
            before = [known.asked_ns, known.answered_ns] if known and follows else []
            self.polled[record.entity] = Polled(record.poll, at.asked_ns, at.answered_ns, before)
        return True

    def _restarted(self, at: Asked) -> None:
        self.restarts.append([min(self.heard_ns, at.asked_ns), at.answered_ns])
        del self.restarts[:-MOST_RESTARTS]
        for link in self.links.values():
            if not link.gone_ns:
                link.gone_ns = at.answered_ns
                link.undelivered = link.unsettled = 0
                link.series.end(at)

    def _address(self, row: PathAddress, at: Asked) -> None:
        found = self.addresses.get(row["key"])
        if row["state"] == "gone":
            if found is not None:
                found.series.end(at)
                found.hosts = []
            return
        if found is None:
            if len(self.addresses) >= MOST_ADDRESSES:
                self.omitted += 1
                return
            found = self.addresses[row["key"]] = Address(row["address"], row["phase"], epoch=self.epoch)
        # A poll that is missing may have told that the address was removed, and made anew.
        alone = row["local"] + row["remote"] == 0
        broken = bool(row["state"]) or alone or not self.polled[PATH_ADDRESS].before
        found.series.add(at, _values(row, ADDRESS_COUNTERS), broken=broken or found.epoch != self.epoch)
        found.epoch, found.asked_ns = self.epoch, at.asked_ns
        found.hosts = row["hosts"]

    def _link(self, row: PathLink, at: Asked) -> None:
        key = f"{self.instance}/{row['identity']}"
        link = self.links.get(key)
        if row["state"] == "gone":
            if link is not None and not link.gone_ns:
                link.gone_ns = at.answered_ns
                link.undelivered = link.unsettled = 0
                link.series.end(at)
            return
        values = _values(row, LINK_COUNTERS)
        if link is None:
            if len(self.links) >= MOST_LINKS:
                self.omitted += 1
                return
            link = self.links[key] = Link(
                *(row["kind"], row["direction"], row["peer"], row["own"], row["address"], row["phase"]),
                epoch=self.epoch,
            )
            if (before := self.polled[PATH_LINK].previous) is not None:
                # It was not there, or had never carried anything.
                link.series.add(before, (0,) * len(LINK_COUNTERS))
                if row["state"] == "new":
                    link.born_ns = at.answered_ns
        broken = row["state"] == "reset" or link.epoch != self.epoch
        link.series.add(at, values, broken=broken)
        seconds = (at.answered_ns - link.asked_ns) / 1e9 if link.asked_ns else 0.0
        rose = row["deliveries"] - link.deliveries
        if link.asked_ns and rose > 0:
            link.moved_ns = at.answered_ns
        link.rate = rose / seconds if seconds > 0 and rose > 0 and not broken else 0.0
        link.deliveries, link.epoch, link.asked_ns, link.gone_ns = (
            row["deliveries"],
            self.epoch,
            at.asked_ns,
            0,
        )
        link.undelivered, link.unsettled = row["undelivered"], row["unsettled"]
        if link.undelivered != (link.held[-1][1] if link.held else 0):
            link.held.append([at.answered_ns, link.undelivered])
            del link.held[:-MOST_HELD]
        link.zero_credit_seconds = row["zero_credit_seconds"]

    def _nodes(self, record: Telemetry) -> None:
        if record.part == 1:
            self.next_hops.clear()
        for row in record.rows[: MOST_NODES - len(self.next_hops)]:
            router, hop = row.get("id"), row.get("next_hop")
            if not is_name(router) or router == self.router or not (hop is None or is_name(hop)):
                continue
            self.next_hops[router] = hop or router


def _values(row: PathAddress | PathLink, names: tuple[str, ...]) -> Values:
    return tuple([row[name] for name in names])  # type: ignore[literal-required]
