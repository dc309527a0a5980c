"""A sender's link: deliveries made by calls into proton's C library, and their outcomes."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Final

import cproton as c
from cproton_ffi import ffi, lib
from proton import Link as ProtonLink

from collectors.config.paths import Path
from collectors.contract.records import Outcome
from collectors.probe.engine import envelope
from collectors.probe.message import Properties
from collectors.probe.transport import SenderEvents

if TYPE_CHECKING:
    from collectors.probe.engine.connection import AmqpConnection

# With what is made in one turn (sender.py) these are the 256 kB that may be lost with a connection. It is
# reached where the socket takes all, and the peer's session window is full.
_MOST_HELD_BYTES: Final = 1 << 17
_TAG: Final = struct.Struct(">Q")
_OUTCOMES: Final[dict[int, Outcome]] = {
    c.PN_ACCEPTED: "accepted",
    c.PN_REJECTED: "rejected",
    c.PN_RELEASED: "released",
    c.PN_MODIFIED: "modified",
}


class AmqpSendingLink:
    """Gives each number sent one outcome; of presettled ones it knows which are written to the socket."""

    measures = True

    def __init__(self, connection: AmqpConnection, path: Path, name: str, events: SenderEvents) -> None:
        self.connection = connection
        self.before_write = events.before_write
        self._address, self._presettled, self._name = path.address, path.presettled, name
        self._events = events
        self._on_outcome = events.on_outcome
        self._attachments = itertools.count()
        self._link: Any = None  # cproton's pointers
        self._session: Any = None
        self._tag_bytes = bytearray(_TAG.size)
        self._tag = ffi.new("pn_bytes_t *")
        self._tag.size, self._tag.start = _TAG.size, ffi.from_buffer(self._tag_bytes)
        self._unsettled: dict[Any, int] = {}  # cproton's delivery: number
        self._unwritten: list[range] = []  # of a presettled path: numbers that may still be here

    # -- the sender's side

    @property
    def attached(self) -> bool:
        return self._link is not None

    @property
    def credit(self) -> int:
        return int(lib.pn_link_credit(self._link)) if self._link is not None else 0

    @property
    def held(self) -> bool:
        here = lib.pn_session_outgoing_bytes(self._session) if self._session is not None else 0
        return bool(self.connection.backed_up or here > _MOST_HELD_BYTES)

    @property
    def unsettled(self) -> int:
        return sum(map(len, self._unwritten)) if self._presettled else len(self._unsettled)

    @property
    def first_unwritten(self) -> int | None:
        return self._unwritten[0].start if self._unwritten else None

    def when_written(self, call: Callable[[], None]) -> None:
        self.connection.when_written(call)

    def encode(self, body: bytes, properties: Properties) -> bytearray:
        return envelope.encode(body, properties)

    def prepare(self, message: bytearray) -> Callable[[int], None]:
        # The two below are called for each message: they look up nothing but local names.
        link, data, length = self._link, ffi.from_buffer(message), len(message)
        tag, tag_bytes, write_tag, unsettled = self._tag[0], self._tag_bytes, _TAG.pack_into, self._unsettled
        make, write, advance, settle = (
            lib.pn_delivery, lib.pn_link_send, lib.pn_link_advance, lib.pn_delivery_settle
        )  # fmt: skip

        def send_presettled(number: int) -> None:
            write_tag(tag_bytes, 0, number)
            delivery = make(link, tag)
            write(link, data, length)
            settle(delivery)

        def send(number: int) -> None:
            write_tag(tag_bytes, 0, number)
            delivery = make(link, tag)
            write(link, data, length)
            advance(link)
            unsettled[delivery] = number

        return send_presettled if self._presettled else send

    def flush(self, first: int, below: int) -> None:
        if self._presettled and first < below:
            # Between the turns of a marked path's link are those of its other one.
            if self._unwritten and self._unwritten[-1].stop == first:
                first = self._unwritten.pop().start
            self._unwritten.append(range(first, below))
            self.connection.tell_written(self.on_all_written)
        self.connection.touch()

    def close(self) -> None:
        self.connection.remove(self)

    # -- the connection's side

    def attach(self, session: Any) -> Any:
        link = session.sender(f"{self._name}-{next(self._attachments)}")
        link.target.address = self._address or None  # none: each message says where it goes
        link.snd_settle_mode = ProtonLink.SND_SETTLED if self._presettled else ProtonLink.SND_UNSETTLED
        self._session = session._impl  # noqa: SLF001 -- cproton's pointer
        return link

    def on_open(self, link: Any) -> None:
        if self._address and not c.pn_terminus_get_address(lib.pn_link_remote_target(link)):
            return  # refused: the detach that says why is on its way
        self._link = link
        self._events.on_attached()

    def on_flow(self) -> None:
        self._events.on_credit()

    def on_delivery(self, delivery: Any) -> None:
        if not lib.pn_delivery_updated(delivery):
            return
        number = self._unsettled.pop(delivery, None)
        if number is None:
            return
        outcome = _OUTCOMES.get(lib.pn_delivery_remote_state(delivery), "unsettled")
        # A terminal state is the outcome even where the peer leaves settling to us.
        if outcome != "unsettled" or lib.pn_delivery_settled(delivery):
            self._on_outcome(number, outcome)
            lib.pn_delivery_settle(delivery)
        else:
            self._unsettled[delivery] = number

    def on_all_written(self) -> bool:
        """Proton's bytes are all on the socket. Returns whether all that was sent here is among them."""
        if self._link is None or lib.pn_link_queued(self._link):
            return self._link is None
        self._unwritten = []
        return True

    def on_lost(self, reason: str) -> None:
        numbers: Collection[int] = [number for turn in self._unwritten for number in turn]
        if not self._presettled:
            numbers = list(self._unsettled.values())
        self._unsettled.clear()
        self._unwritten = []
        self._events.on_lost(reason, numbers)
        self._link = self._session = None  # last: who sees that it is gone can see why

    def forget(self) -> None:
        self._link = self._session = None
        self._unsettled.clear()
