"""The walk over a message's sections, against what proton writes, and against damaged bytes."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proton import Message, symbol

from collectors.amqp import sections, values
from collectors.amqp.values import BadEncoding

_TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=300)
_FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "durable": st.just(True),
        "instructions": st.dictionaries(st.just(symbol("i")), _TEXTS, min_size=1),
        "annotations": st.dictionaries(st.just(symbol("a")), st.lists(_TEXTS, max_size=3), min_size=1),
        "subject": _TEXTS.filter(bool),
        "properties": st.dictionaries(st.just("p"), _TEXTS, min_size=1),
    },
)
_DESCRIPTORS = {
    "durable": sections.HEADER,
    "instructions": sections.DELIVERY_ANNOTATIONS,
    "annotations": sections.MESSAGE_ANNOTATIONS,
    "subject": sections.PROPERTIES,
    "properties": sections.APPLICATION_PROPERTIES,
}


@given(_FIELDS, st.binary(max_size=300))
def test_the_sections_that_proton_writes(fields: dict[str, Any], body: bytes) -> None:
    """Each that has something to say is there, they follow one another, and their values can be read."""
    data = Message(body=body, inferred=True, **fields).encode()
    found = list(sections.walk(data))
    wanted = {_DESCRIPTORS[name] for name in fields} | {sections.DATA}
    assert wanted <= {descriptor for descriptor, *_ in found}
    assert [begin for _, begin, _, _ in found] == [0, *(end for *_, end in found[:-1])]
    assert found[-1][3] == len(data)
    for _, begin, value_at, end in found:
        assert data[begin] == 0
        assert values.read(data, value_at)[1] == end
    assert values.read(data, found[-1][2])[0] == body


@given(_FIELDS, st.binary(max_size=300), st.data())
def test_a_cut_message(fields: dict[str, Any], body: bytes, draw: st.DataObject) -> None:
    """What is whole is found as before; the cut section ends behind the data, or is not one."""
    data = Message(body=body, inferred=True, **fields).encode()
    whole = list(sections.walk(data))
    cut = draw.draw(st.integers(0, len(data) - 1))
    found = []
    with contextlib.suppress(BadEncoding):
        for section in sections.walk(data[:cut]):
            found.append(section)  # noqa: PERF402 -- those before the error, too
    inside = [section for section in found if section[3] <= cut]
    assert inside == [section for section in whole if section[3] <= cut]
    assert len(found) <= len(inside) + 1


@given(st.binary(max_size=300))
def test_any_bytes_are_walked_or_refused(data: bytes) -> None:
    """Nothing but BadEncoding is raised, and each section is behind the one before."""
    at = 0
    try:
        for _, begin, value_at, end in sections.walk(data):
            assert begin == at < value_at < end
            at = end
    except BadEncoding:
        pass


@pytest.mark.parametrize(
    "data",
    [
        b"\x00",
        b"\x00\x53",
        b"\x00\x53\x75",
        b"\x00\x53\x75\xb0",
        b"\x40",
        b"\x00\xa3\x01x\x40",  # a descriptor that is a symbol
        b"\x00\x53\x75\x10",  # no such type
        b"\x00\x80\x00\x00",
    ],
)
def test_what_is_no_section(data: bytes) -> None:
    """It is refused, or its end is told to be behind the data."""
    with contextlib.suppress(BadEncoding):
        assert all(end > len(data) for *_, end in sections.walk(data))


def test_values_described_again_and_again() -> None:
    """Neither a long chain of descriptors nor one that never ends takes the process down."""
    described = b"\x00\x53\x01" * 60_000 + b"\x40"
    assert list(sections.walk(b"\x00\x53\x77" + described)) == [(sections.VALUE, 0, 3, 3 + len(described))]
    with pytest.raises(BadEncoding):
        list(sections.walk(b"\x00\x53\x77" + b"\x00" * 200_000))


@pytest.mark.parametrize("code", [0x10, 0x46, 0x9F, 0xA2, 0xC2, 0xE1, 0xFF])
def test_a_type_that_amqp_has_not(code: int) -> None:
    """It is refused, and its bytes are not taken for a length."""
    with pytest.raises(BadEncoding):
        list(sections.walk(b"\x00\x53\x77" + bytes([code]) + bytes(40)))


def test_huge_sizes_are_told_and_not_believed() -> None:
    """A section of 4 GiB that is not there has an end, and nothing is read or made of that size."""
    data = b"\x00\x53\x75\xb0\xff\xff\xff\xff" + b"x"
    assert list(sections.walk(data)) == [(sections.DATA, 0, 3, 8 + 0xFFFFFFFF)]


def test_an_item_of_a_list() -> None:
    """A list that is shorter has no such item; another value is no list."""
    data = Message(subject="s", reply_to="r").encode()
    at = next(
        value_at for descriptor, _, value_at, _ in sections.walk(data) if descriptor == sections.PROPERTIES
    )
    assert sections.read_item(data, at, 4) == "r"
    assert sections.read_item(data, at, 40) is None
    with pytest.raises(BadEncoding):
        sections.read_item(b"\x53\x07", 0, 0)
