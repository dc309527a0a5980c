"""JMX object names: `domain:key=value,key="quoted, value"`."""

from __future__ import annotations

import re
from typing import Final

_PAIR: Final = re.compile(r'\s*([^=,:*?"]+)=(?:"((?:[^"\\]|\\.)*)"|([^",=]*))\s*(?:,|$)', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_NEEDS_ESCAPE: Final = re.compile(r'([\\"*?])')


def parse(name: str) -> dict[str, str]:
    """Return an object name's keys without quotes and escapes; raises ValueError for anything else."""
    _, colon, rest = name.partition(":")
    found: dict[str, str] = {}
    place = 0
    while colon and place < len(rest):
        match = _PAIR.match(rest, place)
        if match is None:
            break
        quoted, plain = match[2], match[3]
        found[match[1].strip()] = _unescape(quoted) if quoted is not None else plain
        place = match.end()
    if not found or place < len(rest):
        raise ValueError(f"{name[:200]!r} is not an object name")
    return found


def quote(value: str) -> str:
    """Quote a value, so that it matches only itself."""
    return '"' + _NEEDS_ESCAPE.sub(r"\\\1", value).replace("\n", "\\n") + '"'


def quote_pattern(pattern: str) -> str | None:
    """Quote a pattern of `*` and `?`; None if it has more than JMX knows."""
    if any(letter in pattern for letter in '[]"\\\n'):
        return None
    return f'"{pattern}"'


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: "\n" if match[1] == "n" else match[1], text)
