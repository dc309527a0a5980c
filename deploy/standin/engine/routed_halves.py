"""The two halves of a routed link: messages come by one and leave by the other, as they come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from cproton_ffi import ffi, lib

from deploy.standin.engine import outcomes
from deploy.standin.engine.amqp_socket import key_of
from deploy.standin.engine.links import HISTOGRAM_SLOTS, Transit
from deploy.standin.engine.peers import INTER_ROUTER
from deploy.standin.engine.routed_links import Passage, RoutedLink

if TYPE_CHECKING:
    import proton

    from deploy.standin.engine.peers import Peer


def _tag_of(delivery: Any) -> bytes:
    tag = lib.pn_delivery_tag(delivery)
    return bytes(ffi.buffer(tag.start, tag.size)[:])


class RoutedIn(RoutedLink):
    """The half that messages come by."""

    direction = "in"
    other: RoutedOut

    def __init__(self, peer: Peer, link: proton.Link, identity: int, *, ours: bool) -> None:
        super().__init__(peer, link, identity, ours=ours)
        self.held_presettled = 0  # messages that a fault keeps back
        self.held = 0
        self._passing: Passage | None = None  # what has come in part
        self._whole: bytearray | None = None  # the message, where a fault wants to see all of it

    def ask_for_credit(self) -> None:
        self.other.pass_credit()

    def on_flow(self) -> None:
        """Tell the receiver that there is no more for the credit that it wants used up."""
        if lib.pn_link_drained(self.pn) or lib.pn_link_credit(self.pn) == 0:
            self.other.tell_drained()

    def on_delivery(self, delivery: Any) -> None:
        if lib.pn_link_current(self.pn) == delivery:
            self._receive(delivery)
            return
        passage = self.unsettled.get(key_of(delivery))
        if passage and lib.pn_delivery_updated(delivery):
            state = lib.pn_delivery_remote_state(delivery)
            if state:
                outcomes.copy(delivery, passage.went)
            if lib.pn_delivery_settled(delivery):
                lib.pn_delivery_settle(passage.went)
                lib.pn_delivery_settle(delivery)
                self.finish(passage, state)

    def _receive(self, delivery: Any) -> None:
        if lib.pn_delivery_aborted(delivery):
            begun = self._passing is not None
            self.cut_message()
            lib.pn_delivery_settle(delivery)
            if not begun:
                self.other.give_back_credit()
            return
        size = lib.pn_delivery_pending(delivery)
        buffer = ffi.new("char[]", max(1, size))
        if size:
            lib.pn_link_recv(self.pn, buffer, size)
        ended = not lib.pn_delivery_partial(delivery)
        if self._passing is None and self._whole is None and self.peer.router.injector.active:
            self._whole = bytearray()
        if self._whole is None:
            self._pass_on(delivery, buffer, size, ended=ended)
        else:
            self._whole += ffi.buffer(buffer, size)[:]
            if ended:
                self._ask_faults(delivery)

    def _pass_on(self, delivery: Any, buffer: Any, size: int, *, ended: bool) -> None:
        """Send on what has come, before the rest of the message is there."""
        if self._passing is None:
            self._passing = Passage(delivery, self.other.begin(_tag_of(delivery)))
        lib.pn_link_send(self.other.pn, buffer, size)
        if ended:
            went, self._passing = self._passing.went, None
            self.sent(self._taken(delivery), went)

    def _ask_faults(self, delivery: Any) -> None:
        data, self._whole = bytes(self._whole or b""), None
        way = FaultyWay(self, _tag_of(delivery))
        router = self.peer.router
        router.injector.deliver(self, Transit(None, self._taken(delivery), data, router.id, []), way)

    def _taken(self, delivery: Any) -> Any:
        """Count a delivery that has come whole; return it, or None where it is settled."""
        router = self.peer.router
        self.counters.deliveries += 1
        router.counters.arrivals += 1
        router.counters.ingress += 1
        self.peer.last_delivery_ns = time.monotonic_ns()
        lib.pn_link_advance(self.pn)
        if not lib.pn_delivery_settled(delivery):
            return delivery
        self.counters.presettled += 1
        router.counters.presettled += 1
        lib.pn_delivery_settle(delivery)
        return None

    def sent(self, came: Any, went: Any) -> None:
        """Take note that a message has gone on; `came` is None where it is settled."""
        self.other.end_message()
        if came is None:
            lib.pn_delivery_settle(went)
            self.other.counters.presettled += 1
            self.other.count_origin()
        else:
            passage = Passage(came, went)
            self.unsettled[key_of(came)] = self.other.unsettled[key_of(went)] = passage

    def settle(self, transit: Transit, state: int) -> None:
        """End a message that a fault takes away. Its credit is still the receiver's: another may use it."""
        delivery, transit.delivery = transit.delivery, None
        if self.closed:
            return
        if delivery is not None:
            outcomes.count(state, self.counters, self.peer.router.counters)
            if state:
                lib.pn_delivery_update(delivery, state)
            lib.pn_delivery_settle(delivery)
        self.other.give_back_credit()

    def cut_message(self) -> None:
        self._whole = None
        if self._passing is not None:
            self.other.abort(self._passing.went)
            self._passing = None

    def fail_all(self) -> None:
        for passage in self.unsettled.values():
            outcomes.fail(passage.came)
            outcomes.count(lib.PN_MODIFIED, self.counters, self.peer.router.counters)
        super().fail_all()


