"""Whose each row, poll and event is, and that one group's failure is not another's."""

from __future__ import annotations

import made_rows
import pytest
from counting_attribution import NEWER, NOW, PLACES, CountingAttribution, Watched, event, poll

from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.topics import ROUTER
from streaming.attribution import groups
from streaming.attribution.groups import FORGET_NS, FullError, Groups


def test_meshes_that_a_path_connects_are_one_group() -> None:
    """Its rows and the polls of both meshes go there; another path's to another group."""
    found = Watched()
    found.feed_window(made_rows.window("one", mesh="east"), NOW)
    found.feed_live(made_rows.live("one", mesh="east"), NOW)
    found.feed_poll(ROUTER, poll("west", "B"), NOW)
    found.feed_poll(ROUTER, poll("north", "C"), NOW)
    assert found.fed("one") == ["window one", "live one 29", "router B"]
    assert found.fed("two") == ["router C"]


def test_events_are_of_all_groups() -> None:
    """They name paths by patterns; also of a mesh that is in no path of the config."""
    found = Watched()
    found.feed_poll(ROUTER, poll("strange"), NOW)
    found.feed_event(event("kill A"), NOW)
    assert found.fed("one") == found.fed("two") == ["event kill A"]
    assert found.made[-1][1].known["fed"] == ["router A", "event kill A"]


def test_a_mesh_in_no_path_is_a_group_of_its_own() -> None:
    """By its name, also for rows of paths that the config does not know; there is room for so many."""
    found = Watched()
    found.feed_window(made_rows.window("unknown", mesh="strange"), NOW)
    found.feed_poll(ROUTER, poll("strange"), NOW)
    assert found.made[-1][1].known["fed"] == ["window unknown", "router A"]
    for number in range(groups.MAX_STRANGERS - 1):
        found.feed_poll(ROUTER, poll(f"made-up-{number}"), NOW)
    with pytest.raises(FullError, match="256 meshes already that are in no path of the config"):
        found.feed_poll(ROUTER, poll("one-more"), NOW)
    found.feed_poll(ROUTER, poll("east", "A"), NOW)
    assert found.fed("one") == ["router A"]


def test_such_a_group_is_forgotten() -> None:
    """After a day without a record; those of the config stay."""
    found = Watched()
    found.feed_poll(ROUTER, poll("strange"), NOW)
    found.turn()
    assert set(found.states()) == {"east", "north", "strange"}
    found.feed_poll(ROUTER, poll("east"), NOW + FORGET_NS + 1)
    found.turn()
    assert set(found.states()) == {"east", "north"}


def test_a_turn_is_given_to_those_that_something_came_for() -> None:
    """With the newest time of their own records."""
    found = Watched()
    found.feed_window(made_rows.window("one", mesh="east", lost=2), NOW + 5)
    found.feed_poll(ROUTER, poll("east"), NOW + 3)
    found.feed_poll(ROUTER, poll("north"), NOW + 9)
    assert [(row["path"], row["made_ns"], row["lost"]) for row in found.turn()] == [("one", NOW + 5, 2)]
    assert found.turn() == []


def test_time_goes_on_within_a_batch() -> None:
    """After a pause, or while much is read at once, what comes is not taken for as old as the last turn."""
    turns: list[tuple[int, int]] = []

    class Timed(CountingAttribution):
        def turn(self, now_ns: int) -> list[AttributionRow]:
            turns.append(((now_ns - NOW) // made_rows.SECOND, len(self.known["fed"])))
            return super().turn(now_ns)

    found = Groups({"one": PLACES["one"]}, Timed)
    for second in (0, 20, 40, 60, 600):
        found.feed_window(made_rows.window("one", mesh="east", lost=1), NOW + second * made_rows.SECOND)
    assert len(found.turn()) == 5
    assert turns == [(40, 2), (600, 4), (600, 5)]


def test_a_group_that_fails_begins_anew() -> None:
    """And says so once; the others have their turn."""
    found = Watched()
    found.feed_event(event(), NOW)
    found.feed_poll(ROUTER, poll("east", "turn fails"), NOW)
    found.feed_window(made_rows.window("two", mesh="north", lost=1), NOW)
    assert [row["path"] for row in found.turn()] == ["two"]
    ((group, why),) = found.begun_anew()
    assert (group, why) == ("east", "its turn failed: ZeroDivisionError: made by a test")
    assert found.begun_anew() == []
    assert found.fed("one") == []


def test_a_state_is_gone_on_from() -> None:
    """What it was fed with, and the time."""
    before = Watched()
    before.feed_poll(ROUTER, poll("east"), NOW + 7)
    after = Watched()
    for name, state in before.states().items():
        after.restore(name, state)
    assert after.begun_anew() == []
    assert after.fed("one") == ["router A"]
    after.feed_window(made_rows.window("one", mesh="east", lost=1), NOW)
    assert [row["made_ns"] for row in after.turn()] == [NOW + 7]


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (b"\0" * 8 + NEWER, "ValueError: the state is of version 2"),
        (b"\0" * 8 + b"nonsense", "JSONDecodeError: Expecting value"),
        (b"\0", "error: unpack_from requires a buffer of at least 8 bytes"),
    ],
)
def test_a_state_that_cannot_be_read_is_told(state: bytes, why: str) -> None:
    """The group begins anew, and the others go on."""
    found = Watched()
    found.restore("east", state)
    ((group, told),) = found.begun_anew()
    assert group == "east"
    assert told.startswith(f"its state cannot be read: {why}")
    found.feed_poll(ROUTER, poll("east"), NOW)
    assert found.fed("one") == ["router A"]
