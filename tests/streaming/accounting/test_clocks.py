"""Receivers' times are put back into the senders' time, by what is known of their clocks."""

from __future__ import annotations

import pytest
from writing import Path

from collectors.contract.records import SECOND_NS, Clock


def first(path: Path) -> list[int]:
    return path.revisions(0)


@pytest.mark.parametrize("offset", [-40.0, 0.0, 40.0])
def test_a_receivers_clock_is_taken_into_the_senders_time(offset: float) -> None:
    """A known offset, larger than settle, changes nothing but the members' own times."""
    path = Path()
    sender, receiver = path.end("sender"), path.end("receiver", start=offset)
    known = {sender.run: Clock(round(offset * SECOND_NS), 5_000_000)}
    sender.ledger(2, [(0, 2, "accepted")], 3.0)
    latency = 0.001 + offset
    receiver.received(sender, 2, [0], 3.0 + offset, latency=latency, clock=known)
    sender.alive(16.0)
    receiver.alive(15.004 + offset, clock=known)
    assert first(path) == []  # it may be 5 ms further back than it says
    receiver.alive(15.005 + offset, clock=known)
    row = path.row(0)
    assert row["classes"] == {"received": 1, "refused": 0, "lost": 1, "unobserved": 0}
    assert row["clock"] == {"offset_ns": round(offset * SECOND_NS), "bound_ns": 5_000_000}
    assert row["negative"] == (1 if offset < 0 else 0)
    assert row["response"] is not None
    assert row["response"]["min_ns"] == round(latency * SECOND_NS)


def test_a_receiver_was_there_only_from_when_it_surely_was() -> None:
    """Its beginning is the later, and its gap's end too, by what its clock may be wrong."""
    path = Path()
    sender, receiver = path.end("sender"), path.end("receiver", start=2.0)
    unsure = {sender.run: Clock(0, SECOND_NS // 2)}
    for second in (2, 3):
        sender.ledger(second, [(second, 1, "accepted")], second + 1.0)
    receiver.alive(2.1, clock=unsure)
    sender.alive(17.0)
    receiver.alive(17.0, clock=unsure)
    assert path.row(0)["classes"] == {"received": 0, "refused": 0, "lost": 1, "unobserved": 1}


def test_an_unknown_clock_is_told() -> None:
    """Times are compared as they are then, which may be wrong."""
    path = Path()
    sender, receiver = path.end("sender"), path.end("receiver")
    sender.ledger(0, [(0, 1, "accepted")], 1.0)
    receiver.received(sender, 0, [0], 1.0, clock={})
    sender.alive(16.0)
    receiver.alive(16.0, clock={})
    assert path.row(0)["flags"] == ["clock_unknown"]
    assert path.row(0)["clock"] is None
