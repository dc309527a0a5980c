"""What chaostoolkit gets: functions for each kind of action, and an example that fits them."""

from __future__ import annotations

import importlib
import inspect
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attribution_rows import episode
from helpers import wait_until
from made_exporter import Served
from made_rows import LENGTH, START, live, window

from deploy.actions import chaos
from deploy.errors import Problem
from deploy.topology.action_kinds import KINDS

EXAMPLE = Path(__file__).resolve().parents[3] / "deploy/examples/chaos.json"


def activities(value: Any) -> list[dict[str, Any]]:
    """All that the experiment does or looks at."""
    if isinstance(value, dict):
        found = [value] if "provider" in value else []
        return found + [each for inner in value.values() for each in activities(inner)]
    return [each for inner in value for each in activities(inner)] if isinstance(value, list) else []


def test_the_example_fits_the_functions() -> None:
    """Names and arguments are checked as chaostoolkit does before it runs anything."""
    experiment = json.loads(EXAMPLE.read_text())
    found = activities(experiment)
    assert [activity["provider"]["func"] for activity in found] == ["p99", "kill", "lost"]
    for activity in found:
        provider = activity["provider"]
        assert provider["type"] == "python"
        function = getattr(importlib.import_module(provider["module"]), provider["func"])
        inspect.signature(function).bind(**provider["arguments"])
    assert {"title", "description", "method", "steady-state-hypothesis", "rollbacks"} <= experiment.keys()


@pytest.mark.parametrize("verb", KINDS)
def test_each_kind_is_a_function_with_its_fields(verb: str) -> None:
    """Under the same names; `for` and `from` are words that Python keeps for itself."""
    kind = KINDS[verb]  # type: ignore[index]  # a parameter is a str
    parameters = inspect.signature(getattr(chaos, verb)).parameters
    assert ("seconds" in parameters) == (kind.undo is not None or verb == "command")
    assert {"source" if name == "from" else name for name in kind.needs} <= parameters.keys()
    needed = {name for name, found in parameters.items() if found.default is inspect.Parameter.empty}
    assert needed - {"what", "seconds"} <= {*kind.needs}


def test_an_unknown_word_for_the_network() -> None:
    """It is told with those that there are."""
    with pytest.raises(Problem, match="network: labs is none of lab, topology, inventory,"):
        chaos.kill("B", 1, network={"labs": "x"})


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served()
    yield made
    made.close()


@pytest.mark.slow
def test_what_is_lost_and_how_long_messages_take(served: Served) -> None:
    """As the exporter knows it: a count since it began, and the newest percentile."""
    assert chaos.lost("east-west", served.url) == 0
    with pytest.raises(Problem, match="nothing of the path east-west has arrived"):
        chaos.p99("east-west", served.url)
    served.exporter.apply_window(window(lost=3))
    # The page's data are made once a second.
    wait_until(lambda: chaos.lost("east-west", served.url) == 3, 60, "the loss")
    served.exporter.apply_live(
        live(number=1, response={"50": 1_000_000, "max": 40_000_000, "mean": 2_000_000})
    )
    wait_until(lambda: abs(chaos.p99("east-west", served.url) - 0.04) < 1e-9, 60, "the largest of few")
    served.exporter.apply_live(
        live(number=2, response={"99": 30_000_000, "max": 40_000_000, "mean": 2_000_000})
    )
    wait_until(lambda: abs(chaos.p99("east-west", served.url) - 0.03) < 1e-9, 60, "the percentile")


def test_the_hop_to_blame(served: Served) -> None:
    """Of the newest episode, the one that is named first; nothing while nothing was missing."""
    assert chaos.attributed_to("east-west", served.url) == ""
    now = (time.time_ns() - START) // LENGTH  # what is a day old is not kept
    served.exporter.apply_attribution(episode(number=now - 1))
    assert chaos.attributed_to("east-west", served.url) == "C → receiver"
    with pytest.raises(Problem, match="no path west is known"):
        chaos.attributed_to("west", served.url)


def test_the_exporter_of_the_networks_config_is_asked(served: Served, tmp_path: Path) -> None:
    """A lab's listens at a port of its own: nobody has to look it up."""
    file = tmp_path / "inflight.yaml"
    listen = served.url.removeprefix("http://")
    file.write_text(
        "version: 1\nsite: one\nendpoints: {a: {url: 'amqp://127.0.0.1:1'}}\n"
        "paths: {east-west: {from: a, to: a, address: x}}\n"
        f"export: {{listen: '{listen}'}}\n"
    )
    assert chaos.lost("east-west", network={"with": "true {verb} {part}", "config": str(file)}) == 0


def test_a_path_that_there_is_not(served: Served) -> None:
    """It is told with those that there are."""
    with pytest.raises(Problem, match="there is no path 'west-east'; there are: east-west"):
        chaos.lost("west-east", served.url)
