"""What becomes of the messages on a link that is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cproton_ffi import lib

from deploy.standin.routing.routes import Route

if TYPE_CHECKING:
    from deploy.standin.engine.links import InLink, OutLink, Transit


def end_incoming(link: InLink) -> None:
    for transit in link.unsettled.values():
        transit.delivery = None  # it goes on to its consumer, but nobody waits for the outcome
    link.unsettled.clear()
    link.peer.router.credit_due.pop(link.identity, None)
    if link.route:
        link.route.detach(link)


def end_outgoing(link: OutLink) -> None:
    link.peer.router.remove_consumer(link)
    for route in list(link.routes.values()):
        route.refresh()
    waiting, unsettled = list(link.queue), list(link.unsettled.values())
    link.queue.clear()
    link.unsettled.clear()
    for transit in unsettled:
        transit.sent = None
        if transit.delivery is not None:
            lib.pn_disposition_set_failed(lib.pn_delivery_local(transit.delivery), True)
        if transit.route:
            transit.route.outcome(transit, lib.PN_MODIFIED)
    for transit in waiting:
        reroute(transit)


def reroute(transit: Transit) -> None:
    """Forward a message whose link is gone another way, or give it back to its sender."""
    route = transit.route
    if route is None:
        return
    if route.target == Route.TREE:
        route.no_way(transit)
    else:
        route.forward(transit)
