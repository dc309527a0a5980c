"""Whether two plans ask the same: else a difference between results says nothing of what was changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final

from collectors.contract.untrusted_text import shown
from dashboards.report.cells import written

# What may differ: how a plan is called, how often and in which order it is run, and the router.
_FREE: Final = frozenset({"name", "says", "seed", "repetitions", "forms", "must"})
_FREE_PLACES: Final = (("network", "topology", "program"), ("network", "topology", "name"))
_CONFIG: Final = ("network", "config")
_NONE: Final = object()
_MOST: Final = 10
_DEEPEST: Final = 50


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Return a line for each place in which two plans differ that ask for another load or network."""
    return [
        f"{shown('.'.join(place))}: {_said(one)} in A, {_said(other)} in B"
        for place, one, other in _different(a, b, ())
    ]


def refusal(found: list[str]) -> str:
    """Return why the results cannot be compared."""
    more = [f"… and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return (
        "A and B were measured by plans that ask for different things, so a difference of their results would"
        " say nothing:\n  " + "\n  ".join([*found[:_MOST], *more]) + "\nrun one plan on both"
    )


def _different(a: Any, b: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    if (len(place) == 1 and place[0] in _FREE) or place in _FREE_PLACES:
        return
    if isinstance(a, Mapping) and isinstance(b, Mapping) and len(place) < _DEEPEST:
        for key in sorted({*map(str, a), *map(str, b)}):
            yield from _different(a.get(key, _NONE), b.get(key, _NONE), (*place, key))
    elif a is _NONE or b is _NONE or _text(a, place) != _text(b, place):
        yield place, a, b


def _text(value: Any, place: tuple[str, ...]) -> str:
    if place == _CONFIG and isinstance(value, str):
        value = PurePath(value).name  # each checkout has its own place for it
    return json.dumps(value, sort_keys=True, default=str)


def _said(value: Any) -> str:
    return "nothing" if value is _NONE else written(value)
