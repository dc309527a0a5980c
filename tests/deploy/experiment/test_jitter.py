"""Jitter after each action, from the records of receivers: worked examples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from collectors.config import load
from collectors.config.paths import Path, resolve
from collectors.contract.records import Header, Received, Record
from deploy.actions.performance import Done
from deploy.experiment import jitter
from deploy.topology.action import Action

MS = 1_000_000
START = 1_700_000_000_000 * MS
PERIOD = 100 * MS
CONFIG = """\
version: 1
site: here
endpoints: {east: {url: "amqp://127.0.0.1:1"}, west: {url: "amqp://127.0.0.1:2"}}
paths: {p: {from: east, to: west, address: p, rate: 10/s}}
"""


def path() -> Path:
    return resolve(load.parse(CONFIG, "config"))["p"]


def record(arrivals_ms: dict[int, int]) -> Record:
    """Messages by number, due every 100 ms from the start on, with when they came."""
    numbers = np.array([*arrivals_ms], np.int64)
    due_ns = START + numbers * PERIOD
    came_ns = START + np.array([*arrivals_ms.values()], np.int64) * MS
    count = len(numbers)
    header = Header(
        mesh="m",
        path="p",
        address="p",
        source="east",
        target="west",
        role="receiver",
        name="r",
        run="0" * 16,
        observed_from_ns=START,
        senders=1,
        receivers=1,
        kind="received",
        number=0,
        frontier_ns=int(came_ns.max()),
    )
    rows = Received.of(
        numbers,
        due_ns,
        due_ns,
        came_ns,
        np.zeros(count, np.int64),
        np.ones(count, np.bool_),
        np.zeros(count, np.uint8),
    )
    return Record(header, received=rows)


def done(*began_ms: int) -> list[Done]:
    action = Action.model_validate({"do": "stall", "what": "A--B"})
    return [Done(action, began_ns=START + at * MS) for at in began_ms]


def peaks(arrivals: jitter.Arrivals, *began_ms: int, to_ms: int) -> dict[str, Any]:
    found: dict[str, Any] = jitter.peaks(arrivals, [path()], done(*began_ms), START + to_ms * MS)["p"]
    return found


def test_each_action_has_the_largest_jitter_that_follows_it() -> None:
    """Held from 450 to 850 ms, and from 1,450 to 1,650: the first after each is late by what was held.

    By hand: number 5 was due at 500 and comes at 850, number 4 came at 401: 850 − 401 − 100 = 349 ms; 6, 7
    and 8 come with it, and so 100 ms early each. Number 15 was due at 1,500 and comes at 1,650: 149 ms.
    """
    came = {n: n * 100 + 1 for n in range(20)}
    came |= {5: 850, 6: 850, 7: 850, 8: 850, 15: 1650, 16: 1650}
    arrivals = jitter.Arrivals()
    arrivals.take(record({n: came[n] for n in range(7)}))
    arrivals.take(record({n: came[n] for n in range(7, 20)}))
    found = peaks(arrivals, 450, 1450, to_ms=2000)
    assert [(one["number"], one["jitter_ns"], one["missing"]) for one in found["peaks"]] == [
        (5, 349 * MS, 0),
        (15, 149 * MS, 0),
    ]
    assert [one["began_ns"] for one in found["peaks"]] == [START + 450 * MS, START + 1450 * MS]
    assert found["peaks"][0]["negative"] == 3
    assert found["distribution"]["max_ns"] == 349 * MS
    assert found["distribution"]["mean_ns"] == 249 * MS


def test_what_never_came_is_missing_and_what_came_twice_counts_once() -> None:
    """With 6 and 7 lost and 5 delivered twice, number 8 comes 300 ms behind the one before it."""
    came = {n: n * 100 + 1 for n in range(12) if n not in {6, 7}}
    arrivals = jitter.Arrivals()
    arrivals.take(record(came))
    arrivals.take(record({5: 1100}))
    (peak,) = peaks(arrivals, 500, to_ms=1200)["peaks"]
    assert (peak["number"], peak["jitter_ns"], peak["missing"]) == (8, 200 * MS, 2)


def test_without_messages_there_is_nothing_to_tell() -> None:
    found = peaks(jitter.Arrivals(), 500, to_ms=1200)
    assert (found["peaks"], found["distribution"]) == ([], None)


def test_runs_with_the_same_levels_are_one_distribution() -> None:
    """Of the largest jitter of all their actions; others stand by themselves."""
    peak = {"began_ns": 0, "number": 1, "missing": 0, "negative": 0, "caught_up": True}

    def run(size: str, *jitters_ns: int) -> dict[str, Any]:
        each = [{**peak, "jitter_ns": one} for one in jitters_ns]
        return {"levels": {"load.size": size}, "jitter": {"p": {"period_ns": PERIOD, "peaks": each}}}

    found = jitter.over_runs([run("1kB", 100, 300), run("2kB", 7), run("1kB", 500), {"levels": {}}])
    assert [(one["levels"]["load.size"], one["path"]) for one in found] == [("1kB", "p"), ("2kB", "p")]
    assert [one["distribution"]["repetitions"] for one in found] == [3, 1]
    assert found[0]["distribution"]["mean_ns"] == 300
    assert found[0]["distribution"]["sd_ns"] == 200
    assert found[0]["distribution"]["max_ns"] == 500


def test_what_a_run_keeps_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jitter, "MOST", 10)
    arrivals = jitter.Arrivals()
    arrivals.take(record({n: n for n in range(10)}))
    with pytest.raises(ValueError, match="over 10 messages: make the run shorter"):
        arrivals.take(record({10: 10}))


@pytest.mark.parametrize(
    "change", [{"senders": 2}, {"receivers": 2}, {"arrivals": "poisson"}, {"rate": path().rate * 2}]
)
def test_only_what_has_a_period_has_jitter(change: dict[str, Any]) -> None:
    assert jitter.refused(path()) is None
    assert "a constant rate" in (jitter.refused(replace(path(), **change)) or "")