class RoutedOut(RoutedLink):
    """The half that messages leave by."""

    direction = "out"
    other: RoutedIn

    def __init__(self, peer: Peer, link: proton.Link, identity: int, *, ours: bool) -> None:
        super().__init__(peer, link, identity, ours=ours)
        self.histogram = None if ours or peer.role == INTER_ROUTER else [0] * HISTOGRAM_SLOTS
        self._passed_credit = 0  # of the receiver's credit, what the sender got and has not used

    def on_flow(self) -> None:
        self.pass_credit()

    def pass_credit(self) -> None:
        """Give the sender what its receiver has given, unless a fault stalls the address."""
        sender, injector = self.other, self.peer.router.injector
        if self.closed or (injector.active and injector.stalls(self.owning_key or "")):
            return
        drain = bool(lib.pn_link_get_drain(self.pn))
        if drain != bool(lib.pn_link_get_drain(sender.pn)):
            lib.pn_link_set_drain(sender.pn, drain)
        more = lib.pn_link_credit(self.pn) - self._passed_credit
        if more > 0:
            self._passed_credit += more
            lib.pn_link_flow(sender.pn, more)

    def tell_drained(self) -> None:
        if not self.other.held and lib.pn_link_get_drain(self.pn):
            lib.pn_link_drained(self.pn)
            self._passed_credit = 0

    def give_back_credit(self) -> None:
        self._passed_credit -= 1
        self.pass_credit()

    def begin(self, tag: bytes) -> Any:
        return lib.pn_delivery(self.pn, (len(tag), ffi.from_buffer(tag)))

    def end_message(self) -> None:
        lib.pn_link_advance(self.pn)
        self._passed_credit -= 1
        self.counters.deliveries += 1
        self.peer.last_delivery_ns = time.monotonic_ns()
        counters = self.peer.router.counters
        if self.peer.role == INTER_ROUTER:
            counters.transit += 1
        else:
            counters.egress += 1

    def abort(self, went: Any) -> None:
        lib.pn_delivery_abort(went)
        self._passed_credit -= 1

    def on_delivery(self, delivery: Any) -> None:
        passage = self.unsettled.get(key_of(delivery))
        if passage is None or not lib.pn_delivery_updated(delivery):
            return
        state = lib.pn_delivery_remote_state(delivery)
        if state:
            outcomes.copy(delivery, passage.came)
        if lib.pn_delivery_settled(delivery):
            lib.pn_delivery_settle(passage.came)
            lib.pn_delivery_settle(delivery)
            self.other.finish(passage, state)


class FaultyWay:
    """A message's way over a routed link as faults see it: they want whole messages, and may hold them."""

    def __init__(self, link: RoutedIn, tag: bytes) -> None:
        self.key = link.owning_key or ""
        self._link = link
        self._tag = tag
        self._sent = False

    def forward(self, transit: Transit) -> None:
        """Send the message, once: a copy would need credit that its receiver has not given."""
        link = self._link
        if link.closed or self._sent:
            return
        self._sent = True
        went = link.other.begin(self._tag)
        lib.pn_link_send(link.other.pn, transit.data, len(transit.data))
        link.sent(transit.delivery, went)

    @property
    def held(self) -> int:
        return self._link.held

    @held.setter
    def held(self, count: int) -> None:
        self._link.held = count
