from __future__ import annotations

from typing import Any

import proton
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.standin.engine import sections

# The client library hands strings to C, where they end at a zero.
_texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=300)
_addresses = st.none() | _texts
_annotations = st.dictionaries(
    st.text("abcdefgh-.", min_size=1, max_size=12).map(proton.symbol),
    st.integers(-(2**60), 2**60) | _texts | st.binary(max_size=300) | st.lists(st.integers(0, 9), max_size=4),
    max_size=5,
)


def _encoded(**fields: Any) -> bytes:
    return bytes(proton.Message(**fields).encode())


def _decoded(data: bytes) -> proton.Message:
    message = proton.Message()
    message.decode(data)
    return message


@given(
    to=_addresses,
    message_id=st.none() | st.integers(0, 9) | _texts,
    body=st.binary(max_size=300),
    durable=st.booleans(),
)
def test_to_is_read_from_any_message(
    to: str | None, message_id: int | str | None, body: bytes, *, durable: bool
) -> None:
    """Whatever stands before it, `to` is what the sender wrote."""
    fields = {"address": to, "id": message_id, "user_id": b"u" * 20, "durable": durable}
    assert sections.to_of(_encoded(body=body, **fields)) == to


def test_message_without_properties_has_no_to() -> None:
    """A body alone is a message, too."""
    assert sections.to_of(b"\x00\x53\x75\xa0\x02hi") is None


@given(annotations=_annotations, to=_addresses, body=st.binary(max_size=300), durable=st.booleans())
def test_route_is_added_and_nothing_else_changes(
    annotations: dict[Any, Any], to: str | None, body: bytes, *, durable: bool
) -> None:
    """Other annotations, header, properties and body are what they were."""
    fields = {"address": to, "durable": durable, "ttl": 60, "subject": "s", "correlation_id": 5}
    data = _encoded(body=body, annotations=annotations, **fields)
    message = _decoded(
        sections.annotated(
            data,
            sections.route_pairs(
                "A",
                (
                    "A",
                    "B",
                ),
            ),
        )
    )
    assert message.annotations == {**annotations, "x-opt-qd.ingress": "0/A", "x-opt-qd.trace": ["0/A", "0/B"]}
    assert bytes(message.body) == body
    assert {name: getattr(message, name) for name in fields} == fields


def test_route_as_skupper_writes_it() -> None:
    """As skrouterd 3.5.1 wrote it, but for the widths of texts and lists, and `to`, which may be left out."""
    written = sections.route_section("A", ("A", "B", "C"))
    assert written.startswith(b"\x00\x80SKPR--RA\xd0")
    data = proton.Data()
    data.decode(written)
    told = data.get_py_described()
    assert told.descriptor == 0x534B50522D2D5241
    assert told.value == [0, None, "0/A", ["0/A", "0/B", "0/C"]]
    assert sections.route_section("A", ()).endswith(b"\xd0\x00\x00\x00\x04\x00\x00\x00\x00")


def test_route_of_an_earlier_journey_is_replaced() -> None:
    """A message that comes back out of a broker tells its last way only."""
    data = _encoded(body=b"x", annotations={proton.symbol("own"): 1})
    once = sections.annotated(data, sections.route_pairs("A", ("A",)))
    twice = sections.annotated(
        once,
        sections.route_pairs(
            "C",
            (
                "C",
                "B",
            ),
        ),
    )
    expected = {"own": 1, "x-opt-qd.ingress": "0/C", "x-opt-qd.trace": ["0/C", "0/B"]}
    assert _decoded(twice).annotations == expected


@pytest.mark.parametrize(
    "data", [b"\x00", b"\x00\x53\x73", b"\x00\x53\x73\xc0\xff\x01", b"no message", b"\x00\x53\x73\x55"]
)
def test_garbage_is_told_as_such(data: bytes) -> None:
    """Bytes that are no message raise one known error, whatever they are."""
    with pytest.raises(sections.MalformedError):
        sections.to_of(data)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    """Random bytes are read, or refused; they do not break the router."""
    try:
        sections.to_of(data)
        sections.annotated(data, sections.route_pairs("A", ("A",)))
    except sections.MalformedError:
        pass
