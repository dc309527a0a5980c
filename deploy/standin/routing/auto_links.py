"""Auto-links: links that the router itself opens into a broker's queues and out of them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import proton

from deploy.standin.engine.links import InLink, OutLink
from deploy.standin.routing import addresses

if TYPE_CHECKING:
    from deploy.standin.engine.links import Link
    from deploy.standin.engine.peers import Peer
    from deploy.standin.routing.router import Router
    from deploy.standin.settings import AutoLink

_log = logging.getLogger("inflight.standin")
_REATTACH_SECONDS = 1.0


class AutoLinks:
    def __init__(self, router: Router) -> None:
        self._router = router
        self._links: dict[AutoLink, Link] = {}
        self._active: set[AutoLink] = set()
        self._errors: dict[AutoLink, str] = {}
        self._identities = {auto: router.next_identity() for auto in router.settings.auto_links}

    def joined(self, peer: Peer) -> None:
        """Open the auto-links of a broker whose connection is open."""
        for auto in self._router.settings.auto_links:
            if auto.connector == peer.connector:
                self._attach(auto, peer)

    def left(self, peer: Peer) -> None:
        """Do nothing: links are removed with their connection, and `joined` opens them on the next one."""

    def attached(self, link: Link) -> None:
        """Put a link into use that the broker has confirmed. A null terminus means that it will refuse it."""
        auto = self._auto_link_of(link)
        if auto is None:
            return
        proton_link = link.proton_link
        terminus = proton_link.remote_source if auto.direction == "in" else proton_link.remote_target
        if terminus.address is None:
            return
        self._errors.pop(auto, None)
        self._active.add(auto)
        if isinstance(link, InLink):
            self._router.route(link.owning_key or "", self._router.id, None).attach(link)
        elif isinstance(link, OutLink):
            self._router.add_consumer(link.owning_key or "", link)

    def detached(self, link: Link) -> None:
        """Keep the reason why the broker closed a link, and open it again later."""
        auto = self._auto_link_of(link)
        if auto is None:
            return
        condition = link.proton_link.remote_condition
        self._errors[auto] = str(condition.description or condition.name) if condition else "detached"
        _log.warning("auto-link %s %s: %s", auto.direction, auto.address, self._errors[auto])
        peer = link.peer
        self._router.loop.call_later(_REATTACH_SECONDS, lambda: self._attach(auto, peer))

    def identity(self, auto: AutoLink) -> int:
        return self._identities[auto]

    def error(self, auto: AutoLink) -> str | None:
        return self._errors.get(auto)

    def active_link(self, auto: AutoLink) -> Link | None:
        link = self._links.get(auto)
        return link if auto in self._active and link is not None and not link.closed else None

    def _attach(self, auto: AutoLink, peer: Peer) -> None:
        if not peer.opened:
            return
        router = self._router
        self._active.discard(auto)
        name = f"autoLink.{router.id}.{auto.direction}.{auto.address}"
        key = addresses.parse(auto.address).key
        session = peer.own_session()
        link = session.receiver(name) if auto.direction == "in" else session.sender(name)
        terminus = link.source if auto.direction == "in" else link.target
        terminus.address = auto.address
        terminus.capabilities.put_object(proton.symbol("queue"))
        link.open()
        if auto.direction == "in":
            made: Link = router.add_in_link(peer, link, "endpoint")
            made.owning_key = addresses.phased(key, 1)
        else:
            made = router.add_out_link(peer, link, "endpoint", key)
        self._links[auto] = made

    def _auto_link_of(self, link: Link) -> AutoLink | None:
        return next((auto for auto, known in self._links.items() if known is link), None)
