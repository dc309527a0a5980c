"""Names and texts from outside: matched by patterns, shortened, and made harmless for a screen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

MAX_TEXT: Final = 512
_ESCAPE: Final = b"\\u"


def read_json(data: bytes) -> Any:
    """Parse JSON in UTF-8; raises ValueError for anything else, and for half of a surrogate pair.

    Such a half can be read but not written, so it would fail where somebody passes it on.
    """
    try:
        found = json.loads(data.decode())
        if _ESCAPE in data:
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return found


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Return whether the name matches one of the patterns (`*`, `?`, `[…]`)."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def encodable(text: str) -> str:
    """Return the text as it can be encoded in UTF-8, cut to MAX_TEXT characters."""
    return (text if text.isascii() else text.encode("utf-8", "replace").decode())[:MAX_TEXT]


def shown(text: str) -> str:
    """Return the text with each character replaced that could steer a terminal."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
