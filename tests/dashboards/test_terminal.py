"""The terminal's table, and `inflight top` in a real pseudo-terminal of 80 columns."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from typing import Any

import pytest
from attribution_rows import episode, hop
from helpers import free_port
from made_exporter import Served, recent
from made_rows import LENGTH, SECOND, START, live, window
from rich.cells import cell_len
from rich.console import Console

from collectors.contract.events import Event, Kind
from collectors.contract.untrusted_text import shown
from dashboards.terminal.controls import TableControls
from dashboards.terminal.keys import split
from dashboards.terminal.table import TableOptions, around, count, latency, screen
from streaming.exporter.page_data import snapshot
from streaming.wording import duration

pytestmark = pytest.mark.slow


def printed(state: dict[str, Any], width: int = 80, options: TableOptions | None = None) -> list[str]:
    console = Console(width=width, force_terminal=False, color_system=None, record=True, file=io.StringIO())
    console.print(screen(state, width, options))
    return console.export_text().splitlines()


def test_fits_80_columns_whatever_comes(served: Served) -> None:
    """Long names, huge figures and many digits are cut or rounded, never wrapped."""
    now = recent()
    served.exporter.apply_window(
        window("路径" * 30, now, values_ns=[3_599_999_999_999] * 200, lost=123_456_789, sent_bytes=0)
    )
    served.exporter.apply_live(live("路径" * 30, now, sent=40_000_000_000))
    served.put_line(b_up=False)
    lines = printed(snapshot(served.exporter))
    assert max(map(cell_len, lines)) <= 80
    assert any("123M" in line or "123.5M" in line for line in lines)
    assert sum("DOWN" in line for line in lines) == 3  # a router and its two links
    assert [line.split()[0] for line in lines if "cut off from A" in line] == ["C"]
    assert any("orders" in line and "12" in line for line in lines)
    (bridge,) = (line for line in lines if "orders-to-two" in line)
    assert bridge.split() == ["artemis", "bridge", "orders-to-two", "down", "12", "–", "–"]


def test_tells_where(served: Served) -> None:
    """The hop to blame, while there is one for any path: at 80 columns in the place of jitter."""
    now = recent()
    served.exporter.apply_window(window(number=now, lost=211))
    heads = printed(snapshot(served.exporter))[1].split()
    assert ("where" in heads, "jitter" in heads) == (False, True)
    served.exporter.apply_attribution(episode(number=now))
    served.exporter.apply_attribution(episode("路径" * 30, now, hops=[hop("路" * 190)]))
    state = snapshot(served.exporter)
    for width in (80, 120):
        lines = printed(state, width)
        heads = lines[1].split()
        assert max(map(cell_len, lines)) <= width
        assert (heads[-1], "jitter" in heads, "budget" in heads) == ("where", width == 120, width == 120)
        (line,) = (line for line in lines if line.startswith("east-west"))
        assert line.rstrip().endswith("losing  C → receiver")
    for path in state["paths"]:  # as an exporter of before tells it
        del path["where"]
    assert "where" not in printed(state)[1]


def test_room_is_shared_by_name_and_hop(served: Served) -> None:
    """Both are long: at 100 columns the name keeps a dozen letters, at 160 the hop has more than at 100."""
    now = recent()
    served.exporter.apply_window(window("p" * 80, number=now, lost=211))
    served.exporter.apply_attribution(episode("p" * 80, now, hops=[hop("h" * 80)]))
    state = snapshot(served.exporter)
    narrow, wide = (printed(state, width)[2] for width in (100, 160))
    assert narrow.count("p") > 12
    assert wide.count("p") > narrow.count("p")
    assert (narrow.count("h"), wide.count("h")) == (23, 39)


def test_says_which_queues_are_of_a_broker_that_does_not_answer(served: Served) -> None:
    """Their figures are the last that were heard, and are not shown as if they were of now."""
    served.put_broker("silent", "queue", [{"queue": "late", "address": "late", "messages": 2}])
    served.put_broker("silent", "broker", [{"up": False}])
    served.put_broker("well", "queue", [{"queue": "prompt", "address": "prompt", "messages": 1}])
    lines = printed(snapshot(served.exporter))
    assert [line.split()[:5] for line in lines if "late" in line] == [
        ["late", "silent,", "not", "heard", "of"]
    ]
    assert [line.split()[1:3] for line in lines if "prompt" in line] == [["well", "1"]]


def test_shows_the_worst_first_and_sorts(served: Served) -> None:
    """By state unless told otherwise; other columns put the largest on top, or the smallest."""
    now = recent()
    for name, lost, slow in (("a", 0, 9), ("b", 2, 1), ("c", 0, 5)):
        served.exporter.apply_window(window(name, now, lost=lost, values_ns=[slow * 1_000_000] * 150))
    state = snapshot(served.exporter)

    def order(**options: Any) -> str:
        rows = printed(state, 80, TableOptions(**options))[2:6]
        return "".join(row[0] for row in rows)

    assert order() == "beac"  # losing, waiting, ok
    assert order(sort="p99") == "acbe"
    assert order(sort="p99", reverse=True) == "ebca"
    assert order(sort="path") == "abce"
    assert printed(state, 80, TableOptions(filter="B"))[2].startswith("b")


def test_marks_lower_bounds_and_names_nothing_it_does_not_know(served: Served) -> None:
    """A percentile that messages under way may raise says so; what is unknown is a dash."""
    served.exporter.apply_live(live(number=recent()))
    row = printed(snapshot(served.exporter))[2]
    assert row.split()[1:4] == ["2ms", "–", "4ms"]
    served.exporter.apply_live(live(number=recent(), lower_bound=["50", "max"]))
    assert printed(snapshot(served.exporter))[2].split()[1:4] == ["≥2ms", "–", "≥4ms"]


def test_tells_budgets_that_are_used_up(served: Served) -> None:
    """A line for each, the worst first and below the paths; with a wide terminal a column for all."""
    now = recent()
    served.exporter.apply_window(window("calm", now, values_ns=[1] * 1_999, lost=1))
    for name, lost in (("a", 1), ("b", 50), ("c", 25)):
        served.exporter.apply_window(window(name, now, values_ns=[1] * (100 - lost), lost=lost))
    lines = printed(snapshot(served.exporter))
    assert lines[1].startswith("path")
    assert re.fullmatch(r"budget of b, delivery: used up 500 times over, since \d\d:\d\d", lines[-2])
    assert re.fullmatch(r"budget of c, delivery: used up 250 times over, since \d\d:\d\d", lines[-1])
    assert around(snapshot(served.exporter), TableOptions()) == 2
    wide = printed(snapshot(served.exporter), 100)
    assert next(line for line in wide if line.startswith("a ")).split()[-3:] == ["10×", "over", "losing"]
    assert next(line for line in wide if line.startswith("calm ")).split()[-4:-1] == ["50", "%", "left"]


def test_names_cannot_steer_the_terminal() -> None:
    """Control characters are replaced."""
    assert shown("a\x1b[2Jb\x07\u202ec") == "a\ufffd[2Jb\ufffd\ufffdc"


def test_tells_faults_and_works(served: Served) -> None:
    """What goes on comes first, then the newest; when, for how long and where; old ones are left out."""
    now = time.time_ns() - 5 * SECOND

    def add(at: int, until: float | None, kind: Kind, text: str, *paths: str) -> None:
        until_ns = None if until is None else now + round(until * SECOND)
        served.exporter.apply_event(Event(now + at * SECOND, until_ns, kind, paths, text))

    add(-9_000, None, "deploy", "long ago")
    add(-600, 3_000, "maintenance", "new cable", "east-*", "orders")
    add(-300, None, "deploy", "broker 2.44")
    add(-60, -30.1, "fault", "router B\x1b[2J down")
    lines = printed(snapshot(served.exporter))[1:4]
    assert re.fullmatch(r"maintenance now, until \d\d:\d\d:\d\d \(east-\*, orders\): new cable", lines[0])
    assert re.fullmatch(r"fault 6\d s ago, for 30 s: router B\ufffd\[2J down", lines[1])
    assert re.fullmatch(r"deploy 5 min ago: broker 2\.44", lines[2])
    add(-60, None, "fault", "router B killed")  # told in full above
    assert printed(snapshot(served.exporter))[1:4] == lines
    add(1_000, None, "deploy", "soon")
    add(-9, None, "fault", "x" * 200)
    lines = printed(snapshot(served.exporter))
    assert max(map(cell_len, lines)) <= 80
    assert re.match(r"deploy from \d\d:\d\d:\d\d: soon$", lines[2])
    assert not any("long ago" in line or "2.44" in line for line in lines)


def test_tells_what_a_fault_did(served: Served) -> None:
    """How soon it was seen, and how soon after its end it was over: before the text, which may be cut."""
    number = recent() - 4
    begin_ns = START + number * LENGTH
    event = Event(begin_ns, begin_ns + 2 * SECOND, "fault", (), "router B down for 2 s", "kill", "B")
    served.exporter.apply_event(Event(begin_ns, None, "fault", (), "router B killed", "kill", "B"))
    (line,) = [line for line in printed(snapshot(served.exporter)) if line.startswith("fault")]
    assert re.fullmatch(r"fault since \d+ s: router B killed", line)
    served.exporter.apply_event(event)
    (line,) = [line for line in printed(snapshot(served.exporter)) if line.startswith("fault")]
    assert re.fullmatch(r"fault \d+ s ago, for 2 s: router B down for 2 s", line)
    served.exporter.now_ns = lambda: begin_ns + 1_300_000_000  # type: ignore[misc] # its clock
    served.exporter.apply_live(live(number=number, at_ns=begin_ns + SECOND, suspect=3))
    served.exporter.apply_window(window(number=number, lost=3))
    served.exporter.apply_window(window(number=number + 1))
    served.exporter.now_ns = time.time_ns  # type: ignore[misc] # the same
    (line,) = [line for line in printed(snapshot(served.exporter)) if line.startswith("fault")]
    assert re.fullmatch(r"fault \d+ s ago, for 2 s, seen in 1 s, over in 3 s: router B down for 2 s", line)
    assert cell_len(line) <= 80


@pytest.mark.parametrize("height", [24, 30, 50])
def test_a_large_mesh_leaves_room_for_the_paths(served: Served, height: int) -> None:
    """With many of everything a screen of 24 lines still shows four paths, and nothing is below its edge."""
    for number in range(40):
        served.exporter.apply_window(window(f"path-{number}", recent()))
        event = Event(time.time_ns(), None, "fault", (), str(number))
        served.exporter.apply_event(event)
    names = [f"r{number}" for number in range(20)]
    mesh = [{"kind": "router", "router": name, "up": True} for name in names]
    mesh += [{"kind": "edge", "source": "r0", "target": name, "up": True, "cost": 1} for name in names[1:]]
    served.put_router("", "mesh", mesh)
    served.put_broker("b", "queue", [{"queue": name, "address": name, "messages": 1} for name in names])
    links = [{"kind": "bridge", "link": name, "state": "up", "up": True} for name in names]
    served.put_broker("b", "broker_link", links)
    state = snapshot(served.exporter)
    rows = height - 5 - around(state, TableOptions(height=height))
    lines = printed(state, 80, TableOptions(rows=rows, height=height))
    assert len(lines) < height
    assert sum(line.startswith(("path-", "east-west")) for line in lines) == rows >= 4
    assert len(printed(state)) > 40  # a pipe has no height


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0000004, "0µs"),
        (0.00042, "420µs"),
        (0.0123, "12.3ms"),
        (0.9999, "1s"),
        (12.345, "12.3s"),
    ],
)
def test_latencies_have_three_digits_and_a_unit(value: float | None, text: str) -> None:
    """Small enough for a column of seven."""
    assert latency(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (9_999, "9999"), (12_500, "12.5k"), (123_456_789, "123M"), (5e10, "50G")]
)
def test_counts_have_five_characters_at_most(value: float, text: str) -> None:
    """Thousands, millions and thousands of millions."""
    assert count(value) == text


def test_durations_read_as_people_say_them() -> None:
    """One unit, the larger the longer."""
    texts = [duration(int(s * 1e9)) for s in (0.25, 59, 119, 120, 7_199, 7_200)]
    assert texts == ["0.2 s", "59 s", "119 s", "2 min", "119 min", "2 h"]


def test_keys_choose_what_is_shown() -> None:
    """S goes through the columns, r turns round, / takes a name, arrows move within the list, q ends."""
    controls = TableControls()

    def press(*keys: str) -> TableOptions:
        for key in keys:
            controls.press(key, paths=30, rows=10)
        return controls.options

    assert press("s").sort == "path"
    assert press("r").reverse
    assert press("/", "o", "r", "x", "backspace", "enter").filter == "or"
    assert not controls.typing
    assert press("/", "q", "escape").filter == ""
    assert not controls.ended
    assert press("down", "page down").offset == 11
    assert press("page down", "page down").offset == 20
    assert press("home", "up").offset == 0
    press("q")
    assert controls.ended


class Top:
    """`inflight top` in a terminal of 80 × 24; what it has drawn is in `screen`."""

    def __init__(self, url: str) -> None:
        self.terminal, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(child)
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "deploy", "top", url],
            stdin=child,
            stdout=child,
            stderr=child,
            env=environment,
            start_new_session=True,
        )
        self.child = child
        self.screen = ""

    def press(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def until(self, pattern: str, seconds_: float = 15.0) -> None:
        """Wait until the newest picture matches."""
        end = time.monotonic() + seconds_
        while not re.search(pattern, self.newest(), re.DOTALL):
            assert time.monotonic() < end, f"waited in vain for {pattern!r} in {self.newest()!r}"
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.screen += os.read(self.terminal, 65_536).decode(errors="replace")

    def newest(self) -> str:
        picture = self.screen.rsplit("\x1b[H", 1)[-1]
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", picture)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(5)
        os.close(self.terminal)
        os.close(self.child)


@pytest.fixture
def top(served: Served) -> Iterator[Top]:
    served.exporter.apply_window(window("orders", recent(), lost=3))
    running = Top(served.url)
    yield running
    running.close()


def test_top_shows_sorts_filters_and_leaves_the_terminal_as_it_was(served: Served, top: Top) -> None:
    """Keys work at once, a vanished exporter is told, and q gives the terminal back."""
    top.until("orders.*losing")
    top.press("/")
    top.until("filter:")
    top.press("east\r")
    top.until("east-west(?!.*losing).*q quit")
    assert all(cell_len(line.rstrip("\r")) <= 80 for line in top.newest().split("\n"))
    top.press("s")
    top.until("path ▾")
    served.close()
    top.until("no answer from")
    served.start()
    served.exporter.apply_window(window("east-2", recent(), lost=3))
    top.until("east-2")
    top.press("q")
    assert top.process.wait(10) == 0
    assert termios.tcgetattr(top.child) == top.before


def test_top_ends_on_a_signal(top: Top) -> None:
    """SIGTERM ends it with the terminal as it was."""
    top.until("orders")
    top.process.send_signal(signal.SIGTERM)
    assert top.process.wait(10) == 0
    assert termios.tcgetattr(top.child) == top.before


def test_top_prints_once_where_there_is_no_terminal(served: Served) -> None:
    """In a pipe it is a plain table; where no exporter answers it says so in one line, status 2."""

    def run(url: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "deploy", "top", url],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    found = run(served.url)
    assert found.returncode == 0
    assert "east-west" in found.stdout
    assert "\x1b" not in found.stdout
    refused = run(f"http://127.0.0.1:{free_port()}")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "is `inflight export` or `inflight run` there?" in refused.stderr
    assert run("ftp://nowhere").returncode == 2


def test_keys_typed_fast_come_one_by_one() -> None:
    """Several keys in one read, arrows among them, are several keys; unknown sequences are none."""
    assert split("ab\x1b[A\x1b[6~\r\x1b[99~é") == ["a", "b", "up", "page down", "enter", "é"]
    assert split("\x1b") == ["escape"]
