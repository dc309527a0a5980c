"""A page's tags and words, as a browser without scripts has them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any


class Tags(HTMLParser):
    """Tags with their attributes, what scripts hold, and words outside them in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.data: list[Any] = []
        self._inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 -- the parser's signature
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in {"script", "style", "title"}:
            self.words.append(data)
        elif dict(self.tags[-1][1]).get("type") == "application/json":
            self.data.append(json.loads(data))

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def first(page: str, tag: str) -> str:
    """Return the text of the first element of a kind."""
    found = re.search(rf"<{tag}[^>]*>(.*?)</{tag}>", page, re.DOTALL)
    assert found is not None, f"no {tag}"
    return re.sub(r"<[^>]+>", "", found[1])
