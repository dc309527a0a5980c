"""The file: the answer first, all runs, nothing from anywhere else, and names only as text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import Browser
from made_results import result_folder
from page_tags import Tags, first

from dashboards.report.experiment import html
from deploy.results import folder as folders
from deploy.results.report import results

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&$$\\frac12$$</script><!--\x1b[2J\u202e"
FACTORS = {"topology.brokers": [4, 8], "load.size": ["256B", "4kB"]}
SLOWER = {"topology.brokers": {8: 3.0}, "load.size": {"4kB": 1.3}}


def page_of(folder: Path) -> str:
    return html(results(folders.read(folder)))


@pytest.fixture(scope="module")
def factorial(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("f") / "results"
    return page_of(result_folder(folder, factors=FACTORS, effects=SLOWER, repetitions=2, files=True))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Every text that a plan, a router or a load can choose is hostile."""
    folder = tmp_path_factory.mktemp("h") / "results"
    made = result_folder(
        folder,
        plan=HOSTILE,
        says=HOSTILE,
        factors={HOSTILE: ["a", HOSTILE]},
        must=[HOSTILE],
        lost=3,
        files=True,
        part=HOSTILE,
        action=HOSTILE,
    )
    return page_of(made)


def test_the_answer_stands_first(factorial: str) -> None:
    """What was asked, and what was found, before any figure."""
    words = Tags(factorial).text
    asked = words.index("Asked: What does a restart of the middle router lose?")
    found = words.index(
        "Lost <= 0.1% held in all 8 runs; brokers (92%), size (6%) and brokers × size (2%) explain"
    )
    assert asked < found < words.index("By levels") < words.index("Every run")
    assert first(factorial, "h1").startswith("Lost &lt;= 0.1% held in all 8 runs")


def test_all_runs_and_levels_are_in_tables(factorial: str) -> None:
    """Readable without JavaScript: the medians, each run, the effects, how to repeat it."""
    tables = re.findall(r"<table.*?</table>", factorial, re.DOTALL)
    levels, memory, effects = tables[:3]
    assert [first(row, "th") for row in levels.split("<tr>")[2:]] == [
        "brokers 4, size 256B",
        "brokers 4, size 4kB",
        "brokers 8, size 256B",
        "brokers 8, size 4kB",
    ]
    assert "2 of 2" in levels
    assert "45 MB" in memory
    assert first(effects.split("<tr>")[2], "th") == "brokers"
    assert "explains" in effects
    (runs,) = [table for table in tables if ">repetition<" in table]
    assert runs.count("<tr>") == 1 + 8
    text = Tags(factorial).text
    assert "inflight experiment run plan.yaml" in text
    assert "seed: 7" in text
    assert "qdrouterd 1.19.0" in text
    assert "a made-up one" in text
    assert "Plots need JavaScript" in text


def test_the_actions_are_bands_in_each_plot_over_time(factorial: str) -> None:
    """From begin to end: 100 s after the run began, for 10 s."""
    over_time = [item for item in Tags(factorial).data if "waiting in queues" in str(item)]
    assert len(over_time) == 8
    bands = [
        (band["attributes"]["left"], band["attributes"]["right"])
        for plot in over_time[0]["doc"]["roots"][0]["attributes"]["children"]
        for band in plot["attributes"]["center"]
        if band["name"] == "BoxAnnotation" and band["attributes"]["fill_color"] == "#D55E00"
    ]
    assert bands == [(100.0, 110.0)] * 4  # latency, rate, queues, memory; nothing was lost


def test_what_stands_in_it_stays_small(factorial: str) -> None:
    """Bokeh's own script takes 1.3 MB of it."""
    assert len(factorial) < 2_000_000


def test_many_runs_of_many_points_stay_small(tmp_path: Path) -> None:
    """40 runs of an hour each: those that are not drawn are told, and every run is in the table."""
    folder = result_folder(tmp_path / "results", repetitions=40, windows=720)
    page = page_of(folder)
    assert len(page) < 3_000_000
    assert "16 more are not drawn" in page
    assert "<th scope=row>40</th>" in page


