"""What must hold, as people write it: `lost <= 0.1%`, `p99 <= 20ms`, `orders: rate >= 900/s`. Pure."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from collectors.config import units
from deploy.loads.figures import ALL

_FORM: Final = re.compile(
    r"(?:(?P<path>.+):\s+)?(?P<figure>[a-z][a-z0-9.]*)\s*(?P<is>[<>]=?)\s*(?P<value>.+)"
)
_SHARE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


def share(text: str) -> float:
    """Return `0.1%` as 0.001; raises ValueError for anything else."""
    match = _SHARE.fullmatch(text)
    if not match or float(match[1]) > 100:  # noqa: PLR2004 -- per cent
        raise ValueError(f"{text!r} is not a share; write it like 0.1%")
    return float(match[1]) / 100


def _duration(text: str) -> float:
    return units.duration_ns(text)


def _rate(text: str) -> float:
    return units.rate_per_second(text)


def _count(text: str) -> float:
    if not text.isdecimal():
        raise ValueError(f"{text!r} is not a number of messages")
    return int(text)


# By the word that people write: the field of the figures, and how its bound is read.
FIGURES: Final[Mapping[str, tuple[str, Callable[[str], float]]]] = {
    "lost": ("lost_share", share),
    "rate": ("rate_per_second", _rate),
    "p50": ("p50_ns", _duration),
    "p90": ("p90_ns", _duration),
    "p99": ("p99_ns", _duration),
    "p99.9": ("p999_ns", _duration),
    "max": ("max_ns", _duration),
    "mean": ("mean_ns", _duration),
    **{name: (name, _count) for name in ("sent", "received", "refused", "unobserved", "unsent")},
}


@dataclass(frozen=True)
class Must:
    """A bound of one figure of a path, or of all paths together."""

    text: str
    path: str
    field: str
    comparison: str
    bound: float

    def judge(self, figures: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return whether it held, as a run's summary has it; what is not known did not hold."""
        value = figures.get(self.path, {}).get(self.field)
        held = value is not None and _COMPARISONS[self.comparison](value, self.bound)
        return {"must": self.text, "held": held, "is": value}


def read(text: object) -> Must:
    """Return what a text says; raises ValueError where it says nothing of that kind."""
    match = _FORM.fullmatch(text.strip()) if isinstance(text, str) else None
    if not match or match["figure"] not in FIGURES:
        raise ValueError(
            f"{text!r} is not of the form `[PATH: ]FIGURE <= BOUND`, with a figure of {', '.join(FIGURES)}"
        )
    field, bound = FIGURES[match["figure"]]
    return Must(match.string, match["path"] or ALL, field, match["is"], bound(match["value"].strip()))
