"""From a result folder to its report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from collectors.contract.untrusted_text import shown
from dashboards.report.answer import answer
from dashboards.report.experiment import html
from dashboards.report.model import Results
from deploy.errors import Problem
from deploy.results import folder as folders
from deploy.results.folder import Folder
from deploy.results.timelines import timeline

FILE: Final = "report.html"
_MOST_TIMELINES: Final = 24  # as many as the report draws


def results(found: Folder) -> Results:
    """Return all that a report tells of the folder."""
    left_out: list[str] = []
    drawn = sorted(found.runs, key=lambda run: (run.repetition, run.number))[:_MOST_TIMELINES]
    timelines = {run.number: timeline(found.run_folder(run), run, left_out) for run in drawn}
    half = [f"{shown(name)} was begun and is not whole: it is in no figure" for name in found.half]
    return Results(
        plan=found.plan,
        runs=found.runs,
        timelines=timelines,
        plan_text=found.plan_text,
        command="\n".join(_repeat(found)),
        factors=folders.factors_of(found),
        remarks=[*half, *left_out],
    )


def _repeat(found: Folder) -> Iterator[str]:
    commit = found.plan.versions.get("commit")
    if isinstance(commit, str) and commit:
        changed = "   # and what was changed since" if commit.endswith("+") else ""
        yield f"git checkout {commit.removesuffix('+')}{changed}"
    yield f"inflight experiment run {folders.PLAN}   # in the same order with `seed: {found.plan.seed}`"


def write(path: Path, out: Path | None = None) -> tuple[str, Path]:
    """Write the report of a folder, into it unless said otherwise; return the answer, and where it is.

    Raises Problem.
    """
    found = results(folders.read(path))
    file = out or path / FILE
    write_page(file, html(found))
    return answer(found), file


def write_page(file: Path, text: str) -> None:
    """Write it whole or not at all; raises Problem."""
    half = file.with_name(f".{file.name}.part")
    try:
        half.write_text(text, encoding="utf-8")
        half.replace(file)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise Problem(f"{shown(str(file))} cannot be written: {error.strerror}") from None
