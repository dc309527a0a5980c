"""Attributes of routers and brokers as rows of a table: what is asked for, and what becomes of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, cast, get_args

from collectors.contract.metrics import MetricValue

# count: rises until a restart, and is summed up so that it only rises; number: a whole one; ratio: 0..1;
# percent: 0..100, read as a ratio; load: negative where unknown; usage: of java.lang; texts, counts: lists
Type = Literal["count", "number", "ratio", "percent", "load", "flag", "text", "texts", "counts", "usage"]
_TYPES: Final = get_args(Type)
_METRIC: Final = re.compile(r"(\w+)(?:(\()(\w*)\)|=(\w+))?")


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute by its name there and its name here. One without a metric is in records only."""

    remote_name: str
    name: str
    type: Type
    metric: str = ""  # of the catalogue
    labels: tuple[str, ...] = ()  # the value of the metric's last label, where the table says one
    good: str = ""  # of a text: the metric is 1 where it is this, else 0
    divisor: int = 1  # from the attribute's unit to the metric's
    highest: bool = False  # of a group the highest counts, not the sum


def attributes(table: str) -> tuple[Attribute, ...]:
    """Read a table of one attribute a line: its name there, its name here, its type and, if any, its metric.

    Behind the metric stands `(label)`, the value of its last label, `()` where that is the attribute's name,
    or `=text` for a metric that is 1 where the attribute is this text; then `/divisor` or `max`. A name that
    is empty is written as `""`. Raises ValueError for a line of another form.
    """
    return tuple(_attribute(line) for line in table.strip().splitlines())


def _attribute(line: str) -> Attribute:
    remote_name, name, kind, *rest = line.split()
    metric = _METRIC.fullmatch(rest[0] if rest else "_")
    divisors = [option[1:] for option in rest[1:] if option.startswith("/")]
    unknown = {*rest[1:]} - {"max", *(f"/{divisor}" for divisor in divisors)}
    if kind not in _TYPES or metric is None or unknown:
        raise ValueError(f"not an attribute: {line}")
    return Attribute(
        remote_name.strip('"'),
        name,
        cast(Type, kind),
        metric[1] if rest else "",
        (metric[3] or name,) if metric[2] else (),
        metric[4] or "",
        int(divisors[0]) if divisors else 1,
        "max" in rest[1:],
    )


def metric_values(
    shown: Iterable[Attribute], labels: tuple[str, ...], values: Iterable[Any]
) -> Iterator[MetricValue]:
    """Yield the metric of each attribute with its value, unless that is None."""
    for attribute, value in zip(shown, values, strict=True):
        if value is not None:
            scaled = value if attribute.divisor == 1 else value / attribute.divisor
            yield attribute.metric, labels + attribute.labels, scaled