def test_it_needs_nothing_else(hostile: str) -> None:
    """No address is loaded, and no script runs but its own, by their hashes, whatever names hold."""
    found = Tags(hostile)
    assert not {tag for tag, _ in found.tags} & {
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "form",
        "base",
        "a",
    }
    for _, attributes in found.tags:
        assert not {name for name in attributes if name.startswith("on")} | attributes.keys() & {
            "src",
            "href",
        }
    (policy,) = [each["content"] for each in found.of("meta") if each.get("http-equiv")]
    assert policy is not None
    assert policy.startswith(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-"
    )
    assert "unsafe-inline" not in policy.partition("script-src")[2]
    style = first(hostile, "style")
    assert "url(" not in style
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style


def test_names_are_text(hostile: str) -> None:
    """In headings, tables and plots; and in no plot a formula, for which Bokeh would load a program."""
    found = Tags(hostile)
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>" in found.text
    assert "\x1b" not in hostile
    assert len(found.of("script")) == len(found.data) + 3  # Bokeh's two and the page's own
    assert "$$" not in str(found.data)


_PLOTS = """(() => { const found = []; const walk = (node) => {
  for (const each of node.querySelectorAll('*')) {
    if (each.tagName === 'CANVAS') found.push(each); if (each.shadowRoot) walk(each.shadowRoot); } };
  walk(document); return found; })()"""
_WIDE = "document.documentElement.scrollWidth <= window.innerWidth"


@pytest.mark.slow
@pytest.mark.parametrize(("dark", "width"), [(False, 1_200), (True, 1_200), (False, 420)])
def test_in_a_browser(browser: Browser, hostile: str, tmp_path: Path, width: int, *, dark: bool) -> None:
    """It opens from the file alone, asks for nothing, draws its plots, and fits the window."""
    file = tmp_path / "report.html"
    file.write_text(hostile, encoding="utf-8")
    page = browser.page(file.as_uri(), dark=dark, width=width)
    page.wait(f"{_PLOTS}.some((each) => each.width > 100)", "the plots", seconds=90)
    asked = {event["request"]["url"] for event in page.happened("Network.requestWillBeSent")}
    assert {url for url in asked if not url.startswith(("data:", "blob:"))} == {file.as_uri()}
    assert page.mistakes() == []
    assert page.evaluate(_WIDE) is True
    assert page.evaluate("[...document.querySelectorAll('img')].length") == 0
    page.close()


@pytest.mark.slow
def test_a_closed_run_is_drawn_once_it_is_opened(browser: Browser, factorial: str, tmp_path: Path) -> None:
    """So that a report of many runs opens at once."""
    file = tmp_path / "report.html"
    file.write_text(factorial, encoding="utf-8")
    page = browser.page(file.as_uri())
    page.wait(f"{_PLOTS}.some((each) => each.width > 100)", "the plots", seconds=90)
    second = "document.querySelectorAll('details')[1]"
    assert page.evaluate(f"{second}.querySelector('.plot').children.length") == 0
    page.evaluate(f"{second}.open = true")
    page.wait(
        f"{second}.querySelector('.plot').children.length > 0", "the plot of the second run", seconds=90
    )
    assert page.mistakes() == []
    page.close()


@pytest.mark.slow
def test_on_paper_plots_fit_the_page(browser: Browser, factorial: str, tmp_path: Path) -> None:
    """A plot that was drawn for a wide window is shrunk before it is printed, and grows again."""
    file = tmp_path / "report.html"
    file.write_text(factorial, encoding="utf-8")
    page = browser.page(file.as_uri(), width=1_400)
    page.wait(f"{_PLOTS}.some((each) => each.width > 100)", "the plots", seconds=90)
    zoomed = "Number(document.querySelector('.plot').style.zoom)"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert 0.3 < page.evaluate(zoomed) < 0.7
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(zoomed) == 0
    page.close()
