"""Management requests and replies as AMQP messages (the AMQP management draft, as routers speak it)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from proton import Message, ProtonException

from collectors.router import schema
from collectors.router.rows import BadReply, check_status
from collectors.router.schema import Entity, Flavour

_TTL_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Query:
    """One page of an entity's rows, from one router."""

    to: str
    flavour: Flavour
    entity: Entity
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Nodes:
    """The list of the mesh's interior routers."""

    to: str


Request = Query | Nodes


def encode(request: Request, tag: str, reply_to: str) -> bytes:
    """The message, whose correlation id is the tag."""
    properties: dict[str, Any]
    body: Any = None
    if isinstance(request, Query):
        properties = {
            "operation": "QUERY",
            "type": "org.amqp.management",
            "name": "self",
            "entityType": request.flavour.prefix + request.entity.type,
        }
        if request.entity.paged:
            properties |= {"count": schema.PAGE, "offset": request.offset}
        named = [] if request.entity.ask_all else [column.wire for column in request.entity.columns]
        body = {"attributeNames": named}
    else:
        properties = {"operation": "GET-MGMT-NODES", "type": "org.amqp.management", "name": "self"}
    message = Message(
        address=request.to, reply_to=reply_to, correlation_id=tag, properties=properties, body=body
    )
    message.ttl = _TTL_SECONDS
    return bytes(message.encode())


@dataclass(frozen=True, slots=True)
class Reply:
    """A decoded reply; `tag` says which request it answers."""

    tag: str
    properties: Any
    body: Any

    def checked_body(self) -> Any:
        """The body; raises Refused or BadReply unless the status is 200."""
        check_status(self.properties)
        return self.body


def decode(data: bytes) -> Reply:
    """Read a reply; BadReply where it is no whole message with a correlation id."""
    message = Message()
    try:
        message.decode(data)
        body = message.body
        tag = message.correlation_id
    except (ProtonException, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise BadReply("cut", f"the reply is not a whole AMQP message: {error}") from None
    if not isinstance(tag, str):
        raise BadReply("no_correlation", "the reply has no correlation id of ours")
    return Reply(tag, message.properties, body)


def node_ids(body: Any) -> list[str]:
    """Router ids of a GET-MGMT-NODES reply (`amqp:/_topo/0/<id>/$management`)."""
    if not isinstance(body, list):
        raise BadReply("shape", "the reply to GET-MGMT-NODES is no list")
    found = []
    for address in body:
        parts = address.split("/") if isinstance(address, str) else []
        if len(parts) == 5 and parts[1] == "_topo" and parts[3]:  # noqa: PLR2004 -- the form above
            found.append(parts[3])
    return found
