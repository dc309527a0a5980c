"""Incoming and outgoing links, and the deliveries on their way from one to the other."""

from __future__ import annotations

import itertools
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from cproton_ffi import ffi, lib

from deploy.standin.engine import credit, sections
from deploy.standin.engine.amqp_socket import key_of
from deploy.standin.engine.counters import LinkCounters
from deploy.standin.engine.outcomes import OUTCOME_NAMES
from deploy.standin.engine.peers import EDGE, ROUTE_CONTAINER

if TYPE_CHECKING:
    from collections.abc import Callable

    import proton

    from deploy.standin.engine.peers import Peer
    from deploy.standin.routing.routes import Route

HISTOGRAM_SLOTS = 128
_SECOND_NS = 1_000_000_000
_tags = itertools.count()


class Transit:
    """One delivery on its way through this router."""

    __slots__ = (
        "born_ns",
        "data",
        "delivery",
        "incoming",
        "origin",
        "route",
        "sent",
        "settled",
        "trace",
        "waiting",
        "worst",
    )

    def __init__(
        self, incoming: InLink | None, delivery: Any, data: bytes, origin: str, trace: list[str]
    ) -> None:
        self.incoming = incoming
        self.delivery = delivery  # proton's; None: settled already, or the sender is gone
        self.settled = delivery is None  # presettled by the sender
        self.data = data
        self.origin = origin
        self.trace = trace
        self.born_ns = time.monotonic_ns()
        self.waiting = 0  # copies of a multicast that have no outcome yet
        self.worst = 0
        self.sent: tuple[OutLink, Any] | None = (
            None  # the link and the delivery it left by; None for a multicast
        )
        self.route: Route | None = None


class Link:
    """What both directions have in common."""

    direction = ""

    def __init__(self, peer: Peer, link: proton.Link, identity: int, kind: str) -> None:
        self.peer = peer
        self.proton_link = link  # kept, so that `pn` stays valid
        self.pn = link._impl  # noqa: SLF001 -- the wrapper costs more than the message
        self.identity = identity
        self.name: str = link.name
        self.kind = kind  # endpoint, inter-router, router-control
        self.owning_key: str | None = None
        self.counters = LinkCounters()
        self.zero_credit_since_ns = time.monotonic_ns()
        self.closed = False
        self.capacity = credit.CAPACITY
        self.paired: int | None = None  # the identity of a routed link's other half
        self.histogram: list[int] | None = None
        self._settled: deque[int] = deque([0], maxlen=6)

    @property
    def credit(self) -> int:
        return 0 if self.closed else int(lib.pn_link_credit(self.pn))

    def watch_credit(self, now_ns: int) -> None:
        if self.credit > 0:
            self.zero_credit_since_ns = 0
        elif not self.zero_credit_since_ns:
            self.zero_credit_since_ns = now_ns

    def watch_rate(self) -> None:
        """Update the rate of settled deliveries, over about five seconds as in real routers."""
        settled = self.counters.settled()
        self._settled.append(settled)
        seconds = max(1, len(self._settled) - 1)
        self.counters.settle_rate = (settled - self._settled[0]) // seconds

    def count_delay(self, born_ns: int) -> None:
        age_ns = time.monotonic_ns() - born_ns
        if age_ns > _SECOND_NS:
            self.counters.delayed_1_second += 1
            if age_ns > 10 * _SECOND_NS:
                self.counters.delayed_10_seconds += 1


class InLink(Link):
    direction = "in"

    def __init__(self, peer: Peer, link: proton.Link, identity: int, kind: str) -> None:
        super().__init__(peer, link, identity, kind)
        self.route: Route | None = None  # None: anonymous, each message has its own
        self.origin = peer.router.id
        self.trace: list[str] = [peer.router.id]
        self.presettled = bool(lib.pn_link_remote_snd_settle_mode(self.pn) == lib.PN_SND_SETTLED)
        self.unsettled: dict[int, Transit] = {}
        self.held_presettled = 0  # presettled deliveries that a fault keeps back
        self.partial = bytearray()
        self.read: Callable[[bytes], None] | None = None  # who reads what comes, where it is for this router

    def ask_for_credit(self) -> None:
        """Have `replenish` called at the end of the loop's turn."""
        self.peer.router.credit_due[self.identity] = self

    def replenish(self) -> None:
        route, injector = self.route, self.peer.router.injector
        if self.closed or (injector.active and route and injector.stalls(route.key)):
            return
        current = int(lib.pn_link_credit(self.pn))
        wanted = credit.target(
            available=credit.CAPACITY if route is None else route.available(self),
            unsettled=len(self.unsettled),
            presettled=self.presettled,
            reachable=route is None or route.reachable(self),
            held=self.held_presettled,
        )
        more = credit.top_up(current, wanted)
        if more:
            lib.pn_link_flow(self.pn, more)

    def settle(self, transit: Transit, state: int) -> None:
        """End a delivery towards its sender, and count it."""
        name = OUTCOME_NAMES.get(state)
        if name and not transit.settled:
            for counted in (self.counters, self.peer.router.counters):
                setattr(counted, name, getattr(counted, name) + 1)
        delivery, transit.delivery = transit.delivery, None
        if delivery is None:
            return
        self.unsettled.pop(key_of(delivery), None)
        self.count_delay(transit.born_ns)
        if state:
            lib.pn_delivery_update(delivery, state)
        lib.pn_delivery_settle(delivery)
        self.ask_for_credit()


