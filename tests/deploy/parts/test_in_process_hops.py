"""The attribution of `inflight run`: the rows that the job would write, as soon as they are known."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import made_drop
import made_rows
import pytest
from counting_attribution import NOW, PLACES, CountingAttribution, event, poll
from helpers import wait_until

from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.topics import ROUTER
from collectors.process import wall_clock
from deploy.parts.in_process_hops import InProcessHops
from streaming.attribution.engine import Attribution
from streaming.attribution.groups import Make

START = wall_clock.now_ns() // made_rows.LENGTH * made_rows.LENGTH - 40 * made_rows.SECOND


class Run:
    """With what it gave."""

    def __init__(self, places: Any = PLACES, make: Make = CountingAttribution) -> None:
        self.rows: list[AttributionRow] = []
        self.hops = InProcessHops(places, self.rows.append, make)


@pytest.fixture
def run() -> Iterator[Run]:
    made = Run()
    made.hops.start()
    yield made
    made.hops.close()


def test_a_loss_is_named_with_its_hop() -> None:
    """From the same polls and rows as in the job."""
    run = Run({"one": made_drop.PLACE}, Attribution)
    run.hops.take_live(made_drop.live(START))
    for record in made_drop.polls(START):
        run.hops.take_poll(ROUTER, record)
    run.hops.take_window(made_drop.window(START))
    run.hops.close()
    (row,) = run.rows
    assert row["lost"] == made_drop.LOST
    assert [(hop["hop"], hop["cause"], hop["said"]) for hop in row["hops"]] == [
        (made_drop.HOP, "dropped", made_drop.LOST)
    ]


def test_a_final_row_has_its_turn_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with the next second, which is far here."""
    monkeypatch.setattr("deploy.parts.in_process_hops._TURN_SECONDS", 3_600.0)
    run.hops.take_window(made_rows.window("one", mesh="east", lost=1))
    wait_until(lambda: len(run.rows) == 1, 30, "the row of the turn under way")
    run.hops.take_poll(ROUTER, poll("east"))
    run.hops.take_event(event())
    run.hops.take_window(made_rows.window("one", 1, mesh="east", lost=2))
    wait_until(lambda: len(run.rows) == 2, 30, "the next row")
    assert [(row["lost"], row["sent"]) for row in run.rows] == [(1, 1), (2, 4)]


def test_time_goes_on_where_nothing_comes() -> None:
    """A turn has the time of the clock, for all groups: also for one whose mesh hangs."""
    asked = threading.Event()

    class Timed(CountingAttribution):
        def turn(self, now_ns: int) -> list[AttributionRow]:
            if now_ns > NOW:
                asked.set()
            return super().turn(now_ns)

    run = Run(PLACES, Timed)
    run.hops.start()
    try:
        assert asked.wait(30)
    finally:
        run.hops.close()


def test_what_cannot_be_used_stops_nothing(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    """A poll that fails, and a group that does: each is told, and the other group's row comes."""
    run.hops.take_poll(ROUTER, poll("east", "failing"))
    run.hops.take_poll(ROUTER, poll("east", "turn fails"))
    run.hops.take_window(made_rows.window("two", mesh="north", lost=3))
    wait_until(lambda: len(run.rows) == 1, 30, "the row of the other group")
    assert run.rows[0]["path"] == "two"
    assert "the attribution cannot use a node: ZeroDivisionError: made by a test" in caplog.messages
    assert any("of the group east begins anew: its turn failed" in text for text in caplog.messages)
    assert run.hops.not_ready() is None
