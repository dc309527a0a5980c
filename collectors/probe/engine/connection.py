"""An AMQP connection that comes back: to the next of several peers, with all its links."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence
from typing import Final

from collectors.amqp.options import AmqpOptions
from collectors.config.paths import Path
from collectors.contract.untrusted_text import shown
from collectors.probe.engine.link import EngineLink
from collectors.probe.engine.loop import Loop
from collectors.probe.engine.proton_connection import ProtonConnection
from collectors.probe.engine.receiving_link import AmqpReceivingLink
from collectors.probe.engine.reconnect import Connector
from collectors.probe.engine.sending_link import AmqpSendingLink
from collectors.probe.engine.side_links import AmqpListener, AmqpNoteSender
from collectors.probe.transport import Note, ReceiverEvents, SenderEvents
from collectors.process.trouble import Trouble

_log: Final = logging.getLogger("inflight.probe")
_MAX_PEER: Final = 192  # as long as names in records may be
_NOT_YET: Final = "not connected yet"


class AmqpConnection:
    """Has one connection of proton's after another, the next one after a delay that grows."""

    def __init__(
        self,
        loop: Loop,
        peers: Callable[[], Sequence[AmqpOptions]],
        container: str,
        rejected: Callable[[AmqpConnection], None] = lambda _: None,
    ) -> None:
        """`peers` is asked at each attempt: files of secrets may have changed.

        `rejected` is called when a peer ended the connection for what came over it.
        """
        self._loop, self._peers, self._rejected = loop, peers, rejected
        self._connector = Connector(loop, peers, self._connected, self._failed)
        self._container = container
        self._links: list[EngineLink] = []
        self._proton: ProtonConnection | None = None
        self._is_split_off = self._closing = False
        self.problem = _NOT_YET
        self._trouble = Trouble(_log)
        self.url = self.peer = ""

    # -- its links

    def add_sender(self, path: Path, name: str, events: SenderEvents) -> AmqpSendingLink:
        link = AmqpSendingLink(self, path, name, events)
        self.add(link)
        return link

    def add_receiver(self, path: Path, name: str, events: ReceiverEvents) -> AmqpReceivingLink:
        link = AmqpReceivingLink(self, path, name, events)
        self.add(link)
        return link

    def listen(
        self,
        name: str,
        take: Callable[[Note], None],
        *,
        address: str | None = None,
        opened: Callable[[], None] = lambda: None,
    ) -> AmqpListener:
        link = AmqpListener(self, name, take, address=address, opened=opened)
        self.add(link)
        return link

    def note_sender(self, name: str) -> AmqpNoteSender:
        link = AmqpNoteSender(self, name)
        self.add(link)
        return link

    def add(self, link: EngineLink) -> None:
        link.connection = self
        self._links.append(link)
        if self._proton is not None and self._proton.open:
            self._proton.attach(link)

    def remove(self, link: EngineLink) -> None:
        """Closes the link; nothing of it is reported any more."""
        self._links.remove(link)
        link.forget()
        if self._proton is not None:
            self._proton.detach(link)
        if self._is_split_off and not self._links:
            self.close()

    @property
    def measuring(self) -> list[EngineLink]:
        """The links of paths' ends."""
        return [link for link in self._links if link.measures]

    def split_off(self, name: str, links: Sequence[EngineLink]) -> AmqpConnection:
        """Returns a new connection to the same peers, which has these links; call while not connected."""
        new = AmqpConnection(self._loop, self._peers, f"{self._container}-{name}", self._rejected)
        new._is_split_off = True
        for link in links:
            self._links.remove(link)
            new.add(link)
        return new

    # -- its life

    def start(self) -> None:
        self._connector.connect()

    def close(self) -> None:
        self._closing = True
        self._connector.cancel()
        if self._proton is not None and self._proton.open:
            self._proton.close()
        else:
            self.abort()

    def abort(self) -> None:
        self._closing = True
        self._connector.cancel()
        self.on_lost("closed here")

    @property
    def open(self) -> bool:
        return self._proton is not None and self._proton.open

    @property
    def closed(self) -> bool:
        return self._closing and self._proton is None

    # -- for its links

    def touch(self) -> None:
        if self._proton is not None:
            self._proton.touch()

    def when_written(self, call: Callable[[], None]) -> None:
        if self._proton is not None:
            self._proton.when_written(call)

    def tell_written(self, call: Callable[[], bool]) -> None:
        if self._proton is not None:
            self._proton.tell_written(call)

    @property
    def backed_up(self) -> bool:
        """Whether the socket did not take all that there was to write."""
        return self._proton is not None and self._proton.backed_up

    @property
    def is_read(self) -> bool:
        """Whether all that had come to the socket is read."""
        return self._proton is None or self._proton.is_read

    # -- what becomes of its connections

    def _connected(self, peer: AmqpOptions, sock: socket.socket) -> None:
        self.url = peer.url
        if self.problem == _NOT_YET:
            self.problem = (
                f"{peer.url} took the connection, and did not answer AMQP yet: it stands still, or speaks "
                "something else there"
            )
        try:
            self._proton = ProtonConnection(self._loop, self, self._container, self._links, peer)
        except Exception as error:  # noqa: BLE001 -- proton raises many kinds; there would be no further attempt
            sock.close()
            self._failed(f"{peer.url}: the connection cannot be set up: {error}")
            return
        self._proton.start(sock)

    def _failed(self, reason: str) -> None:
        self._trouble.tell(f"no connection: {reason}")
        self.problem = reason
        self._connector.connect_later()

    def on_open(self, name: str) -> None:
        self.peer = shown(name[:_MAX_PEER])
        self.problem = ""
        self._trouble = Trouble(_log)

    def on_lost(self, reason: str) -> None:
        proton, self._proton = self._proton, None
        if proton is None:
            return
        was_open, stable = proton.open, proton.is_stable
        # The peer gave a reason, or ended it soon. A router that is stopped does neither.
        rejected = was_open and (proton.complaint or not stable)
        if was_open and stable:
            self._connector.forget_failures()
        for link in proton.end():
            if self._closing:
                link.forget()
            else:
                link.on_lost(reason)
        proton.free()
        if self._closing:
            self.problem = "closed"
            return
        self._trouble.tell(f"{'connection lost' if was_open else 'no connection'}: {reason}")
        self.problem = reason
        if rejected:
            self._rejected(self)
        self._connector.connect_later()