class OutLink(Link):
    direction = "out"

    def __init__(self, peer: Peer, link: proton.Link, identity: int, kind: str) -> None:
        super().__init__(peer, link, identity, kind)
        self.queue: deque[Transit] = deque()
        self.unsettled: dict[int, Transit] = {}
        self.assigned = 0
        # More between routers, so that nothing is lost when a busy machine pauses one of them.
        self._max_waiting = credit.CAPACITY * (1 if kind == "endpoint" else 16)
        self.routes: dict[int, Route] = {}  # by id(); those with this link among their ways
        if kind == "endpoint":
            self.histogram = [0] * HISTOGRAM_SLOTS
        # For a receiver that wants settled deliveries, the router tells the sender `accepted`.
        self._settles_at_once = kind == "endpoint" and bool(
            lib.pn_link_remote_snd_settle_mode(self.pn) == lib.PN_SND_SETTLED
        )
        self._tells_route = kind == "endpoint" and peer.keeps_annotations and peer.role != EDGE

    @property
    def spare_credit(self) -> int:
        return self.credit - len(self.queue)

    @property
    def open_deliveries(self) -> int:
        return len(self.queue) + len(self.unsettled)

    def push(self, transit: Transit) -> None:
        self.assigned += 1
        if not self.queue and lib.pn_link_credit(self.pn) > 0:
            self.send(transit)
            return
        self.queue.append(transit)
        if transit.settled and len(self.queue) > self._max_waiting:
            self.drop_oldest_presettled()

    def _count_passage(self, transit: Transit) -> None:
        counters, address = self.peer.router.counters, transit.route and transit.route.counters
        if self.kind == "inter-router":
            counters.transit += 1
            if address:
                address.transit += 1
        elif self.kind == "endpoint":
            counters.egress += 1
            if address:
                address.egress += 1
            if self.peer.role == ROUTE_CONTAINER:
                counters.egress_route_container += 1
                if address:
                    address.egress_route_container += 1

    def drop_oldest_presettled(self) -> None:
        for number, transit in enumerate(self.queue):
            if transit.settled:
                del self.queue[number]
                self.count_dropped(transit)
                return

    def count_dropped(self, transit: Transit) -> None:
        self.counters.presettled += 1
        self.counters.dropped_presettled += 1
        self._count_passage(transit)
        self.peer.router.counters.dropped_presettled += 1
        self.count_origin(transit)

    def count_origin(self, transit: Transit) -> None:
        if self.histogram is not None:
            index = self.peer.router.topology.indexes.get(transit.origin, 0)
            if index < HISTOGRAM_SLOTS:
                self.histogram[index] += 1

    def on_credit(self) -> None:
        """Send what waits, now that credit has come."""
        while self.queue and lib.pn_link_credit(self.pn) > 0:
            self.send(self.queue.popleft())
        if not self.closed and lib.pn_link_credit(self.pn) > 0:
            for route in self.routes.values():
                route.take_waiting(self)
        if not self.queue and lib.pn_link_get_drain(self.pn):
            lib.pn_link_drained(self.pn)
        for route in self.routes.values():
            route.recheck_credit()

    def send(self, transit: Transit) -> None:
        data = transit.data
        if self._tells_route and transit.trace:
            data = self._with_route(transit)
        tag = b"%x" % next(_tags)
        delivery = lib.pn_delivery(self.pn, (len(tag), ffi.from_buffer(tag)))
        lib.pn_link_send(self.pn, data, len(data))
        self.counters.deliveries += 1
        self._count_passage(transit)
        self.count_origin(transit)
        self.peer.last_delivery_ns = time.monotonic_ns()
        if transit.settled or self._settles_at_once:
            self.counters.presettled += 1
            self.count_delay(transit.born_ns)
            lib.pn_delivery_settle(delivery)  # settling the current delivery also ends it
            if transit.route and not transit.settled:
                transit.route.outcome(transit, lib.PN_ACCEPTED)
        else:
            self.unsettled[key_of(delivery)] = transit
            if not transit.waiting:
                transit.sent = (self, delivery)
            lib.pn_link_advance(self.pn)

    def _with_route(self, transit: Transit) -> bytes:
        """The message with its route, written as the flavour does it."""
        way = transit.origin, tuple(transit.trace)
        if self.peer.router.flavour.route_section:
            return sections.route_section(*way) + transit.data
        try:
            return sections.annotated(transit.data, sections.route_pairs(*way))
        except sections.MalformedError:
            return transit.data  # real routers, too, pass on what they cannot read

    def settle(self, transit: Transit, delivery: Any, state: int) -> None:
        """End a delivery towards its consumer, and count it."""
        del self.unsettled[key_of(delivery)]
        transit.sent = None
        self.count_outcome(transit, state)
        lib.pn_delivery_settle(delivery)

    def count_outcome(self, transit: Transit, state: int) -> None:
        name = OUTCOME_NAMES.get(state)
        if name:
            setattr(self.counters, name, getattr(self.counters, name) + 1)
        self.count_delay(transit.born_ns)
