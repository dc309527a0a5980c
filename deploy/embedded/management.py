"""The few questions that tell when a router is ready, and when the routers know each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from proton import Message
from proton.utils import BlockingConnection, SyncRequestResponse

_TIMEOUT_SECONDS = 2
_OK = 200


def nodes(url: str) -> list[str]:
    """The management addresses of all routers that the one at `url` knows, itself included."""
    answer = _ask(url, {"operation": "GET-MGMT-NODES", "type": "org.amqp.management", "name": "self"}, None)
    return [str(address) for address in answer]


def column(url: str, entity_type: str, attribute: str) -> list[Any]:
    """One attribute of every entity of a type."""
    properties = {
        "operation": "QUERY",
        "entityType": entity_type,
        "type": "org.amqp.management",
        "name": "self",
    }
    answer = _ask(url, properties, {"attributeNames": [attribute]})
    position = answer["attributeNames"].index(attribute)
    return [row[position] for row in answer["results"]]


def _ask(url: str, properties: dict[str, Any], body: Any) -> Any:
    with _connected(url) as connection:
        asking = SyncRequestResponse(connection, "$management")
        reply = asking.call(Message(properties=properties, body=body))
    if reply.properties["statusCode"] != _OK:
        raise ConnectionError(f"{url} answered {reply.properties}")
    return reply.body


@contextmanager
def _connected(url: str) -> Iterator[BlockingConnection]:
    connection = BlockingConnection(url, timeout=_TIMEOUT_SECONDS, allowed_mechs="ANONYMOUS")
    try:
        yield connection
    finally:
        connection.close()
