"""A mesh of scripted management nodes in a process of its own, and a load to be watched."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # what tests share
sys.path.insert(0, str(Path(__file__).parents[2]))

from proton import Message
from proton.handlers import MessagingHandler
from proton.reactor import Container
from scripted import ScriptedNode

CAPTURES = Path(__file__).parents[1] / "fixtures" / "captures"
PREFIX = "org.apache.qpid.dispatch."
_MARK = "~"
_COUNT = 0x0102030405060708  # stands for a counter that has risen whenever it is asked for
ON_THEIR_WAY = 200


class ManyRouters:
    """Answers for `routers` routers of `links` links each, from replies that were encoded once."""

    def __init__(self, routers: int, links: int) -> None:
        capture = json.loads((CAPTURES / "qdrouterd-1.19.0-line.json").read_text())["QDR.B"]
        self._names = [f"R{number:03}" for number in range(routers)]
        self._links = links
        allocator = json.loads((CAPTURES / "qdrouterd-1.19.0.json").read_text())[PREFIX + "allocator"]
        self._capture = capture | {"allocator": allocator}
        self._asked = 0
        self._made: dict[tuple[Any, ...], bytes] = {}

    def __call__(self, request: Message) -> list[Message | bytes]:
        parts = request.address.split("/")
        router = parts[-2] if len(parts) > 1 else self._names[0]
        properties = request.properties
        asked = tuple(request.body["attributeNames"]) if request.body else ()
        kind, offset = properties.get("entityType", "nodes"), properties.get("offset", 0)
        key = (router, kind, offset, asked, len(request.correlation_id))
        if key not in self._made:
            self._made[key] = self._make(router, kind, offset, asked, len(request.correlation_id))
        width = bytes([0xA1, len(request.correlation_id)])  # how AMQP has a short text
        marked = width + _MARK.encode() * len(request.correlation_id)
        self._asked += 1
        answer = self._made[key].replace(marked, width + request.correlation_id.encode(), 1)
        return [answer.replace(_COUNT.to_bytes(8, "big"), (_COUNT + self._asked).to_bytes(8, "big"))]

    def _make(self, router: str, kind: str, offset: int, asked: tuple[str, ...], width: int) -> bytes:
        reply = Message(
            correlation_id=_MARK * width, properties={"statusCode": 200, "statusDescription": "OK"}
        )
        if kind == "nodes":
            reply.body = [f"amqp:/_topo/0/{name}/$management" for name in self._names]
            return bytes(reply.encode())
        entity = kind.removeprefix(PREFIX)
        body = self._capture[entity]["body"]
        rows = [dict(zip(body["attributeNames"], row, strict=True)) for row in body["results"]]
        if entity == "router":
            rows = [rows[0] | {"id": router, "name": router}]
        elif entity == "router.node":
            rows = [rows[0] | {"id": name, "linkState": [], "index": n} for n, name in enumerate(self._names)]
            rows = [row for row in rows if row["id"] == router or offset < 0][:1]
        elif entity == "router.link":
            risen = {"deliveryCount": _COUNT, "acceptedCount": _COUNT}
            rows = [rows[n % len(rows)] | risen | {"identity": str(n)} for n in range(self._links)][offset:]
        elif entity == "connection":
            rows = [row for row in rows if row["role"] != "edge"]
        names = [name for name in asked if name in body["attributeNames"]] or body["attributeNames"]
        reply.body = {"attributeNames": names, "results": [[row[name] for name in names] for row in rows]}
        return bytes(reply.encode())


class Load(MessagingHandler):
    """Sends acknowledged messages to itself, as fast as it can, and counts them."""

    def __init__(self, url: str, address: str) -> None:
        super().__init__(prefetch=200, auto_accept=True)
        self._url, self._address = url, address
        self.received = self.sent = 0
        self._sender: Any = None

    def on_start(self, event: Any) -> None:
        connection = event.container.connect(self._url)
        event.container.create_receiver(connection, self._address)
        self._message = Message(body=b"x" * 200).encode()
        event.container.create_sender(event.container.connect(self._url), self._address)

    def on_sendable(self, event: Any) -> None:
        self._sender = event.sender
        self._send()

    def on_message(self, event: Any) -> None:  # noqa: ARG002 -- proton's signature
        self.received += 1
        self._send()

    def _send(self) -> None:
        """Send while few are under way, so that no queue grows."""
        if self._sender is None:
            return  # of an earlier load, there may be messages before there is a sender
        while self._sender.credit > 0 and self.sent - self.received < ON_THEIR_WAY:
            self.sent += 1
            self._sender.delivery(self._sender.delivery_tag())
            self._sender.stream(self._message)
            self._sender.advance()


def serve(routers: int, links: int) -> None:
    """Print the URL; end when stdin does."""
    node = ScriptedNode(ManyRouters(routers, links))
    print(node.url, flush=True)  # noqa: T201 -- the parent reads it
    sys.stdin.read()
    node.close()


def load(url: str, address: str) -> None:
    """For each line of stdin print the count of messages received; end when stdin does."""
    handler = Load(url, address)
    threading.Thread(target=Container(handler).run, daemon=True).start()
    for _ in sys.stdin:
        print(handler.received, time.monotonic(), flush=True)  # noqa: T201 -- the same


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]), int(sys.argv[3]))
    else:
        load(sys.argv[2], sys.argv[3])
