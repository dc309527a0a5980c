"""Management requests that tell whether a router is ready, and which others it knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from proton import Message
from proton.utils import BlockingConnection, SyncRequestResponse

_TIMEOUT_SECONDS = 2
_OK = 200
OWN = "$management"


def nodes(url: str, address: str = OWN) -> list[str]:
    """Return the management addresses of all routers that a router knows, itself included.

    It is the router at `url`, or the one of `address`, asked through that.
    """
    properties = {"operation": "GET-MGMT-NODES", "type": "org.amqp.management", "name": "self"}
    return [str(known) for known in _ask(url, address, properties, None)]


def column(url: str, entity_type: str, attribute: str) -> list[Any]:
    """Return one attribute of every entity of a type."""
    properties = {
        "operation": "QUERY",
        "entityType": entity_type,
        "type": "org.amqp.management",
        "name": "self",
    }
    answer = _ask(url, OWN, properties, {"attributeNames": [attribute]})
    position = answer["attributeNames"].index(attribute)
    return [row[position] for row in answer["results"]]


def _ask(url: str, address: str, properties: dict[str, Any], body: Any) -> Any:
    with _connected(url) as connection:
        asking = SyncRequestResponse(connection, address)
        reply = asking.call(Message(properties=properties, body=body))
    if reply.properties["statusCode"] != _OK:
        raise ConnectionError(f"{address} at {url} answered {reply.properties}")
    return reply.body


@contextmanager
def _connected(url: str) -> Iterator[BlockingConnection]:
    connection = BlockingConnection(url, timeout=_TIMEOUT_SECONDS, allowed_mechs="ANONYMOUS")
    try:
        yield connection
    finally:
        connection.close()
