"""A comparison as one HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from collectors.contract.untrusted_text import shown
from dashboards.report import comparison
from dashboards.report.model import Compared, Run
from deploy.compare.judged import Comparison, Judged
from deploy.compare.sides import Side
from deploy.results.report import write_page


def write(file: Path, found: Comparison) -> None:
    """Write the whole file; raises Problem."""
    compared = [
        Compared(each.name, each.verdict, *(_runs(side, each) for side in (found.a, found.b)))
        for each in found.judged
    ]
    sides = {name: list(_facts(side)) for name, side in (("A", found.a), ("B", found.b))}
    write_page(file, comparison.html(found.why, compared, sides, found.remarks))


def _runs(side: Side, judged: Judged) -> list[Run]:
    return [run for run in side.results.runs if dict(run.levels) == dict(judged.levels)]


def _facts(side: Side) -> Iterator[tuple[str, str]]:
    plan = side.results.plan
    began = datetime.fromtimestamp(plan.began_ns // 1_000_000_000, UTC)
    yield "results", side.name
    yield "plan", shown(plan.plan)
    yield "begun", f"{began:%Y-%m-%d %H:%M} UTC"
    yield (
        "runs",
        f"{len(side.results.runs)} of {len(plan.runs)}" if plan.runs else f"{len(side.results.runs)}",
    )
    yield "versions", side.programs
    yield "machine", side.machine
