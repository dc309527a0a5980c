"""States, budgets and names as the live page writes them, in a real Chromium."""

from __future__ import annotations

import re
from importlib import resources
from typing import get_args

import pytest
from browser import Browser, Page
from made_exporter import Served, recent
from made_rows import window

from dashboards.terminal.table import STYLES
from streaming.states import BY_WORD, Colour

ROW = "document.querySelector('tr[data-path=\"east-west\"]')"


def test_the_page_knows_no_state_but_those_it_is_told() -> None:
    """Words, order and colours come with the exporter's JSON: none is written down in a script."""
    columns = {"ok", "refused", "suspect", "waiting"}
    words = "|".join(BY_WORD.keys() - columns)
    for file in resources.files("dashboards.page").iterdir():
        if file.name.endswith(".js"):
            code = re.sub(r"//.*", "", file.read_text())
            assert re.findall(rf"""["'.](?:{words})\b""", code) == [], file.name


def test_each_colour_of_the_table_has_a_style() -> None:
    """In the page and in the terminal."""
    sheet = resources.files("dashboards.page").joinpath("page.css").read_text()
    for colour in get_args(Colour):
        assert re.search(rf"^\.{colour}\b", sheet, re.MULTILINE), colour
        assert colour in STYLES


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1000, 1300, 1600])
def test_words_do_not_break_while_there_is_room(browser: Browser, served: Served, width: int) -> None:
    """Names, states and heads of columns stay whole, and nothing is wider than the page."""
    for name, lost in (("presettled", 0), ("through-broker", 3), ("multicast/west", 25)):
        served.exporter.apply_window(window(name, recent(), lost=lost))
    page = browser.page(served.url, width=width)
    page.wait("document.querySelectorAll('#paths tbody tr').length === 4", "the paths")
    broken = page.evaluate("""
      ['tbody th button', '.word', 'thead th'].flatMap((kind) =>
        [...document.querySelectorAll(`#paths ${kind}`)]).flatMap((node) => {
        if (!node.getClientRects().length) return [];
        const found = [];
        const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
          const text = texts.currentNode;
          for (const { 0: word, index } of text.data.matchAll(/\\w+/g)) {
            const range = document.createRange();
            range.setStart(text, index);
            range.setEnd(text, index + word.length);
            if (range.getClientRects().length > 1) found.push(word);
          }
        }
        if (node.tagName === 'TH' && node.scrollWidth > node.clientWidth) found.push(node.innerText);
        return found;
      })""")
    assert broken == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.slow
def test_budgets_in_words(page: Page, served: Served) -> None:
    """What is left in per cent, or how often it is used up and since when, in the table and the details."""
    cell = f"{ROW}.querySelectorAll('data')[9].innerText"
    served.exporter.apply_window(window(number=recent() - 2, values_ns=[1_000_000] * 2_000, lost=1))
    page.wait(f"{cell} === '50 % left'", "what is left")
    page.evaluate(f"{ROW}.querySelector('button').click()")
    served.exporter.apply_window(window(number=recent() - 1, values_ns=[1_000_000] * 500, refused=499))
    page.wait(f"{cell} === '167 × over'", "the budget to be used up")
    text = "document.querySelector('tr.details').innerText"
    page.wait(f"/used up 167 times over, since \\d\\d:\\d\\d/.test({text})", "since when")
    assert page.evaluate(f"{ROW}.querySelectorAll('data')[9].className") == "alarm"
    assert page.mistakes() == []
