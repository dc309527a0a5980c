"""A trace on 80 columns."""

from __future__ import annotations

import json

import pytest
from played_trace import Played
from replay import Replay
from rich.cells import cell_len
from rich.console import Console

from deploy.trace.screen import count, milliseconds, screen


def shown(played: Played, width: int = 80) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(screen(played.trace, "amqp://router-a:5672", played.now_ns))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_every_line_by_hand() -> None:
    """The line A - B - C of the captures, each answer after 10 ms."""
    lines = shown(Played(Replay("qdrouterd"), "closest/p2").play())
    assert lines == [
        "amqp://router-a:5672  closest/p2 (closest): round 3 of 3",
        "router   role    miss%  best median   p99 step  link receivers",
        "QDR.A    here        0 10.00  10.00 10.00    –",
        "QDR.B    transit     0 10.00  10.00 10.00 0.00 0/250",
        "QDR.C    target      0 10.00  10.00 10.00 0.00 0/250   1: 30/0",
        "Round trips in ms: each holds the queues of both ways and the cores of all",
        "routers between; a step may be negative, a missing answer names no direction.",
        "link: waiting/credit from the router before; receivers: links, waiting/credit.",
    ]


@pytest.mark.parametrize("name", ["skupper-router-7f9c-of-a-very-long-site-name", "\x1b[2J\u202e\n"])
def test_names_give_way_and_steer_nothing(name: str) -> None:
    """Figures stay whole, whatever routers are called."""
    replay = Replay("qdrouterd")
    text = json.dumps(replay.capture).replace("QDR.C", json.dumps(name)[1:-1])
    replay.capture = json.loads(text)
    lines = shown(Played(replay, "closest/p2").play())
    assert max(cell_len(line) for line in lines) <= 80
    assert any(line.endswith("1: 30/0") for line in lines)
    assert not {"\x1b", "\u202e"} & {*"".join(lines)}


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "–"),
        (0, "0.00"),
        (9_994_000, "9.99"),
        (99_996_000, "100.0"),
        (1_234_567, "1.23"),
        (123_456_789, "123.5"),
        (1_234_567_890, "1235"),
        (-7_430_000, "-7.43"),
        (60_000_000_000, "60000"),
    ],
)
def test_milliseconds(ns: int | None, text: str) -> None:
    """Three figures or more, six characters at the most up to a minute and a half."""
    assert milliseconds(ns) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (9_999, "9999"), (10_000, "10k"), (999_999, "999k"), (12_345_678, "12M"), (5 * 10**9, "5G")],
)
def test_counts(number: int, text: str) -> None:
    assert count(number) == text
