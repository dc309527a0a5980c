"""The stories of the demonstration: as data, the verdict that each ends with, and one told whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attribution_rows import episode, hop
from made_rows import LENGTH, SECOND, START

from collectors.contract.attribution_rows import AttributionRow
from deploy.commands.demo import FAULTS
from deploy.demo.stories import changed, stories, topology
from deploy.demo.verdict import Span, verdict
from deploy.why.choose import Known

BOUND_SECONDS = 500  # of a whole demonstration, on a machine that has much else to do


STORY = Span(START + 2 * LENGTH, START + 6 * LENGTH)


def known(*rows: AttributionRow, newest: int = 6) -> Known:
    """What an exporter knows whose newest final window is the one of that number."""
    window = {"start_ns": START + newest * LENGTH, "length_ns": LENGTH, "sent": 500, "classes": {}}
    return Known(path="east-west", now_ns=START + 9 * LENGTH, rows=rows, window=window)


def test_the_command_has_each_story() -> None:
    """And without a name the router in the middle is killed."""
    assert tuple(stories()) == FAULTS
    assert FAULTS[0] == "killed"


@pytest.mark.parametrize("name", FAULTS)
def test_a_story_is_a_network_that_can_be_run(name: str) -> None:
    """Its parts, links and paths are there; what is done ends by itself, a while after the first results."""
    story = stories()[name]
    network = topology(story)
    assert story.path in network.paths
    (action,) = network.stories[name]
    assert action.lasts is not None
    assert action.after == 12 * SECOND
    assert story.breaks_links == ("--" in action.what)


def test_a_change_replaces_what_it_names_and_nothing_else() -> None:
    value = {"paths": {"a": {"rate": "1/s", "to": ["B", "C"]}, "b": {}}, "name": "n"}
    change = {"paths": {"a": {"to": "C", "credit": 2}}, "brokers": {"s": {}}}
    assert changed(value, change) == {
        "paths": {"a": {"rate": "1/s", "to": "C", "credit": 2}, "b": {}},
        "name": "n",
        "brokers": {"s": {}},
    }
    assert value["paths"] == {"a": {"rate": "1/s", "to": ["B", "C"]}, "b": {}}


def test_the_verdict_is_of_the_storys_time() -> None:
    """What was missing before it or after it is not told, however much that was."""
    before, after = episode(sentence="before"), episode(number=6, sentence="after")
    of_it = episode(number=3, sentence="of it", hops=[hop("B", 7, cause="gone")])
    found = verdict(known(before, of_it, after), STORY)
    assert found.sentence == "of it"
    assert found.final


def test_before_the_storys_windows_are_final_no_verdict_is() -> None:
    """More may be missing in those that are still to come."""
    assert not verdict(known(episode(number=3), newest=5), STORY).final


@pytest.mark.parametrize("fields", [{"open": True}, {"final": False}])
def test_a_verdict_that_can_change_is_provisional(fields: dict[str, Any]) -> None:
    found = verdict(known(episode(number=3, sentence="so far", **fields)), STORY)
    assert found.text == "east-west: so far (provisional)"


def test_of_a_second_episode_that_goes_on_the_verdict_is_provisional() -> None:
    """The first one is told, and not as the last word."""
    rows = episode(number=2), episode(number=5, hops=[hop(said=1)], final=False, open=True)
    assert not verdict(known(*rows), STORY).final


def test_each_episode_in_which_messages_are_missing_is_told() -> None:
    """As they came; one in which some were only slow is not."""
    first, second = episode(number=2, sentence="first"), episode(number=5, sentence="second")
    late = episode(number=4, hops=[], unexplained_lost=0, kind="slow", sentence="late")
    assert verdict(known(second, late, first), STORY).sentence == "first; second"
    assert verdict(known(late), STORY).sentence == "late"


def test_where_nothing_is_known_nothing_is_final() -> None:
    assert not verdict(known(), STORY).final


@pytest.mark.e2e
def test_a_story_ends_with_the_hop(tmp_path: Path) -> None:
    """A receiver's credit comes back late: its router is named, with no less than the ledgers say is lost."""
    told = tmp_path / "told.json"
    command = [sys.executable, "-m", "deploy", "demo", "--seconds", "10", "--fault", "flood"]
    done = subprocess.run(
        [*command, "--state", str(tmp_path / "state"), "--json", str(told)],
        check=False,
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    found = json.loads(told.read_text())
    lost = found["paths"]["presettled"]["lost"]
    assert lost > 0
    assert found["unaccounted"] == 0
    assert found["verdict"]["path"] == "presettled"
    assert found["verdict"]["final"]
    sentence = found["verdict"]["sentence"]
    assert sentence.startswith(f"{lost:,} of ")
    assert "dropped for want of credit" in sentence
    assert sentence in " ".join(done.stdout.split())
    assert "inflight why presettled http://" in " ".join(done.stdout.split())
