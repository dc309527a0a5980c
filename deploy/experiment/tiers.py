"""Where the time of messages goes, by comparing runs with and without a tier. Pure.

A plan's `tiers` names, from the innermost tier outwards, the levels of runs that do without it:
{store: {middle: journal}, broker: {middle: router}}. What is left then is the client's, with its network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from deploy.experiment import words
from deploy.experiment.form import Tier
from deploy.loads.figures import ALL
from streaming.analysis import tiers
from streaming.analysis.tiers import Part

Summary = Mapping[str, Any]
Without = Mapping[Tier, Mapping[str, Any]]
_WIDTH: Final = 30


def tables(without: Without, summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """Return the table of each combination of levels that has all tiers, those of which there are runs."""
    found = []
    for levels in _combinations(summaries):
        steps = _steps(without, levels)
        runs = [_runs(summaries, one) for one in steps]
        # Runs that do without a tier have no table: they are part of those of others.
        if all(runs) and levels not in steps[1:]:
            made = tiers.split(_mean(runs[0], "mean_ns"), list(_parts(without, steps, runs)))
            found.append({"levels": dict(levels), **made.as_json()})
    return found


def lines(made: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the tables for people."""
    for table in made:
        yield ""
        named = words.levels(table["levels"]) or "all runs"
        yield f"where {table['whole_ns'] / 1e6:,.2f} ms go, {named}:"
        for row in table["rows"]:
            share, own = f"{row['share']:.1%}", f"{row['own_ns'] / 1e6:,.2f} ms"
            told = f"  {row['tier'] or '':<7} {row['name']:<{_WIDTH}} {own:>12} {share:>7}  {row['how']}"
            yield told.rstrip()
        yield f"  {table['says']}"


def _combinations(summaries: Sequence[Summary]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for summary in summaries:
        if summary["levels"] not in found:
            found.append(summary["levels"])
    return sorted(found, key=lambda levels: list(map(str, levels.values())))


def _steps(without: Without, levels: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the levels with all tiers, then those without the first one, and so on."""
    return [levels, *({**levels, **changed} for changed in without.values())]


def _runs(summaries: Sequence[Summary], levels: Mapping[str, Any]) -> list[Summary]:
    """Return the runs of these levels in which something came."""
    return [
        one for one in summaries if one["levels"] == levels and one["figures"][ALL]["mean_ns"] is not None
    ]


def _mean(runs: Sequence[Summary], figure: str) -> float:
    return fmean(_means(runs, figure))


def _means(runs: Sequence[Summary], figure: str) -> list[float]:
    return [run["figures"][ALL][figure] for run in runs]


def _parts(
    without: Without, steps: Sequence[Mapping[str, Any]], runs: Sequence[Sequence[Summary]]
) -> Iterator[Part]:
    service = "service_mean_ns"
    yield tiers.before_sending(_mean(runs[0], "mean_ns"), _mean(runs[0], service))
    if "broker" in without:  # else a broker is in the barest runs, too
        how = f"service with {_told(steps[-2], steps[-1])}"
        yield Part("client", "client and network", _mean(runs[-1], service), how)
    compared = zip(without, steps, steps[1:], runs, runs[1:], strict=False)
    for tier, one, other, has, lacks in reversed([*compared]):  # in the order of the way
        how = f"service with {_told(other, one)}, less that with {_told(one, other)}"
        yield tiers.difference(tier, tier, _means(has, service), _means(lacks, service), how=how)
        if tier == "broker":
            yield from _queues(has)


def _told(other: Mapping[str, Any], levels: Mapping[str, Any]) -> str:
    """Return what differs of levels from others."""
    return words.levels({name: level for name, level in levels.items() if other[name] != level})


def _queues(runs: Sequence[Summary]) -> Iterator[Part]:
    """Yield what waits in each broker's queues for a receiver, as its polls tell: a second way to count."""
    for name in dict.fromkeys(name for run in runs for name in run["waiting"]):
        waited = [
            tiers.waiting("broker", name, [run["waiting"][name]], run["figures"][ALL]["rate_per_second"])
            for run in runs
            if name in run["waiting"]
        ]
        mean_ns = fmean(part.mean_ns for part in waited)
        yield Part("broker", f"waiting in {name}", mean_ns, waited[0].how, within="broker")
