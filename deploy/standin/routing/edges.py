"""Edge routers: an edge has one connection up, an interior router any number of them down.

An edge is no member of the mesh. For each address that its clients consume it receives from the interior
router, what they send goes there when nobody here takes it, and the interior counts it as its own traffic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deploy.standin.routing import addresses

if TYPE_CHECKING:
    from deploy.standin.engine.links import InLink
    from deploy.standin.engine.peers import Peer
    from deploy.standin.routing.router import Router

UP = "^"  # stands for the interior router, whose name an edge need not know


class Edges:
    def __init__(self, router: Router) -> None:
        self._router = router
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
