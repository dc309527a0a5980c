"""Records on `inflight.events`."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract.events import KINDS, Event, decode, encode

NS = st.integers(0, (1 << 62) - 1)


@given(
    at_ns=NS,
    lasts=st.none() | st.integers(0, 1 << 40),
    kind=st.sampled_from(KINDS),
    paths=st.lists(st.text(max_size=20), max_size=5),
    text=st.text(max_size=100),
    action=st.sampled_from([(), ("kill", "B"), ("delay", "A--B")]),
)
def test_what_is_written_is_read(
    at_ns: int, lasts: int | None, kind: str, paths: list[str], text: str, action: tuple[str, ...]
) -> None:
    """Any event comes back as it was."""
    until_ns = None if lasts is None else min(at_ns + lasts, (1 << 62) - 1)
    event = Event(at_ns, until_ns, kind, tuple(paths), text, *action)  # type: ignore[arg-type] # one of KINDS
    assert decode(encode(event)) == event


def test_the_format_is_stable() -> None:
    """These bytes are in topics that live for 90 days."""
    event = Event(5, 9, "maintenance", ("east-*",), "new cable")
    wire = b'{"at_ns":5,"kind":"maintenance","paths":["east-*"],"text":"new cable","until_ns":9,"v":1}'
    assert encode(event) == wire
    action = b'{"at_ns":5,"do":"kill","kind":"fault","paths":[],"text":"","until_ns":null,"v":1,"what":"B"}'
    assert encode(Event(5, None, "fault", (), "", "kill", "B")) == action


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"v": 2}, "has version 2; this reader knows version 1"),
        ({"kind": "party"}, "kind is not one of maintenance, fault, deploy"),
        ({"at_ns": -1}, "at_ns is not a whole number"),
        ({"at_ns": True}, "at_ns is not a whole number"),
        ({"until_ns": "soon"}, "until_ns is not a whole number"),
        ({"until_ns": 4}, "ends before it begins"),
        ({"paths": "east-*"}, "paths is not a list"),
        ({"paths": [1]}, "paths is not a text"),
        ({"paths": ["x"] * 1_001}, "paths is not of 1000 items at most"),
        ({"paths": ["x" * 1_025]}, "paths is not a text"),
        ({"do": "x" * 65}, "do is not a text"),
        ({"what": 1}, "what is not a text"),
        ({"more": 1}, "not known: more"),
        ({"text": "x" * 2_000}, "not a text of at most"),
    ],
)
def test_what_is_no_event_is_refused(change: dict[str, object], reason: str) -> None:
    """With the reason."""
    good: dict[str, object] = {"v": 1, "at_ns": 5, "until_ns": None, "kind": "fault", "paths": [], "text": ""}
    assert decode(json.dumps(good).encode())
    with pytest.raises(ValueError, match=reason):
        decode(json.dumps({**good, **change}).encode())


@given(st.binary(max_size=60))
def test_any_bytes_are_an_event_or_a_value_error(data: bytes) -> None:
    """Nothing else comes out of bytes that somebody wrote into the topic."""
    try:
        decode(data)
    except ValueError:
        return


def test_what_it_concerns_and_covers() -> None:
    """Patterns name paths, none names all; the end is outside, and without one it is a moment."""
    marked = Event(10, 20, "maintenance", ("east-*",), "")
    assert marked.concerns("east-west")
    assert not marked.concerns("west-east")
    assert Event(10, 20, "maintenance", (), "").concerns("anything")
    assert [marked.covers(*span) for span in ((0, 10), (0, 11), (19, 25), (20, 25))] == [
        False,
        True,
        True,
        False,
    ]
    assert Event(10, None, "fault", (), "").covers(10, 11)
    assert not Event(10, None, "fault", (), "").covers(11, 12)
