"""The captures as a mesh that answers: what real routers said, cut to the attributes asked for."""

from __future__ import annotations

import copy
import itertools
import json
from pathlib import Path
from typing import Any

from proton import Message
from scripted import reply

from collectors.router import management, schema
from collectors.router.poll import Poll
from collectors.router.view import RouterView, view

CAPTURES = Path(__file__).parent / "fixtures" / "captures"
PREFIXES = {"qdrouterd": "org.apache.qpid.dispatch.", "skrouterd": "io.skupper.router."}
PRODUCTS = {"qdrouterd": "qpid-dispatch-router", "skrouterd": "skupper-router"}


class Replay:
    """A line of routers from a capture; `rows` may be changed between polls."""

    def __init__(self, flavour: str) -> None:
        file = next(CAPTURES.glob(f"{flavour}-*-line.json"))
        self.capture: dict[str, Any] = json.loads(file.read_text())
        self.prefix = PREFIXES[flavour]
        self.product = PRODUCTS[flavour]
        self.routers = [name for name in self.capture if name.endswith((".A", ".B", ".C", ".E"))]
        self.silent: set[str] = set()

    def rows(self, router: str, entity: str) -> list[dict[str, Any]]:
        """A copy of an entity's rows by attribute name."""
        body = self.capture[router][entity]["body"]
        return [dict(zip(body["attributeNames"], row, strict=True)) for row in copy.deepcopy(body["results"])]

    def replace(self, router: str, entity: str, rows: list[dict[str, Any]]) -> None:
        body = self.capture[router][entity]["body"]
        body["results"] = [[row[name] for name in body["attributeNames"]] for row in rows]

    def router_of(self, request: Message) -> str:
        parts = request.address.split("/")
        return parts[-2] if len(parts) > 1 else self.routers[0]

    def __call__(self, request: Message) -> list[Message | bytes]:
        router = self.router_of(request)
        if router in self.silent or router not in self.capture:
            return []
        properties = request.properties
        if properties["operation"] == "GET-MGMT-NODES":
            return [reply(request, self.capture["GET-MGMT-NODES"]["body"])]
        kind = properties["entityType"]
        entity = kind.removeprefix(self.prefix)
        answer = self.capture[router].get(entity if kind.startswith(self.prefix) else "none")
        if answer is None and entity == "allocator" and kind.startswith(self.prefix):
            answer = self.capture[self.routers[0]]["allocator"]
        if answer is None or answer["properties"]["statusCode"] != 200:
            return [reply(request, {}, 400, f"No such entity type '{kind}'")]
        names = answer["body"]["attributeNames"]
        results = answer["body"]["results"]
        start = properties.get("offset", 0)
        results = results[start : start + properties.get("count", len(results))]
        asked = [name for name in request.body["attributeNames"] if name in names] or names
        places = [names.index(name) for name in asked]
        body = {"attributeNames": asked, "results": [[row[place] for place in places] for row in results]}
        return [reply(request, body)]


def look(replay: Replay, router: str, steady_ns: int = 0) -> RouterView:
    """The view of one router of a replayed mesh."""
    polling = Poll(schema.DISPATCH, {}, itertools.count())
    while requests := polling.take(0, 1000):
        for tag, request in requests:
            message = Message()
            message.decode(management.encode(request, tag, "reply"))
            for answer in replay(message):
                assert isinstance(answer, Message)
                polling.reply(answer.encode(), 1)
    return view(polling.asked[router], 1_800_000_000_000_000_000, steady_ns)
