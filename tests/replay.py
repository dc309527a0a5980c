"""A mesh that answers with captured replies of real routers, cut to the attributes asked for."""

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
from collectors.router.snapshot import RouterSnapshot, take_snapshot

CAPTURES = Path(__file__).parent / "fixtures" / "captures"
PREFIXES = {"qdrouterd": "org.apache.qpid.dispatch.", "skrouterd": "io.skupper.router."}
# Answered by a router's Python agent, which refuses a query that names one unknown attribute.
_AGENT = {"router.node", "allocator", "connector", "listener"}
AGENT = {"qdrouterd": _AGENT, "skrouterd": {*_AGENT, "router"}}
PRODUCTS = {"qdrouterd": "qpid-dispatch-router", "skrouterd": "skupper-router"}


class Replay:
    """A line of routers from a capture; `rows` may be changed between polls."""

    def __init__(self, flavour: str) -> None:
        file = next(CAPTURES.glob(f"{flavour}-*-line.json"))
        self.capture: dict[str, Any] = json.loads(file.read_text())
        self.prefix = PREFIXES[flavour]
        self.product = PRODUCTS[flavour]
        self.agent = AGENT[flavour]
        self.statuses: list[int] = []  # of all replies to queries, in their order
        self.routers = [name for name in self.capture if name.endswith((".A", ".B", ".C", ".E"))]
        self.silent: set[str] = set()

    def rows(self, router: str, entity: str) -> list[dict[str, Any]]:
        """Return a copy of an entity's rows, by attribute name."""
        body = self.capture[router][entity]["body"]
        return [dict(zip(body["attributeNames"], row, strict=True)) for row in copy.deepcopy(body["results"])]

    def replace(self, router: str, entity: str, rows: list[dict[str, Any]]) -> None:
        body = self.capture[router][entity]["body"]
        body["results"] = [[row[name] for name in body["attributeNames"]] for row in rows]

    def tell(self, router: str, entity: str, row: dict[str, Any]) -> None:
        """Put one row in the place of an entity's; with an empty row the type is unknown."""
        body = {"attributeNames": [*row], "results": [[*row.values()]]}
        self.capture[router][entity] = {"properties": {"statusCode": 200 if row else 400}, "body": body}

    def without(self, router: str, entity: str, name: str) -> None:
        """Remove an attribute, as in a version that does not know it."""
        rows = self.rows(router, entity)
        self.capture[router][entity]["body"]["attributeNames"].remove(name)
        self.replace(router, entity, rows)

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
        if properties["operation"] == "READ":
            return [self._read(request, router)]
        kind = properties["entityType"]
        entity = kind.removeprefix(self.prefix)
        answer = self._query(request, router, kind, entity)
        self.statuses.append(answer.properties["statusCode"])
        return [answer]

    def _read(self, request: Message, router: str) -> Message:
        kind, identity = request.properties["type"], request.properties["identity"]
        if not kind.startswith(self.prefix):
            return reply(request, {}, 400, f"No such entity type '{kind}'")
        rows = self.rows(router, kind.removeprefix(self.prefix))
        found = next((row for row in rows if row["identity"] == identity), None)
        return reply(request, {}, 404, "Not Found") if found is None else reply(request, found)

    def _query(self, request: Message, router: str, kind: str, entity: str) -> Message:
        properties = request.properties
        answer = self.capture[router].get(entity if kind.startswith(self.prefix) else "none")
        if answer is None and entity == "allocator" and kind.startswith(self.prefix):
            answer = self.capture[self.routers[0]]["allocator"]
        if answer is None or answer["properties"]["statusCode"] != 200:
            return reply(request, {}, 400, f"No such entity type '{kind}'")
        names = answer["body"]["attributeNames"]
        results = answer["body"]["results"]
        start = properties.get("offset", 0)
        results = results[start : start + properties.get("count", len(results))]
        asked = request.body["attributeNames"] or names
        unknown = [name for name in asked if name not in names]
        if unknown and entity in self.agent:
            return reply(request, {}, 404, f"Unknown attributes {unknown} for type {kind}.")
        # A router's core tells its first attribute in an unknown one's place.
        places = [names.index(name) if name in names else 0 for name in asked]
        told = [names[place] for place in places]
        body = {"attributeNames": told, "results": [[row[place] for place in places] for row in results]}
        return reply(request, body)


def play(
    replay: Replay,
    polling: Poll,
    change: Any = lambda _request, answer: [answer],
    at_once: int = 1000,
    now_ns: int = 1,
) -> None:
    """Answer all requests; `change` returns what to answer instead of a good reply."""
    while requests := polling.take(0, at_once):
        for tag, request in requests:
            message = Message()
            message.decode(management.encode(request, tag, "reply"))
            for answer in replay(message):
                for data in change(message, answer):
                    polling.reply(data if isinstance(data, bytes) else data.encode(), now_ns)


def look(replay: Replay, router: str, steady_ns: int = 0) -> RouterSnapshot:
    """Return the snapshot of one router of a replayed mesh."""
    polling = Poll(schema.DISPATCH, {}, itertools.count())
    play(replay, polling, now_ns=steady_ns)
    return take_snapshot(polling.asked[router], 1_800_000_000_000_000_000, steady_ns)
