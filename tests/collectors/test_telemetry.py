"""Records on inflight.router and inflight.broker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors import telemetry
from collectors.telemetry import BadTelemetry, Telemetry


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
    assert record().key == "m/r"


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
        (b"[]", "not of format 1"),
        (b'{"v": 2}', "not of format 1"),
        (b'{"v": 1}', "field site"),
        (record(at_ns="1").encode(), "field at_ns is not of type int"),
        (record(poll=True).encode(), "field poll"),
        (record(rows=[1]).encode(), "no JSON object"),
        (record().encode()[:-1] + b',"x":1}', "unknown fields: x"),
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
