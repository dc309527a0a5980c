"""PromQL with short names of metrics, which are checked against the catalogue and expanded."""

from __future__ import annotations

import re
from typing import Final

from collectors.contract.metrics import CATALOGUE, PREFIX

# Words of the language that are no metrics; a name that stands in neither list is a mistake.
_WORDS: Final = frozenset(
    """and or unless on ignoring group_left group_right by without offset bool inf nan
    sum min max avg count topk bottomk count_values group stddev quantile
    abs absent absent_over_time avg_over_time ceil changes clamp clamp_max clamp_min count_over_time delta
    deriv exp floor histogram_quantile idelta increase irate label_join label_replace last_over_time
    max_over_time min_over_time predict_linear present_over_time quantile_over_time rate resets round scalar
    sort sort_desc start sum_over_time time timestamp vector""".split()  # noqa: SIM905 -- words read better without quotes
)
# What is none of PromQL's names: strings, comments, matchers and lists of labels, Grafana's variables, ranges
# and numbers. They are kept as they are.
_OTHER: Final = re.compile(
    r"""(?P<skip>"(?:[^"\\]|\\.)*"|\#[^\n]*|\{[^}]*\}|\[[^]]*\]|\$\w+|\$\{[^}]*\}
    |\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)|\b\d[\w.]*)
    |(?P<name>[A-Za-z_:][\w:]*)""",
    re.VERBOSE,
)
_SERIES: Final = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("",)}


class UnknownMetricError(ValueError):
    """An expression names something that nobody exports."""


def _names() -> dict[str, str]:
    """Return every series that is exported, with the short name of its metric."""
    return {
        metric.full_name + suffix: name
        for name, metric in CATALOGUE.items()
        for suffix in _SERIES.get(metric.kind, ("",))
    }


SERIES: Final = _names()


def expand(expression: str) -> str:
    """Return the expression with the full names of metrics; raises UnknownMetricError for unknown ones."""

    def full(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None or name in _WORDS or ":" in name:
            return match[0]
        if name == "up" or name in SERIES:  # Prometheus' own, or expanded before
            return name
        if PREFIX + name not in SERIES:
            raise UnknownMetricError(f"{name!r} is in no catalogue of metrics; it stands in: {expression}")
        return PREFIX + name

    return " ".join(_OTHER.sub(full, expression).split())


def metrics(expression: str) -> set[str]:
    """Return the series that an expression with full names reads, recorded ones included."""
    found = (match["name"] for match in _OTHER.finditer(expression))
    return {name for name in found if name and name not in _WORDS and name != "up"}
