"""Faults of a link as both wirings keep them: what is a command, and what is on the link after it."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.errors import Problem
from deploy.lab.faults import Choices, Faults, changed, in_direction, told

_CHOICES = Choices(("delay", "limit", "stall", "cut", "move", "loss"), ("A>B", "B>A"), ("A", "C"))


def _after(*commands: dict[str, Any]) -> Faults:
    on: Faults = {}
    for command in commands:
        on = changed(on, {"link": "A--B", **command}, _CHOICES)
    return on


_SEVERAL = ({"do": "loss", "percent": 5}, {"do": "delay", "ms": 20}, {"do": "loss", "percent": 7})


def test_faults_add_up_and_a_repeat_replaces() -> None:
    """One of each kind is on a link, and is told as it was given."""
    assert told(_after(*_SEVERAL)) == [{"do": "loss", "percent": 7}, {"do": "delay", "ms": 20}]


def test_clear_takes_away_one_kind_or_all() -> None:
    """Of a kind that is not on the link there is nothing to take away."""
    assert _after(*_SEVERAL, {"do": "clear", "fault": "loss"}) == {"delay": {"ms": 20}}
    assert _after(*_SEVERAL, {"do": "clear", "fault": "cut"}) == _after(*_SEVERAL)
    assert _after(*_SEVERAL, {"do": "clear"}) == {}


def test_a_fault_may_be_of_one_direction() -> None:
    on = _after({"do": "stall", "direction": "B>A"}, {"do": "limit", "bytes_per_second": 5_000})
    assert in_direction(on, "A>B") == {"limit": {"bytes_per_second": 5_000}}
    assert in_direction(on, "B>A") == on


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ({"do": "reorder"}, "'reorder' is none of delay, limit, stall, cut, move, loss, clear"),
        ({"do": ["cut"]}, "['cut'] is none of delay, limit, stall, cut, move, loss, clear"),
        ({}, "None is none of delay, limit, stall, cut, move, loss, clear"),
        ({"do": "loss"}, "`loss` needs `percent`"),
        ({"do": "loss", "percent": None}, "loss: percent is a number from 0 to 100, not None"),
        ({"do": "loss", "percent": 101}, "loss: percent is a number from 0 to 100, not 101"),
        ({"do": "loss", "percent": "5"}, "loss: percent is a number from 0 to 100, not '5'"),
        ({"do": "loss", "percent": True}, "loss: percent is a number from 0 to 100, not True"),
        ({"do": "loss", "percent": float("nan")}, "loss: percent is a number from 0 to 100, not nan"),
        ({"do": "delay", "ms": -1}, "delay: ms is a number from 0 to 10,000, not -1"),
        ({"do": "delay", "ms": 10_001}, "delay: ms is a number from 0 to 10,000, not 10001"),
        ({"do": "delay", "ms": 5, "jitter_ms": 6}, "`jitter_ms` must not be more than `ms`"),
        ({"do": "limit", "bytes_per_second": 1}, "from 1,000 to 1,000,000,000, not 1"),
        (
            {"do": "delay", "seconds": 5},
            "seconds is not for `delay`, which has ms, jitter_ms, direction",
        ),
        ({"do": "cut", "direction": "A>B"}, "direction is not for `cut`, which has no fields of its own"),
        ({"do": "stall", "direction": "A>C"}, "stall: direction is one of A>B, B>A, not 'A>C'"),
        ({"do": "stall", "direction": ["A>B"]}, "stall: direction is one of A>B, B>A, not ['A>B']"),
        ({"do": "move", "to": "B"}, "move: to is one of A, C, not 'B'"),
        ({"do": "clear", "percent": 5}, "clear: percent is not for `clear`, which has fault"),
        (
            {"do": "clear", "fault": "kill"},
            "clear: fault is one of delay, limit, stall, cut, move,",
        ),
    ],
)
def test_what_is_no_command_is_refused(command: dict[str, Any], problem: str) -> None:
    """With what would be one."""
    with pytest.raises(Problem) as refused:
        _after(command)
    assert problem in refused.value.message
