"""The page of a comparison: the verdict first, its figures, and every repetition."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Browser
from made_results import result_folder
from page_tags import Tags, first

from deploy.compare.judged import compare
from deploy.compare.page import write
from deploy.compare.sides import of


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """B is a third slower."""
    folder = tmp_path_factory.mktemp("compared")
    for name, slower_by in (("a", 1.0), ("<b>", 1.33)):
        result_folder(folder / name, repetitions=6, slower_by=slower_by, seed=len(name))
    sides = [of(str(folder / name), folder) for name in ("a", "<b>")]
    write(folder / "page.html", compare(*sides))
    return (folder / "page.html").read_text(encoding="utf-8")


def test_the_verdict_stands_first(page: str) -> None:
    """In a sentence, its word in colour; then a row for each figure, with its own word."""
    assert first(page, "h1").startswith("Worse: p50 ")
    assert '<h1><span class="bad">Worse</span>' in page
    rows = page.partition("<tbody>")[2].partition("</tbody>")[0].split("<tr>")[1:]
    assert [first(row, "th") for row in rows] == ["p50", "p99", "rate", "loss"]
    assert [row.rpartition("<td")[2].partition(">")[2].partition("<")[0] for row in rows] == [
        "worse",
        "worse",
        "same",
        "same",
    ]
    assert "&lt;b&gt;" in page
    assert "<b>" not in page.partition("<script")[0]


def test_how_far_apart_is_told_in_margins(page: str) -> None:
    """What is slower by a third is some seven margins of 5 % away, and its whole interval beyond one."""
    plot = str(Tags(page).data[0])
    assert "B less A, in margins" in plot
    (worse,) = [
        source["entries"]
        for source in _sources(Tags(page).data[0])
        if dict(source["entries"])["y"] == ["p50", "p99"]
    ]
    found = dict(worse)
    assert 5.5 < found["x"][0] < 7.5
    assert 1 < found["low"][0] < found["x"][0] < found["high"][0]


def _sources(value: object) -> list[dict[str, object]]:
    """Return the data of a plot, wherever it stands in it."""
    if isinstance(value, dict):
        own = [value] if value.get("type") == "map" and "y" in dict(value.get("entries", [])) else []
        return own + [each for inside in value.values() for each in _sources(inside)]
    if isinstance(value, list):
        return [each for inside in value for each in _sources(inside)]
    return []


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_in_a_browser(browser: Browser, page: str, tmp_path: Path, *, dark: bool) -> None:
    """It opens from the file alone, asks for nothing, and its figures stand in the plots by name."""
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    opened = browser.page(file.as_uri(), dark=dark)
    opened.wait("document.querySelectorAll('.plot > *').length === 2", "the plots", seconds=90)
    asked = {event["request"]["url"] for event in opened.happened("Network.requestWillBeSent")}
    assert {url for url in asked if not url.startswith(("data:", "blob:"))} == {file.as_uri()}
    assert opened.mistakes() == []
    opened.close()
