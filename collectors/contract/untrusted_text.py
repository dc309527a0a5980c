"""Names and texts that come from elsewhere: chosen by patterns, kept short, and harmless on a screen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

MAX_TEXT: Final = 512
_ESCAPE: Final = b"\\u"


def read_json(data: bytes) -> Any:
    """What this JSON in UTF-8 says; ValueError where it is none, or holds half of a surrogate pair.

    Such a half can be read, and be written nowhere: it would fail where somebody passes it on.
    """
    try:
        found = json.loads(data.decode())
        if _ESCAPE in data:
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return found


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name is of one of the patterns (`*`, `?`, `[…]`)."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def clean(text: str) -> str:
    """A text of theirs that can be encoded and is not long."""
    return (text if text.isascii() else text.encode("utf-8", "replace").decode())[:MAX_TEXT]


def shown(text: str) -> str:
    """The text on a terminal, which nothing in it may steer."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
