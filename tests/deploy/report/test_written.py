"""The report as text and as a page: whatever names hold, it fits, and it loads and runs nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from made_rows import SECOND, START, window
from rich.cells import cell_len

from collectors.contract import window_rows
from collectors.contract.events import Event
from deploy.report.html import html
from deploy.report.model import Report
from deploy.report.price import price
from deploy.report.text import text
from deploy.report.windows import Windows
from deploy.report.words import answer
from streaming.wording import latency, seconds

HOSTILE = "<script>alert(1)</script>\"'&\x1b[2J\u202e"


def made(
    paths: tuple[str, ...], said: str = "router B down", changed: dict[int, Any] | None = None
) -> Report:
    windows = Windows(0, 1 << 62)
    for path in paths:
        for number in range(40):
            routes = {"A.x>B.x>C.x": 50} if number not in {12, 13} else {"A.x>D.x>E.x>C.x": 50}
            fields = {"routes": routes, **(changed or {12: {"lost": 7}}).get(number, {})}
            windows.add(window_rows.encode(window(path, number, **fields)))
    event = Event(START + 61 * SECOND, START + 68 * SECOND, "fault", (), said, "kill", "B")
    return price(windows.by_path(), event, detected_ns=1_200_000_000)


def test_text_says_the_answer_first() -> None:
    """And all figures below, which are those of the rows."""
    lines = text(made(("orders", "quotes"))).splitlines()
    assert " ".join(lines[:3]).startswith(
        "router B down (7.0 s) touched 2 of 2 paths; 14 lost of 214 messages due;"
        " p99 2 ms before, 2 ms during; all clean again 0 s after its end."
    )
    assert "detected    after 1.2 s" in lines
    assert "first alert not asked for: --prometheus URL" in lines
    assert f"{'lost':<20}{'0':>12}{'14':>12}{'0':>12}" in lines
    assert next(line for line in lines if line.startswith("orders")).split() == [
        *("orders", "0", "s", "7", "0", "0", "0", "2", "ms", "2", "ms", "lost,", "rerouted"),
    ]
    assert "ways of orders" in lines


@pytest.mark.parametrize(
    "names", [("a",), ("x" * 300, "日本語" * 80, HOSTILE), tuple(f"path {n}" for n in range(60))]
)
def test_text_fits_into_80_columns(names: tuple[str, ...]) -> None:
    """Whatever paths are called, and however many there are."""
    big = {n: {"lost": 10**9, "values_ns": [3_599_000_000_000] * 100} for n in (12, 13)}
    for report in (made(names), made(names, "y" * 1_000, big), made(names, HOSTILE)):
        shown = text(report)
        assert max(map(cell_len, shown.splitlines())) <= 80, shown
        assert all(letter.isprintable() or letter == "\n" for letter in shown)


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_page_needs_nothing_else() -> None:
    """No script, no address, no file; the policy says so to the browser, too. Names are text, not HTML."""
    page = html(made((HOSTILE, "orders"), HOSTILE))
    found = Tags(page)
    assert not {tag for tag, _ in found.tags} & {"script", "link", "img", "iframe", "object", "a", "form"}
    for _, attributes in found.tags:
        assert not {name for name in attributes if name.startswith("on")} | attributes.keys() & {
            "src",
            "href",
        }
    assert "http" not in page.replace("http-equiv", "")
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert "prefers-color-scheme: dark" in page
    assert "url(" not in page
    assert any("<script>alert(1)</script>" in each for each in found.words)
    assert answer(made(("orders",)))[:10] in html(made(("orders",)))


def test_the_picture_has_event_latency_and_loss() -> None:
    """The event is a band from its begin to its end; the one window with losses a bar."""
    page = html(made(("orders",)))
    found = Tags(page).tags
    (band,) = [attributes for tag, attributes in found if tag == "rect" and attributes["class"] == "event"]
    (bar,) = [attributes for tag, attributes in found if tag == "rect" and attributes["class"] == "gone"]
    # 26 windows of 5 s are shown, from 30 s (the one that meets 31 s) to 100 s, in 796 pixels behind 70.
    left, wide = float(str(band["x"])), float(str(band["width"]))
    assert left == pytest.approx(70 + 796 * 31 / 70, abs=0.1)
    assert wide == pytest.approx(796 * 7 / 70, abs=0.1)
    assert float(str(bar["x"])) == pytest.approx(70 + 796 * 30 / 70, abs=0.1)
    assert len([tag for tag, attributes in found if tag == "polyline"]) == 2  # 50 messages have no p99


def test_a_report_of_nothing_can_be_written() -> None:
    """No window is known: no picture, and no figure."""
    event = Event(START, None, "deploy", (), "x")
    report = price({}, event)
    assert "not known" in text(report)
    assert "<svg" not in html(report)


_CUT_OFF = """[...document.querySelectorAll('svg text')].filter((text) => {
  const inner = text.getBoundingClientRect(), outer = text.closest('svg').getBoundingClientRect();
  return inner.left < outer.left || inner.right > outer.right;
}).map((text) => text.textContent)"""


@pytest.mark.slow
def test_in_a_browser(tmp_path: Path) -> None:
    """It opens from the file alone, in light and dark, asks for nothing, and shows its picture whole."""
    file = tmp_path / "report.html"
    file.write_text(html(made((HOSTILE, "orders"), HOSTILE)), encoding="utf-8")
    with Browser(tmp_path / "profile") as browser:
        page = browser.page(file.as_uri())
        page.wait("document.querySelectorAll('svg polyline').length > 0", "the picture")
        asked = {event["request"]["url"] for event in page.happened("Network.requestWillBeSent")}
        assert asked <= {file.as_uri()}
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth") is True
        assert page.evaluate(_CUT_OFF) == []
        shades = set()
        for scheme in ("light", "dark"):
            page.send(
                "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
            )
            shades.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert len(shades) == 2


@pytest.mark.parametrize(
    ("ns", "said"),
    [
        (0, "0 s"),
        (49_000_000, "0.0 s"),
        (9_500_000_000, "9.5 s"),
        (11_500_000_000, "11.5 s"),
        (42_000_000_000, "42 s"),
        (119_000_000_000, "119 s"),
        (150_000_000_000, "2 min 30 s"),
        (180_000_000_000, "3 min"),
        (7_500_000_000_000, "2 h 5 min"),
        (7_200_000_000_000, "2 h"),
    ],
)
def test_durations(ns: int, said: str) -> None:
    """As people say them."""
    assert seconds(ns) == said


@pytest.mark.parametrize(
    ("ns", "said"),
    [
        (None, "–"),
        (442_000, "442 µs"),
        (999_600, "1 ms"),
        (3_370_000, "3.37 ms"),
        (999_600_000, "1 s"),
        (65e9, "65 s"),
    ],
)
def test_latencies(ns: int | None, said: str) -> None:
    """In three digits and a unit."""
    assert latency(ns) == said
    assert re.fullmatch(r"–|[\d.]+ (µs|ms|s)", said)
