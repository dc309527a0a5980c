"""A probe's body in an AMQP message, found in whatever a peer makes of that."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from probe_bodies import BODIES, GOLDEN, TIMES
from proton import Message, symbol

from collectors.probe import message
from collectors.probe.engine import envelope
from collectors.probe.message import Body, Properties, Template
from collectors.probe.transport import Envelope

_PLAIN = Properties(ttl_ns=60_000_000_000, durable=False, priority=4)
_BODY = GOLDEN[:64]


def _template(body: Body, size: int, properties: Properties) -> Template:
    return Template(envelope.encode(message.encode_body(body, size), properties), size)


@given(BODIES, st.sampled_from([64, 100, 255, 256, 10_000]), TIMES, TIMES, TIMES)
def test_template_is_the_message(body: Body, size: int, seq: int, intended: int, sent: int) -> None:
    """A patched template decodes to the same message as one encoded afresh."""
    template = _template(body, size, _PLAIN)
    template.patch(seq, intended, sent)
    decoded = Message()
    decoded.decode(bytes(template.message))
    expected = body._replace(sequence=seq, intended_ns=intended, sent_ns=sent)
    assert message.decode_body(bytes(decoded.body)) == expected
    assert len(decoded.body) == size
    assert (decoded.ttl, decoded.durable, decoded.priority) == (60.0, False, 4)


@given(
    body=BODIES,
    size=st.sampled_from([64, 255, 256, 5_000]),
    extra=st.dictionaries(st.text("ab", min_size=1, max_size=3), st.text(max_size=300), max_size=3),
    again=st.booleans(),
)
def test_body_is_found(body: Body, size: int, extra: dict[str, str], *, again: bool) -> None:
    """Whatever sections stand before it, the body is found, and whether it was delivered before."""
    sent = Message(
        body=message.encode_body(body, size),
        inferred=True,
        properties=extra or None,
        annotations={symbol("x-opt-qd.trace"): ["0/A", "0/B"]},
        subject="s",
    )
    if again:
        sent.delivery_count = 3
    data = sent.encode()
    assert envelope.read_envelope(data) == Envelope(len(data) - size, size, again, "A>B")


# What skrouterd 3.5.1 put in front of messages: from A through B to C, and to a receiver at an edge router.
SKUPPER_A_TO_C = (
    b"\x00\x80SKPR--RA\xd0\x00\x00\x00/\x00\x00\x00\x04C\xa1\x0bclosest/x02\xa1\x030/A"
    b"\xd0\x00\x00\x00\x13\x00\x00\x00\x03\xa1\x030/A\xa1\x030/B\xa1\x030/C"
)
SKUPPER_EDGE = b"\x00\x80SKPR--RA\xd0\x00\x00\x00\x14\x00\x00\x00\x04C\xa1\x0bclosest/x03@E"


@pytest.mark.parametrize(("front", "route"), [(SKUPPER_A_TO_C, "A>B>C"), (SKUPPER_EDGE, None)])
@pytest.mark.parametrize("again", [False, True])
def test_the_route_as_skupper_writes_it(front: bytes, route: str | None, *, again: bool) -> None:
    """In a section that AMQP does not know; all else of the message is found behind it."""
    sent = Message(body=_BODY, inferred=True, reply_to="answers", delivery_count=int(again))
    data = front + sent.encode()
    assert envelope.read_envelope(data) == Envelope(len(data) - 64, 64, again, route)
    assert envelope.reply_address(data) == "answers"


@pytest.mark.parametrize(
    "annotations",
    [{}, {symbol("x-opt-qd.trace"): 7}, {symbol("x-opt-qd.trace"): []}, {symbol("x-opt-qd.to"): "B"}],
)
def test_no_route_is_no_route(annotations: dict[Any, Any]) -> None:
    """Annotations of others, and a trace that is none."""
    data = Message(body=_BODY, inferred=True, annotations=annotations or None).encode()
    assert envelope.read_envelope(data) == Envelope(len(data) - 64, 64, False, None)
    data = b"\x00\x80SKPR--RA\x45" + Message(body=_BODY, inferred=True).encode()
    assert envelope.read_envelope(data) == Envelope(len(data) - 64, 64, False, None)


def test_a_route_beside_the_annotations_of_others() -> None:
    """Skupper's route is told, whatever the sender wrote into the annotations."""
    sent = Message(body=_BODY, inferred=True, annotations={symbol("x-opt-qd.to"): "B"})
    found = envelope.read_envelope(SKUPPER_A_TO_C + sent.encode())
    assert found is not None
    assert found.route == "A>B>C"


def test_wide_descriptors() -> None:
    """A section's code may be written as a long number."""
    data = bytes.fromhex("00800000000000000075") + b"\xa0\x40" + _BODY
    assert envelope.read_envelope(data) == Envelope(12, 64, False, None)


def test_other_bodies_are_not_found() -> None:
    """Values, sequences and two data sections are not ours."""
    assert envelope.read_envelope(Message(body="text").encode()) is None
    assert envelope.read_envelope(Message(body=b"x" * 80, inferred=False).encode()) is None
    one = Message(body=_BODY, inferred=True).encode()
    assert envelope.read_envelope(one + one) is None
    assert envelope.read_envelope(b"") is None


@given(st.binary(max_size=200))
def test_nonsense_is_refused(data: bytes) -> None:
    """No bytes whatever make the receiver fail, wherever in a message they are."""
    body = b"\x00\x53\x75\xa0\x40" + _BODY
    for front in (b"", SKUPPER_A_TO_C[:11], b"\x00\x53\x70", b"\x00\x53\x72", b"\x00\x53\x73"):
        for end in (b"", body):
            envelope.read_envelope(front + data + end)
            envelope.reply_address(front + data + end)


@given(st.sampled_from([0x70, 0x72, 0x73, 0x534B5052_2D2D5241]), st.binary(max_size=255))
def test_a_section_of_nonsense(descriptor: int, contents: bytes) -> None:
    """A section whose length is right and whose contents are not: the body is found all the same."""
    section = b"\x00\x80" + descriptor.to_bytes(8, "big") + b"\xc0" + bytes([len(contents)]) + contents
    data = section + b"\x00\x53\x75\xa0\x40" + _BODY
    found = envelope.read_envelope(data)
    assert found is not None
    assert (found.body_at, found.body_bytes) == (len(data) - 64, 64)
    envelope.reply_address(data)


@given(st.integers(0, 200), st.binary(max_size=4))
def test_damaged_messages(at: int, junk: bytes) -> None:
    """A message with some bytes changed is found right, or not at all: never outside of itself."""
    data = bytearray(Message(body=_BODY, inferred=True, reply_to="r", subject="s").encode())
    at %= len(data)
    data[at : at + len(junk)] = junk
    found = envelope.read_envelope(bytes(data))
    assert found is None or found.body_at + found.body_bytes <= len(data)


def test_reply_address() -> None:
    """Where a sender listens for questions is read from its messages."""
    asks = Properties(ttl_ns=10**9, durable=False, priority=4, reply_to="amqp:/temp")
    assert envelope.reply_address(bytes(envelope.encode(_BODY, asks))) == "amqp:/temp"
    assert envelope.reply_address(bytes(envelope.encode(_BODY, _PLAIN))) is None
