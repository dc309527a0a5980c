"""The layout of a message's body."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from probe_bodies import BODIES, GOLDEN

from collectors.contract.records import flow_hash
from collectors.probe import message
from collectors.probe.message import Body


@given(BODIES, st.integers(64, 300))
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


@given(st.binary(max_size=200))
def test_nonsense_is_not_a_body(data: bytes) -> None:
    """No bytes whatever make the receiver fail."""
    message.decode_body(data)


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
