"""Records on inflight.router and inflight.broker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import telemetry
from collectors.contract.telemetry import BadTelemetry, Telemetry


def record(**changes: object) -> Telemetry:
    values = {
        "site": "s",
        "mesh": "m",
        "target": "r",
        "entity": "link",
        "at_ns": 1,
        "interval_ns": 2,
        "poll": 3,
        "rows": [{"a": 1, "b": "ü"}],
    }
    return Telemetry(**(values | changes))  # type: ignore[arg-type]  # of a test's own making


def test_round_trip() -> None:
    """What is encoded is what is decoded."""
    assert telemetry.decode(record().encode()) == record()
    whole = record(run="0123456789abcdef", asked_ns=5, answered_ns=6, instance=7)
    assert telemetry.decode(whole.encode()) == whole
    assert record().key == "m/r"


def test_a_record_of_the_format_before_is_read() -> None:
    """What it does not tell is not known; its rows are of the time of its poll."""
    found = telemetry.decode(
        b'{"v":1,"site":"s","mesh":"m","target":"r","entity":"link","at_ns":9,"interval_ns":2,"poll":3,'
        b'"rows":[{"a":1}],"restarted":true,"part":1,"parts":2}'
    )
    assert (found.run, found.asked_ns, found.answered_ns, found.instance) == ("", 9, 9, 0)
    assert (found.at_ns, found.rows, found.restarted, found.parts) == (9, [{"a": 1}], True, 2)


def test_many_rows_go_in_parts() -> None:
    """Each part is bounded, says which it is of how many, and no row is lost; no rows are one part."""
    parts = list(telemetry.split(record(rows=[{"n": n} for n in range(1201)])))
    assert [(p.part, p.parts, len(p.rows)) for p in parts] == [(1, 3, 500), (2, 3, 500), (3, 3, 201)]
    assert [row["n"] for p in parts for row in p.rows] == [*range(1201)]
    assert [len(p.rows) for p in telemetry.split(record(rows=[]))] == [0]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "not JSON"),
        (b"[]", "not of format 2"),
        (b'{"v": 3}', "not of format 2"),
        (b'{"v": true}', "not of format 2"),
        (b'{"v": 2}', "answered_ns, asked_ns, at_ns, entity, instance"),
        (b'{"v": 1}', "at_ns, entity, interval_ns"),
        (record(at_ns="1").encode(), "at_ns is not a whole number"),
        (record(poll=True).encode(), "poll is not a whole number"),
        (record(rows=[1]).encode(), "rows is not an object"),
        (record().encode()[:-1] + b',"x":1}', "not known: x"),
        (record(at_ns=10**400).encode(), "at_ns is not a whole number"),
        (record(at_ns=-1).encode(), "at_ns is not a whole number"),
        (record().encode().replace(b'"at_ns":1', b'"at_ns":' + b"9" * 5_000), "not JSON"),
        (record(interval_ns=-1).encode(), "interval_ns is not a whole number"),
        (record(asked_ns=-1).encode(), "asked_ns is not a whole number"),
        (record(instance="1").encode(), "instance is not a whole number"),
        (record(run="0" * 65).encode(), "run is not a text"),
        (record(part=2).encode(), "part 2 of 1"),
        (record(part=0).encode(), "part is not a whole number"),
        (record(parts=10**6).encode(), "parts is not a whole number"),
        (record(mesh="m" * 193).encode(), "mesh is not a text of at most 192 printable characters"),
        (record(target="a\nb").encode(), "target is not a text"),
        (record(rows=[{"a": 1 << 80}]).encode(), "rows is not a whole number"),
        (record(rows=[{"a": float("inf")}]).encode(), "rows is not a number that there is"),
        (record(rows=[{"a": "x" * 5_000}]).encode(), "rows is not a text"),
        (record(rows=[{"a": [[[[[1]]]]]}]).encode(), "not JSON of 4 levels"),
        (b"[" * 100_000, "not JSON"),
        (b" " * (telemetry.MAX_BYTES + 1), "bytes"),
    ],
)
def test_what_is_no_record_is_told(data: bytes, reason: str) -> None:
    """Anything may stand on a topic."""
    with pytest.raises(BadTelemetry, match=reason):
        telemetry.decode(data)


@given(st.binary())
def test_nothing_raises_anything_else(data: bytes) -> None:
    """A record or BadTelemetry."""
    with pytest.raises(BadTelemetry):
        telemetry.decode(data)
