"""What the runs found, in lines: a table, and what must hold. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deploy.experiment import jitter, words
from deploy.loads.figures import ALL
from deploy.ping.figures import milliseconds

Summary = Mapping[str, Any]


def all_held(summaries: Sequence[Summary]) -> bool:
    return all(one["held"] for summary in summaries for one in summary["held"])


def line(summary: Summary) -> str:
    """Return what a run found, in a line."""
    of = summary["figures"][ALL]
    parts = [f"{of['rate_per_second']:,.0f}/s"]
    if of["p50_ns"] is not None:
        parts.append(f"p50 {milliseconds(of['p50_ns'])} ms")
    if of["p99_ns"] is not None:
        parts.append(f"p99 {milliseconds(of['p99_ns'])} ms")
    if of["lost_share"] is not None:
        parts.append(f"lost {of['lost_share']:.3%} ({of['lost']:,} of {of['sent']:,})")
    if of["unsent"]:
        parts.append(f"unsent {of['unsent']:,}")
    if summary["at_ceiling"]:
        parts.append("AT THE CEILING of the load's own processes")
    if summary["stopped"]:
        parts.append(f"stopped: {summary['stopped']}")
    if summary.get("ramp"):
        parts.append(summary["ramp"]["says"])
    if summary.get("search"):
        parts.append(summary["search"]["interval"]["says"])
    parts += [f"DID NOT HOLD: {one['must']}" for one in summary["held"] if not one["held"]]
    return ", ".join(parts)


def lines(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield a line for each run, in the order of levels, and what must hold."""
    yield ""
    ordered = sorted(summaries, key=lambda one: (list(map(str, one["levels"].values())), one["repetition"]))
    for summary in ordered:
        named = words.levels(summary["levels"]) or f"run {summary['number']}"
        yield f"{named}, repetition {summary['repetition'] + 1}: {line(summary)}"
    yield from _jitter(summaries)
    musts = [one for summary in summaries for one in summary["held"]]
    if musts:
        broken = sum(not one["held"] for one in musts)
        yield f"{broken} of {len(musts)} bounds did not hold" if broken else "all that must hold held"


def _jitter(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield how late a message came at the most after an action, by levels and paths."""
    for cell in jitter.over_runs(summaries):
        if (of := cell["distribution"]) is not None:
            named = ", ".join(filter(None, (words.levels(cell["levels"]), cell["path"])))
            worst, mean = (milliseconds(of[name]) for name in ("max_ns", "mean_ns"))
            told = f"largest jitter after each of {of['repetitions']} actions"
            yield f"{named}: {told} {mean} ms in the mean, {worst} ms at the worst"
