"""An AMQP message around a probe's body: encoded by proton, read by its sections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from proton import Message

from collectors.amqp import sections, values
from collectors.amqp.sections import Section
from collectors.contract.untrusted_text import shown
from collectors.probe.message import Properties
from collectors.probe.transport import Envelope

_BIN8, _BIN32 = 0xA0, 0xB0
_DELIVERY_COUNT, _REPLY_TO = 4, 4  # their places in the header and in the properties
_MAX_ROUTE_CHARACTERS: Final = 512
# Where routers write a message's route: Dispatch among its annotations, Skupper in front of it in a section
# of its own with flags, to, ingress, trace (Skupper's docs/notes/router-annotations.adoc).
_ROUTES: Final[dict[int, str | int]] = {
    sections.MESSAGE_ANNOTATIONS: "x-opt-qd.trace",
    0x534B5052_2D2D5241: 3,
}


def encode(body: bytes, properties: Properties) -> bytearray:
    """Returns a message with one data section, which is its end."""
    message = Message(
        body=body,
        inferred=True,  # a data section
        durable=properties.durable,
        ttl=properties.ttl_ns / 1e9,
        priority=properties.priority,
        reply_to=properties.reply_to,
        address=properties.to,
    )
    return bytearray(message.encode())


def read_envelope(data: bytes) -> Envelope | None:
    """Returns where the one data section is, and what the other sections say; None where it is not one."""
    try:
        found = list(sections.walk(data))
    except values.BadEncoding:
        return None
    body_at = body_bytes = 0
    redelivered = False
    for descriptor, _, value_at, end in found:
        if end > len(data):
            return None
        if descriptor == sections.HEADER:
            redelivered = _delivered_before(data, value_at)
        elif descriptor == sections.DATA:
            code = data[value_at]
            if body_at or code not in {_BIN8, _BIN32}:
                return None
            body_at = value_at + (2 if code == _BIN8 else 5)
            body_bytes = end - body_at
    return Envelope(body_at, body_bytes, redelivered, _route(data, found)) if body_at else None


def _delivered_before(data: bytes, header_at: int) -> bool:
    try:
        return bool(sections.read_item(data, header_at, _DELIVERY_COUNT))
    except values.BadEncoding:
        return False


def _route(data: bytes, found: Iterable[Section]) -> str | None:
    """Returns the routers that the message came through, as far as they wrote themselves into it: `A>B`."""
    places = {descriptor: value_at for descriptor, _, value_at, _ in found}
    for descriptor, place in _ROUTES.items():
        if descriptor not in places:
            continue
        try:
            trace = values.read(data, places[descriptor])[0][place]
        except (values.BadEncoding, LookupError, TypeError):
            continue  # no route, or not in the form in which routers write it
        if isinstance(trace, list) and trace:
            names = [str(router).partition("/")[2] or str(router) for router in trace]
            return shown(">".join(names)[:_MAX_ROUTE_CHARACTERS])
    return None


def reply_address(data: bytes) -> str | None:
    """Returns the address that a message asks answers to be sent to."""
    try:
        for descriptor, _, value_at, _ in sections.walk(data):
            if descriptor == sections.PROPERTIES:
                address = sections.read_item(data, value_at, _REPLY_TO)
                return address if isinstance(address, str) and address else None
    except values.BadEncoding:
        pass  # such a message asks for no answer
    return None
