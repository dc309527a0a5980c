"""What an experiment found, in a sentence: what holds and what does not, then the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from collectors.contract.untrusted_text import shown
from dashboards.report import demands, factorial, ramps
from dashboards.report.cells import LOST, P50, P99, RATE, Cell, Column, cells, last_word, written
from dashboards.report.model import Held, Results, Run
from streaming.analysis.judged import LEAST_WINDOWS
from streaming.wording import seconds, share

_NAMED: Final = 4  # demands that did not hold, in the sentence


def answer(results: Results) -> str:
    """Return the answer to what the plan asked."""
    if not results.runs:
        return "Nothing can be said yet: no run is finished."
    said = [
        *_capacity(results),
        *ramps.answer(results),
        *_held(results.runs),
        *factorial.answer(factorial.analysed(results)[0]),
    ]
    if not said:
        said = list(_figures(results))
    said += _ceiling(results.runs)
    return _sentence("; ".join(said))


def figures(results: Results) -> str:
    """Return the most telling figures in a sentence, where the answer does not have them."""
    if not results.runs or answer(results) == _sentence(
        "; ".join([*_figures(results), *_ceiling(results.runs)])
    ):
        return ""
    return _sentence("; ".join(_figures(results)))


def remarks(results: Results) -> Iterator[str]:
    """Yield what a reader has to know of the figures."""
    if results.missing:
        yield (
            f"{len(results.missing)} of {_count(len(results.plan.runs), 'run')} are missing:"
            " `inflight experiment resume` goes on with them"
        )
    for run in results.runs:
        if run.stopped:
            yield f"run {run.number} was stopped: {shown(run.stopped)}"
        for action in run.actions:
            if action.problem:
                yield f"run {run.number}, action {shown(action.name)}: {shown(action.problem)}"
        if run.all is not None and run.all.unobserved:
            yield f"run {run.number}: {run.all.unobserved:,} messages were not observed, and are in no figure"
    few = sum(0 < run.all.windows < LEAST_WINDOWS for run in results.runs if run.all is not None)
    if few:
        yield f"{_count(few, 'run')} had fewer than {LEAST_WINDOWS} steady windows, too few for a comparison"
    yield from map(shown, results.remarks)


def _capacity(results: Results) -> Iterator[str]:
    """Yield the interval that a search found; of several the first ones, with their levels."""
    searched = [run for run in results.runs if run.search is not None]
    for run in searched[:_NAMED]:
        levels = ", ".join(f"{last_word(name)} {written(level)}" for name, level in run.levels.items())
        says = shown(run.search.interval.says) if run.search else ""
        yield f"capacity{f' with {levels}' if levels else ''}: {says}"
    if len(searched) > _NAMED:
        yield f"and of {_count(len(searched) - _NAMED, 'search')} more"


def _held(runs: Sequence[Run]) -> Iterator[str]:
    asked: dict[str, list[Held]] = {}
    for run in runs:
        for demand in run.held:
            asked.setdefault(shown(demand.must), []).append(demand)
    broken = {must: [each for each in found if not each.held] for must, found in asked.items()}
    failed = {must: len(found) for must, found in broken.items() if found}
    kept = [must for must in asked if must not in failed]
    for must, count in list(failed.items())[:_NAMED]:
        runs_of = len(asked[must])
        where = "in its one run" if runs_of == 1 else f"in {count} of {runs_of} runs"
        where = f"in any of {runs_of} runs" if 1 < runs_of == count else where
        was = demands.worst(broken[must])
        yield f"{must} did not hold {where}" + (f" ({'at worst ' * (count > 1)}{was})" if was else "")
    if len(failed) > _NAMED:
        yield f"nor did {len(failed) - _NAMED} others"
    if kept:
        every = f"in all {len(runs)} runs" if len(runs) > 1 else "in its one run"
        yield f"{_listed(kept) if len(kept) <= _NAMED else f'{len(kept)} demands'} held {every}"


def _figures(results: Results) -> Iterator[str]:
    """Yield rate, loss and latency: of one cell, or from the least cell to the most."""
    found = cells(results)
    lost = sum(run.all.lost for run in results.runs if run.all is not None)
    sent = sum(run.all.sent for run in results.runs if run.all is not None)
    for column in (RATE, P50, P99):
        said = _range(found, column)
        if said:
            yield said
    if not lost:
        bound = _loss_bound(results)
        yield f"nothing was lost of {sent:,} messages" + (
            f" (with 95 % confidence less than {bound})" if bound else ""
        )
    else:
        yield _range(found, LOST) or f"{lost:,} of {sent:,} messages were lost"
    for name, said in (("refused", "were refused"), ("unsent", "were due and could not be sent")):
        count = sum(getattr(run.all, name) for run in results.runs if run.all is not None)
        if count:
            yield f"{count:,} {said}"


def _range(found: Sequence[Cell], column: Column) -> str:
    known = [(spread, cell) for cell in found if (spread := cell.spread(column)) is not None]
    if not known:
        return ""
    (least, low), (most, high) = (pick(known, key=lambda each: each[0].median) for pick in (min, max))
    if len(found) == 1:
        reach = [column.written(least.least), column.written(least.most)]
        return f"{column.name} {column.written(least.median)}" + (
            f" ({' to '.join(reach)})" if reach[0] != reach[1] else ""
        )
    if column.written(least.median) == column.written(most.median):
        return f"{column.name} {column.written(least.median)} with all levels"
    return (
        f"{column.name} from {column.written(least.median)} ({low.name})"
        f" to {column.written(most.median)} ({high.name})"
    )


def _ceiling(runs: Sequence[Run]) -> Iterator[str]:
    count = sum(run.at_ceiling for run in runs)
    if count:
        which = "all runs" if count == len(runs) else f"{count} of {len(runs)} runs"
        yield f"{which} were at the ceiling of the load generator, and say nothing of what the network can do"


def took(results: Results) -> str:
    """Return how long the runs were, all together."""
    return seconds(sum(run.ended_ns - run.began_ns for run in results.runs))


def _loss_bound(results: Results) -> str:
    """Return what share may have been lost at the most where nothing was: the one-sided exact bound."""
    judged = sum(run.all.received + run.all.refused for run in results.runs if run.all is not None)
    return share(1 - 0.05 ** (1 / judged)) if judged else ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{('es' if word.endswith('ch') else 's') * (number != 1)}"
