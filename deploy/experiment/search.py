"""The highest rate that a network carries, found by trials on one network, drained between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from deploy import extra
from deploy.errors import Problem
from deploy.experiment import form
from deploy.experiment.load import Step
from deploy.experiment.measuring import Measuring
from deploy.experiment.passage import Passed
from deploy.loads.figures import ALL


class PassOnce(Protocol):
    def __call__(self, rate: str | None, steps: list[Step]) -> Passed:
        """Let the load go through the network once, at this rate."""


@dataclass
class Searched:
    """All trials, the interval, and the passage whose figures stand for the run."""

    passed: Passed
    interval: dict[str, Any]
    trials: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {"interval": self.interval, "trials": self.trials}


def search(
    wanted: form.Search, pass_once: PassOnce, measuring: Measuring, tell: Callable[[str], None]
) -> Searched:
    """Try rates until the interval is known; the figures are those of a trial at its lower end."""
    with extra.needed():
        from streaming.analysis import search as searching  # noqa: PLC0415 -- SciPy is an extra
    limits = searching.Limits(lost_share=wanted.lost, p99_ns=wanted.p99)
    state = searching.Search(wanted.low, wanted.high, limits=limits)
    carried: dict[float, Passed] = {}  # the last passage of each rate that passed
    last: Passed | None = None
    trials: list[dict[str, Any]] = []
    while (rate := state.next_rate()) is not None:
        tell(f"trial {len(trials) + 1}: {rate:g}/s a path")
        last = pass_once(f"{rate:.10g}/s", [Step(None, wanted.trial)])
        found = measuring.figures([(last.from_ns, last.to_ns)], last.unbounded)
        of = found[ALL]
        trial = searching.Trial(
            asked_per_second=of["asked_per_second"] or rate,
            got_per_second=of["rate_per_second"],
            backlog=measuring.backlog(last.from_ns, last.to_ns),
            lost_share=of["lost_share"] or 0.0,
            p99_ns=of["p99_ns"],
            at_ceiling=last.at_ceiling,
            stopped=last.stopped,
        )
        judged = state.took(rate, trial)
        tell(f"{rate:g}/s {judged.word}: {judged.why}")
        trials.append(
            {
                "rate_per_second": rate,
                "word": judged.word,
                "why": judged.why,
                "steady_from_ns": last.from_ns,
                "steady_to_ns": last.to_ns,
                "figures": {name: value for name, value in of.items() if name != "series"},
            }
        )
        if judged.word == "passed":
            carried[rate] = last
    if last is None:
        raise Problem("the search tried nothing")
    interval = state.interval()
    tell(interval.says)
    stands_for_all = carried.get(interval.low_per_second or 0.0, last)
    return Searched(stands_for_all, interval.as_json(), trials)
