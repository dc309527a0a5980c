"""Management requests and replies as AMQP messages, in the form of the draft that routers speak."""

from __future__ import annotations

import functools
import struct
from dataclasses import dataclass
from typing import Any, Final

from proton import Message

from collectors.amqp import sections, values
from collectors.router import schema
from collectors.router.replies import BadReply, check_status
from collectors.router.schema import Entity, Flavour

_TTL_MS: Final = 30_000
_CORRELATION_ID: Final = 5  # its place in the properties
# Durable and priority left out, the time to live as an unsigned number.
_HEADER: Final = b"\x00\x53\x70\xc0\x08\x03\x40\x40\x70" + struct.pack(">I", _TTL_MS)


@dataclass(frozen=True, slots=True)
class Query:
    """One page of an entity's rows, from one router."""

    to: str
    flavour: Flavour
    entity: Entity
    offset: int = 0
    named: bool = True  # asks for the attributes by name; otherwise for all that the entity has


@dataclass(frozen=True, slots=True)
class Nodes:
    """Asks for the list of the mesh's interior routers."""

    to: str


@dataclass(frozen=True, slots=True)
class Read:
    """One row of an entity, by its identity, from one router."""

    to: str
    flavour: Flavour
    entity: Entity
    identity: str


Request = Query | Nodes | Read


def encode(request: Request, tag: str, reply_to: str) -> bytes:
    """Returns the message; its correlation id is the tag."""
    if isinstance(request, Query):
        rest = _question(request.flavour, request.entity, request.offset, named=request.named)
    elif isinstance(request, Read):
        rest = _read(request.flavour.prefix + request.entity.type, request.identity)
    else:
        rest = _question(None, None, 0, named=False)
    return _HEADER + _properties(request.to, reply_to, tag) + rest


def _properties(to: str, reply_to: str, tag: str) -> bytes:
    """Encodes message id, user, to, subject, reply-to, correlation id: all that differs between routers."""
    parts = (b"\x40\x40", _text(to), b"\x40", _text(reply_to), _text(tag))
    items = b"".join(parts)
    return b"\x00\x53\x73\xd0" + struct.pack(">II", len(items) + 4, 6) + items


def _text(text: str) -> bytes:
    data = text.encode()
    return b"\xb1" + struct.pack(">I", len(data)) + data


@functools.lru_cache(maxsize=1024)
def _question(flavour: Flavour | None, entity: Entity | None, offset: int, *, named: bool) -> bytes:
    """Encodes application properties and body, which are the same for all routers."""
    properties: dict[str, Any] = {"type": "org.amqp.management", "name": "self"}
    message = Message(properties=properties)
    if flavour and entity:
        properties |= {"operation": "QUERY", "entityType": flavour.prefix + entity.type}
        if entity.paged:
            properties |= {"count": schema.PAGE, "offset": offset}
        message.body = {
            "attributeNames": [column.remote_name for column in entity.attributes] if named else []
        }
    else:
        properties["operation"] = "GET-MGMT-NODES"
    return _without_head(message)


@functools.lru_cache(maxsize=64)
def _read(entity_type: str, identity: str) -> bytes:
    return _without_head(Message(properties={"operation": "READ", "type": entity_type, "identity": identity}))


def _without_head(message: Message) -> bytes:
    data = bytes(message.encode())
    return data[next(s[1] for s in sections.walk(data) if s[0] == sections.APPLICATION_PROPERTIES) :]


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply whose body is not decoded yet; `tag` is that of the request it answers."""

    tag: str
    properties: Any
    data: bytes
    body_at: int | None

    def checked_body(self) -> Any:
        """Returns the body. Raises Refused or BadReply unless the status is 200 and the body is whole."""
        check_status(self.properties)
        if self.body_at is None:
            return None
        try:
            return values.read(self.data, self.body_at)[0]
        except values.BadEncoding as error:
            raise BadReply("cut", f"the reply's body is not whole: {error}") from None


def decode(data: bytes) -> Reply:
    """Decodes a reply. Raises BadReply where it is not a whole message with a correlation id."""
    try:
        found = {descriptor: value_at for descriptor, _, value_at, _ in sections.walk(data)}
        names = _section(data, found, sections.PROPERTIES, [])
        properties = _section(data, found, sections.APPLICATION_PROPERTIES, {})
    except values.BadEncoding as error:
        raise BadReply("cut", f"the reply is not a whole AMQP message: {error}") from None
    tag = names[_CORRELATION_ID] if isinstance(names, list) and len(names) > _CORRELATION_ID else None
    if not isinstance(tag, str):
        raise BadReply("no_correlation", "the reply has no correlation id of ours")
    return Reply(tag, properties, data, found.get(sections.VALUE))


def _section(data: bytes, found: dict[int, int], descriptor: int, otherwise: Any) -> Any:
    return values.read(data, found[descriptor])[0] if descriptor in found else otherwise


def node_ids(body: Any) -> list[str]:
    """Returns the router ids in a GET-MGMT-NODES reply, from `amqp:/_topo/0/<id>/$management`."""
    if not isinstance(body, list):
        raise BadReply("shape", "the reply to GET-MGMT-NODES is no list")
    found = []
    for address in body:
        parts = address.split("/") if isinstance(address, str) else []
        if len(parts) == 5 and parts[1] == "_topo" and parts[3]:  # noqa: PLR2004 -- the form above
            found.append(parts[3])
    return found
