"""Handlers of what proton tells of deliveries: messages that come, and outcomes that others give."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from cproton_ffi import ffi, lib

from deploy.standin.engine import outcomes, peers, sections
from deploy.standin.engine.amqp_socket import key_of
from deploy.standin.engine.links import InLink, OutLink, Transit
from deploy.standin.engine.routed_links import RoutedLink

if TYPE_CHECKING:
    from deploy.standin.routing.router import Router
    from deploy.standin.routing.routes import Route


class Deliveries:
    def __init__(self, router: Router, buffer_bytes: int = 65_536) -> None:
        self.router = router
        self._buffer = ffi.new("char[]", buffer_bytes)
        self._buffer_bytes = buffer_bytes

    def on_delivery(self, event: Any) -> None:
        delivery = lib.pn_event_delivery(event)
        link = self.router.links.get(key_of(lib.pn_event_link(event)))
        if isinstance(link, OutLink):
            self._settled_by_consumer(link, delivery)
        elif isinstance(link, InLink):
            transit = link.unsettled.get(key_of(delivery))
            if transit is None:
                self._receive(link, delivery)
            elif lib.pn_delivery_settled(delivery):
                _settled_by_sender(link, transit)
        elif isinstance(link, RoutedLink):
            link.on_delivery(delivery)

    def _receive(self, link: InLink, delivery: Any) -> None:
        pn = link.pn
        if lib.pn_link_current(pn) != delivery:
            return
        if lib.pn_delivery_aborted(delivery):
            link.partial.clear()
            lib.pn_delivery_settle(delivery)
            return
        size = lib.pn_delivery_pending(delivery)
        if size > self._buffer_bytes:
            self._buffer_bytes = 2 * size
            self._buffer = ffi.new("char[]", self._buffer_bytes)
        if size:
            lib.pn_link_recv(pn, self._buffer, size)
        data = ffi.buffer(self._buffer, size)[:]
        if lib.pn_delivery_partial(delivery):
            link.partial += data
            return
        if link.partial:
            data = bytes(link.partial) + data
            link.partial.clear()
        lib.pn_link_advance(pn)
        link.counters.deliveries += 1
        self.router.counters.arrivals += 1
        link.peer.last_delivery_ns = time.monotonic_ns()
        if lib.pn_delivery_settled(delivery):
            lib.pn_delivery_settle(delivery)
            transit = Transit(link, None, data, link.origin, link.trace)
            link.counters.presettled += 1
            link.presettled = True
        else:
            transit = Transit(link, delivery, data, link.origin, link.trace)
            link.unsettled[key_of(delivery)] = transit
        link.ask_for_credit()
        self._deliver(link, transit)

    def _deliver(self, link: InLink, transit: Transit) -> None:
        router = self.router
        if link.read is not None:
            link.read(transit.data)
            return
        route = link.route
        if route is None:
            try:
                to = sections.to_of(transit.data)
            except sections.MalformedError:
                to = None
            if to is None:
                if not transit.settled:
                    link.settle(transit, lib.PN_REJECTED)
                return
            route = router.route_from_here(to)
            route.used_ns = transit.born_ns
        if link.kind == "endpoint":
            _count_ingress(link, transit, route)
        if router.injector.active:
            router.injector.deliver(link, transit, route)
        else:
            route.forward(transit)

    def _settled_by_consumer(self, link: OutLink, delivery: Any) -> None:
        if not lib.pn_delivery_updated(delivery):
            return
        key = key_of(delivery)
        transit = link.unsettled.get(key)
        if transit is None:
            return
        state = lib.pn_delivery_remote_state(delivery)
        if (
            state in (lib.PN_REJECTED, lib.PN_MODIFIED)
            and transit.delivery is not None
            and not transit.waiting
        ):
            outcomes.copy(delivery, transit.delivery)
        if lib.pn_delivery_settled(delivery):
            link.settle(transit, delivery, state)
            if transit.route:
                transit.route.outcome(transit, state)
                transit.route.recheck_credit()
        elif state and transit.delivery is not None and not transit.waiting:
            lib.pn_delivery_update(transit.delivery, state)


def _count_ingress(link: InLink, transit: Transit, route: Route) -> None:
    counters = link.peer.router.counters
    counters.ingress += 1
    route.counters.ingress += 1
    if transit.settled:
        counters.presettled += 1
    if link.peer.role == peers.ROUTE_CONTAINER:
        counters.ingress_route_container += 1
        route.counters.ingress_route_container += 1


def _settled_by_sender(link: InLink, transit: Transit) -> None:
    """Settle the delivery that this one became, too: the sender waits for no outcome any more."""
    link.settle(transit, 0)
    if transit.sent:
        out, delivery = transit.sent
        out.settle(transit, delivery, lib.pn_delivery_remote_state(delivery))
