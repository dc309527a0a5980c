"""A management node with scripted answers: real replies, late ones, broken ones, none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from certificates import Certificate
from proton import Endpoint, Message, SSLDomain, symbol
from proton.handlers import MessagingHandler
from proton.reactor import Container

# What to answer a request with: messages, raw bytes, or nothing.
Script = Callable[[Message], list[Message | bytes]]


class ScriptedNode(MessagingHandler):
    """Listens on a port; requests go to `script`, whose answers go to the sender."""

    def __init__(
        self,
        script: Script,
        product: str = "qpid-dispatch-router",
        certificate: Certificate | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(prefetch=500, auto_accept=True)
        self.script = script
        self.product = product
        self.certificate = certificate
        self.port = port
        self.requests: list[Message] = []
        self.connections = 0
        self.reply_bytes = 0
        self._links: dict[str, Any] = {}
        self._live: list[Any] = []
        self._ready = threading.Event()
        self._stop = False
        self._container = Container(self)
        self._container.container_id = "scripted"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(30)

    def _run(self) -> None:
        self._container.timeout = 0.05
        self._container.start()
        while self._container.process() and not self._stop:
            pass
        self._container.stop()
        self._container.process()

    @property
    def url(self) -> str:
        # Proton takes names of certificates for names of hosts, never for addresses.
        return f"amqps://localhost:{self.port}" if self.certificate else f"amqp://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._stop = True
        self._thread.join(30)
        self._acceptor._selectable._delegate.close()  # noqa: SLF001 -- proton leaves it open

    def on_start(self, event: Any) -> None:
        domain = None
        if self.certificate:
            domain = SSLDomain(SSLDomain.MODE_SERVER)
            domain.set_credentials(str(self.certificate.cert), str(self.certificate.key), None)
        scheme = "amqps" if domain else "amqp"
        acceptor = event.container.listen(f"{scheme}://127.0.0.1:{self.port}", ssl_domain=domain)
        self.port = acceptor._selectable._delegate.getsockname()[1]  # noqa: SLF001 -- proton does not tell it
        self._acceptor = acceptor
        self._ready.set()

    def on_connection_opening(self, event: Any) -> None:
        self.connections += 1
        self._live.append(event.connection)
        event.connection.properties = {symbol("product"): self.product}
        event.connection.offered_capabilities = symbol("ANONYMOUS-RELAY")

    def on_link_opening(self, event: Any) -> None:
        link = event.link
        if link.is_sender and link.remote_source.dynamic:
            link.source.address = f"reply-{len(self._links)}"
            self._links[link.source.address] = link
        elif link.is_receiver:
            link.target.address = link.remote_target.address

    def on_message(self, event: Any) -> None:
        request = event.message
        self.requests.append(request)
        link = self._links.get(request.reply_to)
        if link is None or link.state & Endpoint.REMOTE_CLOSED:
            return
        for answer in self.script(request):
            data = answer if isinstance(answer, bytes) else answer.encode()
            self.reply_bytes += len(data)
            delivery = link.delivery(f"{len(self.requests)}-{self.reply_bytes}")
            link.stream(data)
            link.advance()
            delivery.settle()


def reply(request: Message, body: Any, status: int = 200, description: str = "OK") -> Message:
    """Return a reply as a router makes it."""
    return Message(
        address=request.reply_to,
        correlation_id=request.correlation_id,
        properties={"statusCode": status, "statusDescription": description},
        body=body,
    )
