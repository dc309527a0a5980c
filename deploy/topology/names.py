"""What parts of a network may be called, and how people name links."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator

from collectors.router.topology import EXPECT_SEPARATOR, pair

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def node_name(value: str) -> str:
    """A router's or broker's name: it becomes part of file names and of links' names `a--b`."""
    if not _NAME.fullmatch(value) or EXPECT_SEPARATOR in value:
        raise ValueError(
            "a name has 1 to 63 letters, digits, dots, dashes or underscores, begins with a letter or digit,"
            f" and holds no `{EXPECT_SEPARATOR}`"
        )
    return value


def part_or_link(value: str) -> str:
    """A part by its name, or a link by its two ends, in order; nothing in it means anything to a shell."""
    one, *other = value.split(EXPECT_SEPARATOR)
    if len(other) > 1 or not all(_NAME.fullmatch(end) for end in (one, *other)):
        raise ValueError(f"{value!a} is no part's name, nor a link like A--B")
    return pair(one, *other).id if other else value


NodeName = Annotated[str, AfterValidator(node_name)]
PartOrLink = Annotated[str, AfterValidator(part_or_link)]
