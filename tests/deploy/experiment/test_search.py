"""A search over passages of a network whose capacity is known."""

from __future__ import annotations

from typing import Any, cast

import pytest

from deploy.experiment.form import Search
from deploy.experiment.load import Step
from deploy.experiment.measuring import Measuring
from deploy.experiment.passage import Passed
from deploy.experiment.search import search

SECOND = 1_000_000_000
TRIAL_SECONDS = 30


class Network:
    """Carries so many messages a second, without jitter, and keeps the others waiting."""

    def __init__(self, capacity: float, ceiling: float = 1e9) -> None:
        self._capacity, self._ceiling = capacity, ceiling
        self._rates: dict[int, float] = {}  # by begin
        self.tried: list[float] = []

    def pass_once(self, rate: str | None, steps: list[Step]) -> Passed:
        assert rate is not None
        assert [step.duration_ns for step in steps] == [TRIAL_SECONDS * SECOND]
        asked = float(rate.removesuffix("/s"))
        self.tried.append(asked)
        from_ns = len(self.tried) * 1_000 * SECOND
        self._rates[from_ns] = asked
        return Passed(
            from_ns=from_ns,
            to_ns=from_ns + TRIAL_SECONDS * SECOND,
            steps=steps,
            stopped=None,
            done=[],
            at_ceiling=asked > self._ceiling,
            unbounded=[],
            processes=1,
            figures=None,
        )

    # as Measuring has it

    def figures(self, spans: list[tuple[int, int]], _unbounded: list[str]) -> dict[str, Any]:
        asked = self._rates[spans[0][0]]
        return {
            "all": {
                "asked_per_second": asked,
                "rate_per_second": min(asked, self._capacity),
                "lost_share": 0.0,
                "p99_ns": 1_000_000,
                "series": {},
            }
        }

    def backlog(self, from_ns: int, to_ns: int) -> list[int]:
        grows = max(0.0, self._rates[from_ns] - self._capacity)
        return [round(grows * second) for second in range((to_ns - from_ns) // SECOND)]


def searched(network: Network, low: str, high: str) -> dict[str, Any]:
    pytest.importorskip("scipy", reason="optional: scipy is not on this machine")
    wanted = Search.model_validate({"low": low, "high": high, "trial": f"{TRIAL_SECONDS}s"})
    found = search(wanted, network.pass_once, cast("Measuring", network), lambda _text: None)
    told = found.as_json()
    assert [trial["rate_per_second"] for trial in told["trials"]] == network.tried
    return {**told, "passed": found.passed}


def test_the_interval_holds_the_capacity() -> None:
    """The run's own figures are those of a trial at its lower end."""
    network = Network(capacity=1_234)
    found = searched(network, "100/s", "10000/s")
    low, high = found["interval"]["low_per_second"], found["interval"]["high_per_second"]
    # A rate passes while 99 % of it come, and the backlog grows by less than 1 % of it.
    assert low <= 1_234 / 0.99 < high * 1.01
    assert 1_234 < high <= low * 1.1
    at = found["passed"].from_ns
    assert next(t["rate_per_second"] for t in found["trials"] if t["steady_from_ns"] == at) == low
    assert {t["word"] for t in found["trials"] if t["rate_per_second"] <= low} == {"passed"}


def test_the_load_s_own_end_is_not_the_network_s() -> None:
    """Where no process could send more, nothing more is said of the network."""
    found = searched(Network(capacity=1e9, ceiling=2_000), "100/s", "10000/s")
    assert found["interval"]["high_per_second"] is None
    assert found["interval"]["ceiling_per_second"] > 2_000
    assert found["interval"]["low_per_second"] <= 2_000
