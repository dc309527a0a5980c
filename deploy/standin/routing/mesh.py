"""The mesh of stand-ins: adverts on a control link, and a link for each address, origin and target.

Real routers put all addresses on a few shared links. With a link of its own for each, the credit that the
last router's consumer gives is the credit of every hop before it.
"""

from __future__ import annotations

import itertools
import json
import logging
import time
from typing import TYPE_CHECKING

import proton

from deploy.standin.engine import peers
from deploy.standin.engine.links import OutLink, Transit
from deploy.standin.routing import removal
from deploy.standin.routing.addresses import plain
from deploy.standin.routing.topology import Advert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deploy.standin.engine.links import InLink
    from deploy.standin.engine.peers import Peer
    from deploy.standin.routing.router import Router
    from deploy.standin.routing.routes import Route

_log = logging.getLogger("inflight.standin")
_RETIRE_SECONDS = 10.0
_SILENT_TICKS = 4  # seconds of this router's own, of which a busy machine may make longer ones
_names = itertools.count()


class Mesh:
    CONTROL = "router-control"  # the kind of the links by which adverts come

    def __init__(self, router: Router) -> None:
        self.router = router
        self.neighbours: dict[str, Peer] = {}
        self._silent: dict[str, Peer] = {}  # neighbours that hang: connected, and not to be counted on
        self._ticks: dict[str, int] = {}  # since each neighbour was heard
        self._control_links: dict[str, OutLink] = {}
        self._links: dict[tuple[str, str, str, str, bool], OutLink] = {}
        self._names: dict[int, tuple[str, str, str, str, bool]] = {}
        self._advertised: tuple[object, ...] = ()
        self._sequence = 0
        self.changed = True

    # -- neighbours ---------------------------------------------------------------------------------------

    def joined(self, peer: Peer) -> None:
        name = peer.container or ""
        link = peer.own_session().sender(f"standin.control.{self.router.id}.{next(_names)}")
        link.target.address = "_control"
        link.snd_settle_mode = proton.Link.SND_SETTLED
        link.properties = {proton.symbol("standin.control"): True}
        link.open()
        self._control_links[name] = self.router.add_out_link(peer, link, self.CONTROL, "Lqdhello")
        self.neighbours[name] = peer
        self._silent.pop(name, None)
        self._ticks[name] = 0
        self.router.topology.forget(name)  # it may be a new process, which knows nobody yet
        for advert in self.router.topology.adverts.values():
            if advert.router != self.router.id:
                self._send_advert(self._control_links[name], advert)
        # The own advert from before this connection would say that there is none.
        told = self._sequence
        self.advertise()
        if self._sequence == told:
            self._send_advert(self._control_links[name], self.router.topology.adverts[self.router.id])

    def left(self, peer: Peer) -> None:
        name = peer.container or ""
        if peer not in (self.neighbours.get(name), self._silent.get(name)):
            return
        self.neighbours.pop(name, None)
        self._silent.pop(name, None)
        self._control_links.pop(name, None)
        self.changed = True
        for other in self.router.peers.values():  # a second connection between the same two
            if other is not peer and other.opened and (other.role, other.container) == (peer.role, name):
                self.joined(other)
                break

    def watch_neighbours(self) -> None:
        """Leave out those that have said nothing for some seconds, as real routers do without a hello."""
        for name in list(self.neighbours):
            self._ticks[name] += 1
            if self._ticks[name] > _SILENT_TICKS:
                _log.warning("nothing is heard of %s", name)
                self._silent[name] = self.neighbours.pop(name)
                self.changed = True

    def _heard(self, name: str) -> None:
        self._ticks[name] = 0
        if name in self._silent:
            self.neighbours[name] = self._silent.pop(name)
            self.changed = True

    def advertise(self) -> None:
        """Send an advert of what is here now, if that is not what the last one said."""
        router = self.router
        state = (
            {name: peer.cost for name, peer in self.neighbours.items()},
            tuple(sorted(key for key, links in router.consumers.items() if links and key.startswith("M"))),
            tuple(sorted(router.edges.down)),
            router.settings.waypoints,
            router.link_routes.led_from_here(),
        )
        self.changed = False
        if state == self._advertised:
            return
        self._advertised = state
        self._sequence += 1
        self._learn(Advert(router.id, router.boot_ns, self._sequence, *state), None)

    def resend_own_advert(self) -> None:
        """Repeat the last advert, in case a message was lost."""
        mine = self.router.topology.adverts.get(self.router.id)
        for link in self._control_links.values():
            if mine:
                self._send_advert(link, mine)

    def accept_control(self, peer: Peer, link: InLink) -> None:
        link.read = lambda data: self._receive_advert(peer, data)

    def _receive_advert(self, peer: Peer, data: bytes) -> None:
        self._heard(peer.container or "")
        message = proton.Message()
        try:
            message.decode(data)
            advert = Advert.from_json(json.loads(message.body))
        except (proton.ProtonException, AttributeError, KeyError, TypeError, ValueError) as error:
            _log.warning("advert from %s is unreadable and was left out: %s", peer.container, error)
            return
        if advert.router != self.router.id:
            self._learn(advert, peer.container)

    def _learn(self, advert: Advert, source: str | None) -> None:
        if not self.router.topology.learn(advert):
            return
        for name, link in self._control_links.items():
            if name not in (source, advert.router):
                self._send_advert(link, advert)
        self.router.topology_changed()

    @staticmethod
    def _send_advert(link: OutLink, advert: Advert) -> None:
        data = bytes(proton.Message(body=json.dumps(advert.to_json())).encode())
        link.push(Transit(None, None, data, advert.router, []))

    # -- links for messages -------------------------------------------------------------------------------

    def link_to(self, route: Route, target: str, hop: str, *, settled: bool) -> OutLink | None:
        """Return the link to the next hop for this route, opened if need be; None if not connected."""
        peer = self.neighbours.get(hop) or self.router.edges.peer(hop)
        if peer is None or not peer.opened:
            return None
        name = (route.key, route.origin, target, hop, settled)
        found = self._links.get(name)
        if found and not found.closed and found.peer is peer:
            return found
        link = peer.own_session().sender(f"standin.{self.router.id}.{next(_names)}")
        link.snd_settle_mode = proton.Link.SND_SETTLED if settled else proton.Link.SND_UNSETTLED
        inside = peer.role == peers.INTER_ROUTER
        if inside:
            link.target.address = plain(route.key)
            link.properties = {
                proton.symbol("standin.route"): [route.key, route.origin, target],
                proton.symbol("standin.trace"): list(route.trace),
            }
        else:  # an edge knows addresses only
            link.target.address = ("_edge/" if route.key.startswith("H") else "") + plain(route.key)
        link.open()
        made = self.router.add_out_link(
            peer, link, "inter-router" if inside else "endpoint", None if inside else route.key
        )
        self._links[name] = made
        self._names[made.identity] = name
        return made

    def detach_route(self, link: OutLink, route: Route) -> None:
        """Take the route off the link; without routes it is closed as soon as all on it is settled."""
        link.routes.pop(id(route), None)
        if link.routes or link.closed:
            return
        self.forget(link)
        waiting, link.queue = list(link.queue), type(link.queue)()
        for transit in waiting:
            removal.reroute(transit)
        self._retire(link, time.monotonic() + _RETIRE_SECONDS)

    def _retire(self, link: OutLink, deadline: float) -> None:
        if link.closed:
            return
        if link.unsettled and time.monotonic() < deadline:
            self.router.loop.call_later(0.1, lambda: self._retire(link, deadline))
        else:
            self.router.remove_link(link)

    def forget(self, link: OutLink) -> None:
        name = self._names.pop(link.identity, None)
        if name and self._links.get(name) is link:
            del self._links[name]

    def outstanding(self, key: str) -> Iterator[tuple[str, int]]:
        """Yield (target, open deliveries towards it) for what this router sends to an address."""
        for (name, origin, target, _, _), link in self._links.items():
            if name == key and origin == self.router.id:
                yield target, link.open_deliveries

    def accept_link(self, peer: Peer, link: proton.Link) -> None:
        """Answer a link that a neighbour opens to this router."""
        properties = link.remote_properties or {}
        link.target.copy(link.remote_target)
        link.source.copy(link.remote_source)
        link.snd_settle_mode = link.remote_snd_settle_mode
        key, origin, target = (str(part) for part in properties.get("standin.route", ("", "", "")))
        trace = [str(step) for step in properties.get("standin.trace", ())]
        if not key or self.router.id in trace:
            self.router.refuse_link(
                link, "amqp:invalid-field", "no route in the link's properties, or a loop"
            )
            return
        link.open()
        made = self.router.add_in_link(peer, link, "inter-router")
        made.origin = origin
        made.trace = [*trace, self.router.id]
        route = self.router.route(key, origin, target)
        route.trace = made.trace
        route.attach(made)
