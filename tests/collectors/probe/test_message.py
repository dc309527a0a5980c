"""The body's layout, and finding it in whatever a peer makes of the message."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proton import Message, symbol

from collectors.contract.records import flow_hash
from collectors.probe import message
from collectors.probe.message import Body, Found, Properties, Template

_U64 = st.integers(0, 2**64 - 1)
_TIME = st.integers(0, 2**62 - 1)
_BODIES = st.builds(Body, st.booleans(), _U64, _U64, _TIME, _TIME, _TIME, _U64, st.integers(-(2**62), 2**62))
_PLAIN = Properties(ttl_ns=60_000_000_000, durable=False, priority=4)

GOLDEN = bytes.fromhex(
    "496e666c01010000"  # magic, version, warm-up, reserved
    "0102030405060708"  # flow
    "1112131415161718"  # run
    "0000000000000007"  # sequence
    "000000e8d4a51001"  # intended
    "000000e8d4a51002"  # sent
    "2122232425262728"  # boot
    "16345785d8a00000"  # epoch
    "00000000"  # padding
)


@given(_BODIES, st.integers(64, 300))
def test_round_trip(body: Body, size: int) -> None:
    """A body is read as it was written, at any size and any offset."""
    data = message.encode_body(body, size)
    assert len(data) == size
    assert message.decode_body(b"xyz" + data, 3) == body


def test_golden_bytes() -> None:
    """The layout is a contract with probes of other versions."""
    body = Body(
        True, 0x0102030405060708, 0x1112131415161718, 7, 1_000_000_000_001, 1_000_000_000_002,
        0x2122232425262728, 1_600_000_000_000_000_000,
    )  # fmt: skip
    assert message.encode_body(body, 68) == GOLDEN


def test_another_version_is_not_ours() -> None:
    """A body of version n + 1 is left alone, not misread."""
    newer = bytearray(GOLDEN)
    newer[4] = 2
    assert message.decode_body(bytes(newer)) is None
    assert message.decode_body(GOLDEN[:63]) is None
    assert message.decode_body(b"X" + GOLDEN[1:]) is None


@given(_BODIES, st.sampled_from([64, 100, 255, 256, 10_000]), _TIME, _TIME, _TIME)
def test_template_is_the_message(body: Body, size: int, seq: int, intended: int, sent: int) -> None:
    """A patched template decodes to the same message as one encoded afresh."""
    template = Template(body, size, _PLAIN)
    template.patch(seq, intended, sent)
    decoded = Message()
    decoded.decode(bytes(template.buffer))
    expected = body._replace(sequence=seq, intended_ns=intended, sent_ns=sent)
    assert message.decode_body(bytes(decoded.body)) == expected
    assert len(decoded.body) == size
    assert (decoded.ttl, decoded.durable, decoded.priority) == (60.0, False, 4)


@given(
    body=_BODIES,
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
    assert message.find_body(data) == Found(len(data) - size, size, again)
    assert message.trace_of(data) == "A>B"


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
    sent = Message(body=GOLDEN[:64], inferred=True, reply_to="answers", delivery_count=int(again))
    data = front + sent.encode()
    assert message.trace_of(data) == route
    assert message.find_body(data) == Found(len(data) - 64, 64, again)
    assert message.reply_address(data) == "answers"


@pytest.mark.parametrize(
    "told", [{}, {symbol("x-opt-qd.trace"): 7}, {symbol("x-opt-qd.trace"): []}, {symbol("x-opt-qd.to"): "B"}]
)
def test_no_route_is_no_route(told: dict[Any, Any]) -> None:
    """Annotations of others, and a trace that is none."""
    assert message.trace_of(Message(body=b"x", annotations=told or None).encode()) is None
    assert message.trace_of(b"\x00\x80SKPR--RA\x45" + GOLDEN) is None


def test_wide_descriptors() -> None:
    """A section's code may be written as a long number."""
    data = bytes.fromhex("00800000000000000075") + b"\xa0\x40" + GOLDEN[:64]
    assert message.find_body(data) == Found(12, 64, False)


def test_other_bodies_are_not_found() -> None:
    """Values, sequences and two data sections are not ours."""
    assert message.find_body(Message(body="text").encode()) is None
    assert message.find_body(Message(body=b"x" * 80, inferred=False).encode()) is None
    one = Message(body=GOLDEN[:64], inferred=True).encode()
    assert message.find_body(one + one) is None
    assert message.find_body(b"") is None


@given(st.binary(max_size=200))
def test_nonsense_is_refused(data: bytes) -> None:
    """No bytes whatever make the receiver fail."""
    message.find_body(data)
    message.trace_of(data)
    message.trace_of(SKUPPER_A_TO_C[:11] + data)
    message.decode_body(data)
    message.trace_of(data)
    message.reply_address(data)


@given(st.integers(0, 200), st.binary(max_size=4))
def test_damaged_messages(at: int, junk: bytes) -> None:
    """A message with some bytes changed is found right, or not at all: never outside of itself."""
    data = bytearray(Message(body=GOLDEN[:64], inferred=True, reply_to="r", subject="s").encode())
    at %= len(data)
    data[at : at + len(junk)] = junk
    found = message.find_body(bytes(data))
    assert found is None or found.offset + found.size <= len(data)


def test_flow_prefix_begins_the_body() -> None:
    """What receivers compare is what senders write."""
    flow = flow_hash("mesh", "inflight/x")
    body = Body(True, flow, 1, 2, 3, 4, 5, 6)
    assert message.encode_body(body).startswith(message.flow_prefix(flow, warmup=True))
    assert not message.encode_body(body).startswith(message.flow_prefix(flow, warmup=False))


@given(st.integers(64, 5_000), st.integers(0, 5_000))
def test_sizes_span_the_range(low: int, width: int) -> None:
    """A range is sent in a few sizes, from its first to its last."""
    found = message.sizes(low, low + width)
    assert found[0] == low
    assert found[-1] == low + width
    assert len(found) <= 16
    assert list(found) == sorted(set(found))


def test_reply_address() -> None:
    """Where a sender listens for questions is read from its messages."""
    asked = Properties(ttl_ns=10**9, durable=False, priority=4, reply_to="amqp:/temp")
    template = Template(Body(False, 1, 2, 3, 4, 5, 6, 7), 64, asked)
    assert message.reply_address(bytes(template.buffer)) == "amqp:/temp"
    assert message.reply_address(bytes(Template(Body(False, 1, 2, 3, 4, 5, 6, 7), 64, _PLAIN).buffer)) is None
