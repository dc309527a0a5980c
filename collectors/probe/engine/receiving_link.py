"""A receiver's link: deliveries read by calls into proton's C library, accepted or released."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import cproton as c
from cproton_ffi import ffi, lib
from proton.reactor import DurableSubscription, Selector

from collectors.config.paths import Path
from collectors.probe.engine import envelope
from collectors.probe.transport import Envelope, ReceiverEvents

if TYPE_CHECKING:
    from collectors.probe.engine.connection import AmqpConnection

_FIRST_BYTES: Final = 1 << 16
_LARGEST_BYTES: Final = 1 << 26
_ACCEPTED: Final = int(c.PN_ACCEPTED)
_RELEASED: Final = int(c.PN_RELEASED)


class AmqpReceivingLink:
    """Keeps the peer in credit, and hands over the bytes of each message."""

    measures = True

    def __init__(self, connection: AmqpConnection, path: Path, name: str, events: ReceiverEvents) -> None:
        self.connection = connection
        self._path, self._name, self._events = path, name, events
        self._on_message = events.on_message
        self._credit, self._least_credit = path.credit, path.credit // 2
        if path.reads_per_second:
            self._credit, self._least_credit = 0, -1  # `grant` gives it
        self._attachments = itertools.count()
        self._link: Any = None  # cproton's pointer
        self._stopped = False
        self._make_buffer(_FIRST_BYTES)

    def _make_buffer(self, size: int) -> None:
        buffer = bytearray(size)
        self._buffer_c, self._view, self._size = ffi.from_buffer(buffer), memoryview(buffer), size

    # -- the receiver's side

    @property
    def attached(self) -> bool:
        return self._link is not None

    @property
    def is_read(self) -> bool:
        return self.connection.is_read

    @property
    def credit(self) -> int:
        return int(lib.pn_link_credit(self._link)) if self._link is not None else 0

    def grant(self, count: int) -> None:
        if self._link is not None:
            lib.pn_link_flow(self._link, count)
            self.connection.touch()

    def stop(self) -> None:
        self._stopped = True

    def envelope(self, data: bytes) -> Envelope | None:
        return envelope.read_envelope(data)

    def reply_address(self, data: bytes) -> str | None:
        return envelope.reply_address(data)

    def close(self) -> None:
        self.connection.remove(self)

    # -- the connection's side

    def attach(self, session: Any) -> Any:
        path = self._path
        link = session.receiver(path.subscription or f"{self._name}-{next(self._attachments)}")
        if path.receive_address:
            link.source.address = path.receive_address
        else:
            link.source.dynamic = True
        if path.selector is not None:
            Selector(path.selector).apply(link)
        if path.subscription is not None:
            DurableSubscription().apply(link)
        return link

    def on_open(self, link: Any) -> None:
        address = c.pn_terminus_get_address(lib.pn_link_remote_source(link))
        if not address:
            return  # refused: the detach that says why is on its way
        self._link = link
        self._events.on_attached(address)
        lib.pn_link_flow(link, self._credit)
        self.connection.touch()

    def on_flow(self) -> None: ...

    def on_delivery(self, delivery: Any) -> None:
        if self._stopped or not lib.pn_delivery_readable(delivery) or lib.pn_delivery_partial(delivery):
            return
        link = self._link
        size = lib.pn_delivery_pending(delivery)
        if size > self._size:
            self._make_buffer(min(size, _LARGEST_BYTES))
        size = lib.pn_link_recv(link, self._buffer_c, self._size)
        if size < 0:  # noqa: PLR1730 -- an empty message; a call of max for each message would cost
            size = 0
        accepted = not lib.pn_delivery_aborted(delivery) and self._on_message(self._view, size)
        lib.pn_link_advance(link)
        lib.pn_delivery_update(delivery, _ACCEPTED if accepted else _RELEASED)
        lib.pn_delivery_settle(delivery)
        credit = lib.pn_link_credit(link)
        if credit <= self._least_credit:
            lib.pn_link_flow(link, self._credit - credit)

    def on_lost(self, reason: str) -> None:
        self._events.on_lost(reason)
        self._link = None  # last: who sees that it is gone can see why

    def forget(self) -> None:
        self._link = None

    def before_write(self) -> None: ...
