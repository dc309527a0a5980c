"""Links beside the measured ones, for questions and answers: few messages, so plain ones."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import Any, Final

import cproton as c
from cproton_ffi import ffi, lib
from proton import Link as EngineLink
from proton import Message

from collectors.probe.engine.connection import Connection

_log: Final = logging.getLogger("inflight.probe")
_CREDIT: Final = 100
_LARGEST_BYTES: Final = 1 << 20
_names: Final = itertools.count()


class _Side:
    """What a question's link and an answer's have in common."""

    measures = False

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection, self._name = connection, name
        self._link: Any = None
        self._refused = False

    def on_flow(self) -> None:
        pass

    def journal(self) -> None:
        pass

    def _tell_lost(self, reason: str) -> None:
        """A refusal aloud, but only once, as it is tried again and again."""
        refused = "unauthorized-access" in reason
        level = logging.WARNING if refused and not self._refused else logging.DEBUG
        hint = "; see deploy/rights/README.md" if refused else ""
        _log.log(level, "%s: gone: %s%s", self._name, reason, hint)
        self._refused = self._refused or refused


class Inlet(_Side):
    """Receives on an address, or on one that the peer makes up; everything that comes is accepted."""

    def __init__(
        self,
        connection: Connection,
        name: str,
        take: Callable[[Message], None],
        *,
        address: str | None = None,
        opened: Callable[[], None] = lambda: None,
    ) -> None:
        """`opened` is called when `address` is known, which may be another one after each attach."""
        super().__init__(connection, name)
        self._take, self._opened = take, opened
        self._wanted = address
        self.address: str | None = None
        self._buffer = bytearray(_LARGEST_BYTES if address else 4096)
        self._buffer_c = ffi.from_buffer(self._buffer)

    def attach(self, session: Any) -> Any:
        link = session.receiver(f"{self._name}-{next(_names)}")
        if self._wanted is None:
            link.source.dynamic = True
        else:
            link.source.address = self._wanted
        return link

    def on_open(self, link: Any) -> None:
        address = c.pn_terminus_get_address(lib.pn_link_remote_source(link))
        if address:
            self.address, self._link = address, link
            lib.pn_link_flow(link, _CREDIT)
            self.connection.touch()
            self._opened()

    def on_delivery(self, delivery: Any) -> None:
        if not lib.pn_delivery_readable(delivery) or lib.pn_delivery_partial(delivery):
            return
        count = lib.pn_link_recv(self._link, self._buffer_c, len(self._buffer))
        lib.pn_link_advance(self._link)
        lib.pn_delivery_update(delivery, c.PN_ACCEPTED)
        lib.pn_delivery_settle(delivery)
        credit = lib.pn_link_credit(self._link)
        if credit <= _CREDIT // 2:
            lib.pn_link_flow(self._link, _CREDIT - credit)
        message = Message()
        try:
            message.decode(bytes(self._buffer[: max(0, count)]))
        except Exception:  # noqa: BLE001 -- proton raises many kinds; a bad question has no answer
            _log.debug("%s: a message that cannot be read", self._name)
            return
        self._take(message)

    def on_lost(self, reason: str) -> None:
        self._tell_lost(reason)
        self.address = self._link = None

    def forget(self) -> None:
        self.address = self._link = None


class Outlet(_Side):
    """Sends to any address, by the peer's anonymous relay; what cannot go out at once is let go."""

    def __init__(self, connection: Connection, name: str) -> None:
        super().__init__(connection, name)
        self._wrapper: Any = None

    def attach(self, session: Any) -> Any:
        link = session.sender(f"{self._name}-{next(_names)}")
        link.target.address = None
        link.snd_settle_mode = EngineLink.SND_SETTLED
        self._wrapper = link
        return link

    def on_open(self, link: Any) -> None:
        self._link = link

    def on_delivery(self, delivery: Any) -> None:
        pass

    def on_lost(self, reason: str) -> None:
        self._tell_lost(reason)
        self._link = self._wrapper = None

    def forget(self) -> None:
        self._link = self._wrapper = None

    def send(self, message: Message) -> bool:
        """Whether it could be sent."""
        if self._link is None or lib.pn_link_credit(self._link) <= 0:
            return False
        data = message.encode()
        delivery = self._wrapper.delivery(str(next(_names)))
        lib.pn_link_send(self._link, ffi.from_buffer(data), len(data))
        delivery.settle()
        self.connection.touch()
        return True
