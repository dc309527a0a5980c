"""One AMQP connection for management: opened, pumped and closed by the thread that owns it."""

from __future__ import annotations

import selectors
import socket
import time
import uuid
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from proton import SASL, Collector, Connection, Delivery, Endpoint, Event, SSLException, Transport

from collectors.amqp import containers
from collectors.amqp.options import AmqpOptions
from collectors.polling.errors import PollError
from collectors.router import connection_errors
from collectors.router.connection_errors import UNAUTHORIZED
from collectors.router.schema import DISPATCH, SKUPPER, SKUPPER_PRODUCT, Flavour

CREDIT: Final = 1000
MAX_REPLY_BYTES: Final = 32 << 20
_READ_BYTES: Final = 1 << 20

_OUTCOMES: Final = {
    Delivery.REJECTED: "rejected",
    Delivery.RELEASED: "released",
    Delivery.MODIFIED: "modified",
}


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A request that came back; `tag` is what it was sent with."""

    tag: str
    outcome: str
    denied: bool


class ManagementClient:
    """A connection with an anonymous sender and one dynamic reply address.

    The constructor blocks until both are open, `timeout_seconds` at the most, and raises PollError. `pump`
    blocks until something came, and raises PollError once the connection is gone.
    """

    def __init__(
        self, options: AmqpOptions, timeout_seconds: float, waker: socket.socket | None = None
    ) -> None:
        self.where = options.url
        self.reply_to = ""
        self._incoming: deque[bytes | Undelivered] = deque()
        self._problem: PollError | None = None
        self._secure = options.tls
        self._mechanisms = options.mechanisms
        until = time.monotonic() + timeout_seconds
        self._socket = _connect(options, timeout_seconds)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        if waker is not None:
            self._selector.register(waker, selectors.EVENT_READ)
        self._connection = Connection()
        self._events = Collector()
        self._connection.collect(self._events)
        self._connection.container = f"{containers.COLLECTOR}{uuid.uuid4()}"
        self._connection.properties = {"product": "inflight"}
        self._transport = Transport()
        try:
            options.prepare(self._transport, self._connection)
            self._open()
            while not (self.reply_to and self._sender.state & Endpoint.REMOTE_ACTIVE):
                self._turn(until)
                if time.monotonic() >= until:
                    raise connection_errors.silent(self.where, timeout_seconds)
        except SSLException as error:
            self._release()
            raise PollError("tls", f"{self.where}: TLS failed: {error}") from None
        except PollError:
            self._release()
            raise

    @property
    def product(self) -> str | None:
        """What the peer called itself when the connection opened."""
        try:
            properties = self._connection.remote_properties
        except UnicodeDecodeError:
            properties = None
        product = properties.get("product") if isinstance(properties, dict) else None
        return str(product) if isinstance(product, str) else None

    @property
    def guess(self) -> Flavour:
        """The flavour that the peer seems to be."""
        return SKUPPER if self.product == SKUPPER_PRODUCT else DISPATCH

    @property
    def credit(self) -> int:
        return int(self._sender.credit)

    def send(self, tag: str, message: bytes) -> None:
        """Send a request; if it cannot be delivered, `pump` returns an Undelivered."""
        self._sender.delivery(tag)
        self._sender.stream(message)
        self._sender.advance()

    def pump(self, until: float) -> list[bytes | Undelivered]:
        """Return what came by `until` (of time.monotonic()); nothing, also if the waker became readable."""
        if not self._incoming:
            self._turn(until)
        came = list(self._incoming)
        self._incoming.clear()
        if not came and self._problem:
            raise self._problem
        return came

    def close(self) -> None:
        """Close the connection without waiting for the peer."""
        try:
            self._connection.close()
            self._process()
            self._write()
        except (PollError, OSError):
            pass  # gone already
        self._release()

    def _release(self) -> None:
        self._selector.close()
        self._socket.close()
        self._transport.unbind()
        self._connection.free()

    def _open(self) -> None:
        self._connection.open()
        session = self._connection.session()
        session.open()
        self._sender = session.sender("inflight-requests")
        self._sender.open()
        self._receiver = session.receiver("inflight-replies")
        self._receiver.source.dynamic = True
        self._receiver.open()
        self._receiver.flow(CREDIT)

    def _turn(self, until: float) -> None:
        """Write, wait for the socket, read, and handle the events."""
        now = time.monotonic()
        tick = self._transport.tick(now)
        self._process()
        self._write()
        if self._incoming or self._problem:
            return
        wait = max(0.0, min(until, tick if tick > 0 else until) - now)
        mask = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._transport.pending() > 0 else 0)
        self._selector.modify(self._socket, mask)
        for key, ready in self._selector.select(wait):
            if key.fileobj is self._socket and ready & selectors.EVENT_READ:
                self._read()
        self._process()
        self._write()

    def _read(self) -> None:
        room = self._transport.capacity()
        if room <= 0:
            self._transport.close_tail()
            return
        try:
            data = self._socket.recv(min(room, _READ_BYTES))
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._fail(connection_errors.broken(self.where, error))
            return
        if data:
            self._transport.push(data)
        else:
            self._transport.close_tail()
            self._process()
            self._ended()

    def _write(self) -> None:
        while (pending := self._transport.pending()) > 0:
            try:
                sent = self._socket.send(self._transport.peek(pending))
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                self._fail(connection_errors.broken(self.where, error))
                return
            self._transport.pop(sent)
        if pending < 0:
            self._process()
            self._ended()

    def _process(self) -> None:
        try:
            self._take_events()
        except UnicodeDecodeError:
            text = f"{self.where} says what is no UTF-8; is it a router?"
            self._fail(PollError("bad_reply", text))

    def _take_events(self) -> None:
        while (event := self._events.peek()) is not None:
            kind = event.type
            if kind is Event.DELIVERY:
                self._on_delivery(event.delivery)
            elif kind is Event.LINK_REMOTE_OPEN and event.link.is_receiver:
                self.reply_to = event.link.remote_source.address or ""
            elif kind in {Event.LINK_REMOTE_CLOSE, Event.SESSION_REMOTE_CLOSE, Event.CONNECTION_REMOTE_CLOSE}:
                self._fail(connection_errors.closed(self.where, event.context.remote_condition))
            elif kind is Event.TRANSPORT_ERROR:
                self._transport_error()
            self._events.pop()

    def _on_delivery(self, delivery: Any) -> None:
        if delivery.link.is_sender:
            if delivery.updated and delivery.remote_state:
                if delivery.remote_state != Delivery.ACCEPTED:
                    condition = delivery.remote.condition
                    denied = condition is not None and condition.name == UNAUTHORIZED
                    self._incoming.append(
                        Undelivered(delivery.tag, _OUTCOMES.get(delivery.remote_state, "unsettled"), denied)
                    )
                delivery.settle()
            return
        if delivery.pending > MAX_REPLY_BYTES:
            text = f"{self.where} sent a reply of over {MAX_REPLY_BYTES >> 20} MiB"
            self._fail(PollError("lost", text))
            return
        if delivery.readable and not delivery.partial:
            link = delivery.link
            self._incoming.append(bytes(link.recv(delivery.pending)))
            link.advance()
            delivery.settle()
            if link.credit <= CREDIT // 2:
                link.flow(CREDIT - link.credit)

    def _transport_error(self) -> None:
        self._fail(
            connection_errors.transport_failed(
                self.where, self._transport.condition, tls=self._secure, login_failed=self._login_failed()
            )
        )

    def _ended(self) -> None:
        """Handle the end of the stream, unless something said before why."""
        if self._login_failed():
            error = connection_errors.login_refused(self.where, f"it does not take {self._mechanisms}")
        else:
            error = connection_errors.ended(self.where, begun=bool(self.reply_to))
        self._fail(error)

    def _login_failed(self) -> bool:
        return self._transport.sasl().outcome not in {None, SASL.OK}

    def _fail(self, error: PollError) -> None:
        """Keep the first error for `pump`; raise it while the connection is being opened."""
        if self._problem is None:
            self._problem = error
        if not self.reply_to:
            raise self._problem


def _connect(options: AmqpOptions, timeout_seconds: float) -> socket.socket:
    try:
        connected = socket.create_connection((options.host, options.port), timeout=timeout_seconds)
    except OSError as error:
        raise connection_errors.unreachable(options.url, error, timeout_seconds) from None
    connected.setblocking(False)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected
