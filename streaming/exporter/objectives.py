"""The objectives of a path, from the config."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from collectors.config import model as form
from collectors.config.model import Config
from collectors.contract.untrusted_text import matches

DELIVERY = "delivery"
LATENCY = "latency"


@dataclass(frozen=True, slots=True)
class Objective:
    """A share of the messages sent that are to arrive, at all or within a bound.

    Messages that nobody observed are left out; one that never came did not come in time either.
    """

    name: str  # the label `slo`
    kind: Literal["delivery", "latency"]
    ratio: float
    bound_ns: int | None


def objectives(config: Config, path: str, flow: str) -> tuple[Objective, ...]:
    """Return the objectives of a path, found by its name or its flow's.

    The first of a kind has the kind's name, which alert rules know; others have bound and share in theirs.
    """
    found: list[Objective] = []
    for slo in config.slos:
        if matches(path, slo.paths) or matches(flow, slo.paths):
            made = _objective(slo)
            if any(made.name == other.name for other in found):
                made = Objective(_longer_name(made), made.kind, made.ratio, made.bound_ns)
            if all(made.name != other.name for other in found):
                found.append(made)
    return tuple(found)


def _objective(slo: form.Slo) -> Objective:
    if slo.delivered is not None:
        return Objective(DELIVERY, "delivery", slo.delivered, None)
    if slo.latency is None or slo.share is None:
        raise ValueError("an objective with neither `delivered` nor `latency` and `share`")
    return Objective(LATENCY, "latency", slo.share, slo.latency)


def _longer_name(slo: Objective) -> str:
    bound = "" if slo.bound_ns is None else f"-{slo.bound_ns / 1e6:g}ms"
    return f"{slo.name}{bound}-{slo.ratio * 100:g}%"
