"""Edge routers: an edge has one connection up, an interior router any number of them down.

An edge is no member of the mesh. For each address that its clients consume it receives from the interior
router, what they send goes there when nobody here takes it, and the interior counts it as its own traffic.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import proton

from deploy.standin.engine.links import Transit
from deploy.standin.routing import addresses

if TYPE_CHECKING:
    from deploy.standin.engine.links import InLink, OutLink
    from deploy.standin.engine.peers import Peer
    from deploy.standin.routing.router import Router

_log = logging.getLogger("inflight.standin")
UP = "^"  # stands for the interior router, whose name an edge need not know


class Edges:
    CONTROL = "edge-control"  # the kind of the links by which link routes are told

    def __init__(self, router: Router) -> None:
        self._router = router
        self._told: dict[int, tuple[tuple[str, ...], OutLink | None]] = {}  # by the identity of the peer
        self._proxies: dict[str, InLink] = {}
        self.up: Peer | None = None
        self.down: dict[str, Peer] = {}

    def joined(self, peer: Peer) -> None:
        if peer.connector:
            self.up = peer
            self.update_proxies()
        else:
            self.down[peer.container or ""] = peer
        self._router.topology_changed()
        self._router.mesh.changed = True

    def left(self, peer: Peer) -> None:
        self._told.pop(peer.identity, None)
        if self.up is peer:
            self.up = None
            self._proxies.clear()
        if self.down.get(peer.container or "") is peer:
            del self.down[peer.container or ""]
        self._router.topology_changed()
        self._router.mesh.changed = True

    def peer(self, hop: str) -> Peer | None:
        return self.up if hop == UP else self.down.get(hop)

    @staticmethod
    def key(place: addresses.Address) -> str:
        """Return the key under which interior routers know an address at an edge."""
        return f"H{place.edge}/{addresses.plain(place.key)}"

    def home_of(self, key: str) -> tuple[str, str] | None:
        """Return (home router, edge) for a key made by `key`, or None while no router has that edge."""
        edge = key[1:].partition("/")[0]
        if edge in self.down:
            return self._router.id, edge
        home = self._router.topology.edge_home(edge)
        return (home, edge) if home else None

    def update_proxies(self) -> None:
        """On an edge: open a receiver up for each address with consumers here, and close the others."""
        if self.up is None or not self.up.opened:
            return
        wanted = {key for key in self._router.consumers if key.startswith("M")}
        for key in set(self._proxies) - wanted:
            self._router.remove_link(self._proxies.pop(key))
        for key in sorted(wanted - set(self._proxies)):
            link = self.up.own_session().receiver(f"standin.{self._router.id}.edge.{key}")
            link.source.address = addresses.plain(key)
            link.open()
            proxy = self._proxies[key] = self._router.add_in_link(self.up, link, "endpoint")
            proxy.owning_key = key
            proxy.origin = self.up.container or ""
            proxy.trace = []  # as with real edge routers, messages do not tell the way up to here
            self._router.route(key, proxy.origin, self._router.id).attach(proxy)

    # -- link routes --------------------------------------------------------------------------------------

    def tell_link_routes(self) -> None:
        """Tell the interior router those of this edge, and edges all that lead on from here."""
        for peer in [*self.down.values(), *([self.up] if self.up else [])]:
            if not peer.opened:
                continue
            link_routes = self._router.link_routes
            keys = link_routes.led_from_here() if peer is self.up else link_routes.known()
            told, link = self._told.get(peer.identity, ((), None))
            if keys == told:
                continue
            link = link or self._control_link(peer)
            self._told[peer.identity] = (keys, link)
            body = json.dumps({"link_routes": keys})
            link.push(Transit(None, None, bytes(proton.Message(body=body).encode()), self._router.id, []))

    def _control_link(self, peer: Peer) -> OutLink:
        link = peer.own_session().sender(f"standin.{self._router.id}.edge-control")
        link.target.address = "_control"
        link.snd_settle_mode = proton.Link.SND_SETTLED
        link.properties = {proton.symbol("standin.control"): True}
        link.open()
        return self._router.add_out_link(peer, link, self.CONTROL, None)

    def accept_control(self, peer: Peer, link: InLink) -> None:
        link.read = lambda data: self._receive(peer, data)

    def _receive(self, peer: Peer, data: bytes) -> None:
        message = proton.Message()
        try:
            message.decode(data)
            keys = [str(key) for key in json.loads(message.body)["link_routes"]]
        except (proton.ProtonException, KeyError, TypeError, ValueError) as error:
            _log.warning("link routes from %s are unreadable and were left out: %s", peer.container, error)
            return
        self._router.link_routes.told_by(peer, keys)
