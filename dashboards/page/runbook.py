"""The runbook as a page: alerts link to their sections in it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

import dashboards

FILE: Final = Path(dashboards.__file__).with_name("RUNBOOK.md")
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Inflight: runbook</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css">
</head>
<body>
<header><p><a href="./">Inflight, live</a></p></header>
<main class="text">
{body}</main>
</body>
</html>
"""


def html() -> bytes:
    """Return the page; a heading's id is its words, as links within the runbook have them."""
    markdown = MarkdownIt("js-default")  # what looks like HTML stays text
    tokens = markdown.parse(FILE.read_text(encoding="utf-8"))
    for token, inside in pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", inside.content.lower().replace(" ", "-"))
    return _PAGE.replace("{body}", markdown.renderer.render(tokens, markdown.options, {})).encode()
