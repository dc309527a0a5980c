"""Each cause has its section in the runbook, which the live page links to."""

from __future__ import annotations

import re

from collectors.contract.attribution_rows import CAUSES
from dashboards.page.runbook import html
from dashboards.reference import RUNBOOK


def test_each_cause_has_a_section() -> None:
    """In the order of the table of causes, with what it means and what to do."""
    _, _, text = RUNBOOK.read_text(encoding="utf-8").partition("\n## Causes\n")
    found = re.findall(r"^### (\w+)\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    assert tuple(cause for cause, _ in found) == CAUSES
    for cause, section in found:
        assert [word for word in ("**Means** ", "**Do** ") if word not in section] == [], cause


def test_the_page_has_a_place_for_each() -> None:
    """By the word of the cause itself."""
    page = html().decode()
    assert [cause for cause in CAUSES if f'<h3 id="{cause}">' not in page] == []


def test_links_within_the_runbook_lead_somewhere() -> None:
    """To a heading that there is."""
    page = html().decode()
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'<h\d id="([^"]+)"', page))
