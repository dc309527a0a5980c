"""Links that a link route carries on: each router has two halves, and what comes by one leaves by the other.

None of it is this router's own business: credit, messages, outcomes and detaches are those of the two ends.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import proton

from deploy.standin.engine import credit, outcomes
from deploy.standin.engine.amqp_socket import key_of
from deploy.standin.engine.links import Link

if TYPE_CHECKING:
    from deploy.standin.engine.peers import Peer

_LOST = proton.Condition("qd:routed-link-lost", "Connectivity to the peer container was lost")


class Passage:
    """One delivery: as it came, and as it went on."""

    __slots__ = ("born_ns", "came", "went")

    def __init__(self, came: Any, went: Any) -> None:
        self.born_ns = time.monotonic_ns()
        self.came = came
        self.went = went


class RoutedLink(Link):
    """What both halves have in common; `other` is the other half."""

    def __init__(self, peer: Peer, link: proton.Link, identity: int, *, ours: bool) -> None:
        super().__init__(peer, link, identity, "endpoint")
        self.other: RoutedLink
        self._told_end = self._heard_end = False
        self.capacity = 0 if ours else credit.CAPACITY
        self.unsettled: dict[int, Passage] = {}

    def join(self, other: RoutedLink) -> None:
        self.other, self.paired = other, other.identity

    def opened(self) -> None:
        """Answer the half that asked as the peer of this one has answered."""
        here, there = self.proton_link, self.other.proton_link
        there.source.copy(here.remote_source)
        there.target.copy(here.remote_target)
        there.open()

    def on_flow(self) -> None:
        raise NotImplementedError

    def on_delivery(self, delivery: Any) -> None:
        raise NotImplementedError

    def cut_message(self) -> None:
        """End what has passed in part only: its rest will not come."""

    def ended_by_peer(self, *, detached: bool) -> None:
        """Pass a detach on. It is answered when the other half's peer has answered its own."""
        self._heard_end = True
        self.cut_message()
        self.other.end(self.proton_link.remote_condition, detached=detached)
        if self.other._heard_end:  # noqa: SLF001 -- the other half of the same thing
            self.peer.router.forget_routed(self)

    def end(self, condition: proton.Condition | None, *, detached: bool) -> None:
        if self._told_end:
            return
        self._told_end = True
        link = self.proton_link
        if link.state & proton.Endpoint.LOCAL_UNINIT:
            link.open()
        link.condition = condition
        if detached:
            link._update_cond()  # noqa: SLF001 -- proton's detach leaves the condition out, its close does not
            link.detach()
        else:
            link.close()

    def cut_off(self) -> None:
        """End the other half, since this one's connection or session is gone."""
        if not self.other.closed:
            self.cut_message()
            self.other.fail_all()
            self.other.end(_LOST, detached=False)
            self.peer.router.forget_routed(self)

    def fail_all(self) -> None:
        self.unsettled.clear()

    def finish(self, passage: Passage, state: int) -> None:
        """Forget a delivery that is settled on both sides, and count its outcome."""
        for half, delivery in ((self, passage.came), (self.other, passage.went)):
            half.unsettled.pop(key_of(delivery), None)
            half.count_delay(passage.born_ns)
            outcomes.count(state, half.counters)
            half.count_origin()
        outcomes.count(state, self.peer.router.counters)

    def count_origin(self) -> None:
        """Count where a delivery came from, at the half that leads out of the mesh."""
        if self.histogram is not None:
            self.histogram[0] += 1  # messages of routed links do not tell where they came in
