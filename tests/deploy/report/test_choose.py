"""Which event is meant."""

from __future__ import annotations

import pytest
from made_rows import SECOND, START

from collectors.contract.events import Event
from deploy.errors import Problem
from deploy.report.choose import choose, name_of, told_once

NOW = START + 10_000 * SECOND  # 2023-11-15 01:00:00


def event(seconds: float, lasts: float | None, text: str, do: str = "", what: str = "") -> Event:
    begin = START + round(seconds * SECOND)
    until = None if lasts is None else begin + round(lasts * SECOND)
    return Event(begin, until, "fault" if do else "deploy", (), text, do, what)


KILLED = event(0, 10, "router B down for 9.5 s", "kill", "B")
DEPLOYED = event(100, None, "orders 2.4")
AGAIN = event(3_000, 60, "router B down for 60 s", "stop", "B")
LAST = event(9_000, None, "", "delay", "A--B")
ALL = [KILLED, DEPLOYED, AGAIN, LAST]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("last", LAST),
        ("orders", DEPLOYED),
        ("ORDERS 2.4", DEPLOYED),
        ("kill b", KILLED),
        ("router B down", AGAIN),
        ("delay", LAST),
        ("A--B", LAST),
        ("2023-11-14T22:13:25", KILLED),  # it went on then
        ("2023-11-14T22:14:00", DEPLOYED),  # the first after it
        ("2023-11-14T23:13:25+01:00", KILLED),
        ("2h", AGAIN),
    ],
)
def test_by_words_or_time(wanted: str, found: Event) -> None:
    """All words have to be there, of several the newest; a time is one that it went on at, or the next."""
    assert choose(ALL, wanted, NOW)[0] == found


def test_others_that_were_meant_as_well_are_told() -> None:
    """Else a report of the wrong one would be believed."""
    assert choose(ALL, "router b", NOW)[1] == "2 events have the words 'router b': this is the newest"
    assert choose(ALL, "orders", NOW)[1] == ""


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (
            "broker",
            "no event has the words 'broker'; the newest are:\n  2023-11-14 22:13:20  fault: router B down",
        ),
        ("   ", "no event has the words"),
        ("10m", "no event went on at 10m or began after it; the newest are:"),
        ("\x1b[2J", "no event has the words '\ufffd[2J'"),
    ],
)
def test_none_is_meant(wanted: str, said: str) -> None:
    """Told with those that there are."""
    with pytest.raises(Problem) as found:
        choose(ALL, wanted, NOW)
    assert said in str(found.value)


def test_nothing_is_recorded() -> None:
    """Nor does one of the future count."""
    for events in ([], [event(20_000, 5, "soon")]):
        with pytest.raises(Problem, match="no event is recorded"):
            choose(events, "last", NOW)


def test_an_event_and_its_end_are_one() -> None:
    """In whatever order they are told, and told again."""
    begin = Event(KILLED.at_ns, None, KILLED.kind, (), "router B killed", "kill", "B")
    for told in ([begin, KILLED], [KILLED, begin], [begin, KILLED, begin, KILLED]):
        assert told_once([DEPLOYED, *told]) == [KILLED, DEPLOYED]


def test_its_name_is_safe_on_a_screen() -> None:
    """Its text, or what it did, or its kind."""
    assert name_of(event(0, 1, "a\x1b[2J")) == "a\ufffd[2J"
    assert name_of(LAST) == "delay A--B"
    assert name_of(event(0, 1, "")) == "deploy"
