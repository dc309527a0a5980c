"""What an experiment found, in a sentence that stands first."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from dashboards.report.answer import answer, figures, remarks
from dashboards.report.model import Action, Figures, Held, Interval, Plan, Planned, Results, Run, Search

MS = 1_000_000


def run(number: int = 1, levels: Mapping[str, Any] | None = None, **more: Any) -> Run:
    """A run of 1,000 messages, all received, unless told otherwise."""
    lost = more.pop("lost", 0)
    of = Figures(
        sent=1_000,
        received=1_000 - lost,
        refused=0,
        lost=lost,
        unobserved=more.pop("unobserved", 0),
        windows=more.pop("windows", 40),
        rate_per_second=more.pop("rate", 100.0),
        lost_share=lost / 1_000,
        p50_ns=more.pop("p50_ns", 2 * MS),
        p99_ns=more.pop("p99_ns", 9 * MS),
        mean_ns=more.pop("mean_ns", 3 * MS),
    )
    return Run(number, 0, levels or {}, {"all": of}, began_ns=0, ended_ns=60 * 10**9, **more)


def results(*runs: Run, planned: int | None = None, **more: Any) -> Results:
    count = len(runs) if planned is None else planned
    plan = Plan("p", runs=[Planned(number, 0, {}) for number in range(1, count + 1)])
    return Results(plan, runs, {}, "", "", **more)


def held(*known: tuple[str, bool]) -> list[Held]:
    return [Held(must, kept) for must, kept in known]


def test_all_held() -> None:
    """What must hold is named, with how many runs it held in."""
    runs = [run(n, held=held(("lost <= 0.1%", True), ("p99 <= 20ms", True))) for n in (1, 2, 3)]
    assert answer(results(*runs)) == "Lost <= 0.1% and p99 <= 20ms held in all 3 runs."
    assert answer(results(runs[0])) == "Lost <= 0.1% and p99 <= 20ms held in its one run."


def test_what_did_not_hold_comes_first() -> None:
    """With the number of runs; what held follows."""
    some = [run(n, held=held(("rate >= 90/s", True), ("p99 <= 5ms", n > 1))) for n in (1, 2, 3)]
    assert answer(results(*some)) == (
        "P99 <= 5ms did not hold in 1 of 3 runs; rate >= 90/s held in all 3 runs."
    )
    none = [run(n, held=held(("p99 <= 5ms", False))) for n in (1, 2)]
    assert answer(results(*none)) == "P99 <= 5ms did not hold in any of 2 runs."


def test_what_did_not_hold_is_told_at_its_worst() -> None:
    """In the unit of its figure, on the side where it is bad; what was not known has no number."""
    runs = [
        run(n, held=[Held("p99 <= 5ms", False, ns), Held("a: rate >= 900/s", False, rate), Held("x", False)])
        for n, ns, rate in ((1, 7 * MS, 880.0), (2, 21 * MS, 890.0))
    ]
    assert answer(results(*runs)) == (
        "P99 <= 5ms did not hold in any of 2 runs (at worst 21 ms); a: rate >= 900/s did not hold in any of 2"
        " runs (at worst 880/s); x did not hold in any of 2 runs."
    )
    one = run(held=[Held("lost <= 0.1%", False, 0.025)])
    assert answer(results(one)) == "Lost <= 0.1% did not hold in its one run (2.50 %)."


def test_with_nothing_to_hold_the_figures_are_the_answer() -> None:
    """Of one combination of levels the median, and from where to where; nothing lost has its exact bound."""
    found = results(run(1, p50_ns=2 * MS), run(2, p50_ns=3 * MS), run(3, p50_ns=7 * MS))
    # Of 3,000 none lost: 1 - 0.05 ** (1 / 3000) = 0.0998 %, by the rule of three about 3 / 3000.
    assert answer(found) == (
        "Rate 100/s; p50 3 ms (2 ms to 7 ms); p99 9 ms; nothing was lost of 3,000 messages"
        " (with 95 % confidence less than 0.10 %)."
    )
    assert figures(found) == ""


def test_over_several_levels_the_least_and_the_most() -> None:
    """Each with its levels, by the last word of the factor."""
    found = results(
        run(1, {"topology.cost": 1}, p50_ns=2 * MS, lost=10), run(2, {"topology.cost": 5}, p50_ns=4 * MS)
    )
    assert answer(found) == (
        "Rate 100/s with all levels; p50 from 2 ms (cost 1) to 4 ms (cost 5); p99 9 ms with all levels;"
        " lost from 0 % (cost 5) to 1.00 % (cost 1)."
    )


def test_the_ceiling_of_the_generator_is_part_of_the_answer() -> None:
    """Else the network would be blamed for it."""
    found = results(run(1, at_ceiling=True, held=held(("rate >= 1/s", True))), run(2))
    assert "1 of 2 runs were at the ceiling of the load generator, and say nothing of" in answer(found)


def test_no_run_is_finished() -> None:
    """Then there is no figure, and no word of one."""
    assert answer(results(planned=4)) == "Nothing can be said yet: no run is finished."
    assert figures(results(planned=4)) == ""
    assert list(remarks(results(planned=4))) == [
        "4 of 4 runs are missing: `inflight experiment resume` goes on with them"
    ]


def test_a_search_says_its_interval() -> None:
    """Of each combination of levels that was searched."""
    said = "between 4,000/s, which passed 3 of 3, and 4,400/s, which failed 2 of 3"
    found = results(run(1, {"load.size": "1kB"}, search=Search(Interval(said, 4_000, 4_400))))
    assert answer(found).startswith(f"Capacity with size 1kB: {said}.")


def _factorial(noise_ms: float, repetitions: int = 2) -> Results:
    """Clients from 15 to 30 double the time, brokers change nothing but noise."""
    runs = []
    for repetition in range(repetitions):
        for clients in (15, 30):
            for brokers in (4, 8):
                mean = (5 if clients == 15 else 10) + noise_ms * (-1) ** (repetition + brokers // 4)
                levels = {"load.clients": clients, "brokers": brokers}
                one = run(len(runs) + 1, levels, mean_ns=mean * MS)
                runs.append(dataclasses.replace(one, repetition=repetition))
    return results(*runs, factors={"load.clients": [15, 30], "brokers": [4, 8]})


def test_a_design_of_two_levels_each_says_what_explains() -> None:
    """Only what is not within noise explains; the rest is named as noise."""
    said = answer(_factorial(0.1))
    assert said.startswith("Clients (100%) explains the variation of the mean response time; ")
    assert "brokers" in said
    assert "within noise" in said
    loud = answer(_factorial(30.0))
    assert loud.startswith("No factor's effect on the response time can be told from noise.")
    once = answer(_factorial(0.1, repetitions=1))
    assert once.startswith("Clients goes with most of the variation, but one repetition does not tell noise")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"stopped": "lost more than 5%\x1b[2J"}, "run 1 was stopped: lost more than 5%\ufffd[2J"),
        ({"unobserved": 12}, "run 1: 12 messages were not observed, and are in no figure"),
        ({"windows": 20}, "1 run had fewer than 30 steady windows, too few for a comparison"),
        (
            {"actions": [Action("kill", "B", 5, None, "no such part")]},
            "run 1, action kill: no such part",
        ),
    ],
)
def test_what_to_know_when_reading(changed: dict[str, Any], said: str) -> None:
    """Each is told, and nothing where nothing is."""
    assert list(remarks(results(run(1, **changed)))) == [said]
    assert list(remarks(results(run(1)))) == []
