"""Links beside the measured ones, for questions, answers and echoes: few messages, encoded by proton."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import cproton as c
from cproton_ffi import ffi, lib
from proton import Link as ProtonLink
from proton import Message

from collectors.probe.transport import Note

if TYPE_CHECKING:
    from collectors.probe.engine.connection import AmqpConnection

_log: Final = logging.getLogger("inflight.probe")
_CREDIT: Final = 100
_LARGEST_BYTES: Final = 1 << 20
_LARGEST_ANSWER_BYTES: Final = 4096
_numbers: Final = itertools.count()


class _SideLink:
    """What a listener and a sender of notes have in common."""

    measures = False

    def __init__(self, connection: AmqpConnection, name: str) -> None:
        self.connection, self._name = connection, name
        self._link: Any = None  # cproton's pointer
        self._refused = False

    @property
    def attached(self) -> bool:
        return self._link is not None

    def close(self) -> None:
        self.connection.remove(self)  # type: ignore[arg-type]  # each of its classes is a whole EngineLink

    def on_flow(self) -> None: ...

    def before_write(self) -> None: ...

    def _log_lost(self, reason: str) -> None:
        """Warns of a refusal once; the link is attached again and again."""
        refused = "unauthorized-access" in reason
        level = logging.WARNING if refused and not self._refused else logging.DEBUG
        hint = "; see deploy/rights/README.md" if refused else ""
        _log.log(level, "%s: gone: %s%s", self._name, reason, hint)
        self._refused = self._refused or refused


class AmqpListener(_SideLink):
    """Receives at an address, or at one that the peer assigns, and accepts everything."""

    def __init__(
        self,
        connection: AmqpConnection,
        name: str,
        take: Callable[[Note], None],
        *,
        address: str | None = None,
        opened: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(connection, name)
        self._take, self._opened = take, opened
        self._wanted = address
        self.address: str | None = None
        self._buffer = bytearray(_LARGEST_BYTES if address else _LARGEST_ANSWER_BYTES)
        self._buffer_c = ffi.from_buffer(self._buffer)

    def attach(self, session: Any) -> Any:
        link = session.receiver(f"{self._name}-{next(_numbers)}")
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
        size = lib.pn_link_recv(self._link, self._buffer_c, len(self._buffer))
        lib.pn_link_advance(self._link)
        lib.pn_delivery_update(delivery, c.PN_ACCEPTED)
        lib.pn_delivery_settle(delivery)
        credit = lib.pn_link_credit(self._link)
        if credit <= _CREDIT // 2:
            lib.pn_link_flow(self._link, _CREDIT - credit)
        message = Message()
        try:
            message.decode(bytes(self._buffer[: max(0, size)]))
            note = Note(
                to=message.address,
                body=message.body,
                reply_to=message.reply_to,
                ttl_seconds=message.ttl,
                durable=message.durable,
                priority=message.priority,
            )
        except Exception:  # noqa: BLE001 -- proton raises many kinds; what cannot be read has no answer
            _log.debug("%s: a message that cannot be read", self._name)
            return
        self._take(note)

    def on_lost(self, reason: str) -> None:
        self._log_lost(reason)
        self.forget()

    def forget(self) -> None:
        self.address = self._link = None


class AmqpNoteSender(_SideLink):
    """Sends to any address through the peer's anonymous relay, presettled."""

    def __init__(self, connection: AmqpConnection, name: str) -> None:
        super().__init__(connection, name)
        self._proton_link: Any = None

    def attach(self, session: Any) -> Any:
        link = session.sender(f"{self._name}-{next(_numbers)}")
        link.target.address = None
        link.snd_settle_mode = ProtonLink.SND_SETTLED
        self._proton_link = link
        return link

    def on_open(self, link: Any) -> None:
        self._link = link

    def on_delivery(self, delivery: Any) -> None: ...

    def on_lost(self, reason: str) -> None:
        self._log_lost(reason)
        self.forget()

    def forget(self) -> None:
        self._link = self._proton_link = None

    def send(self, note: Note) -> bool:
        if self._link is None or lib.pn_link_credit(self._link) <= 0:
            return False
        message = Message(
            address=note.to,
            reply_to=note.reply_to,
            ttl=note.ttl_seconds,
            durable=note.durable,
            priority=note.priority,
            body=note.body,
            inferred=True,
        )
        data = message.encode()
        delivery = self._proton_link.delivery(str(next(_numbers)))
        lib.pn_link_send(self._link, ffi.from_buffer(data), len(data))
        delivery.settle()
        self.connection.touch()
        return True
