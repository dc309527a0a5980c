"""Loads that are no plain stream, in plans: what is wrong with them, and what becomes of their end points."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.config.load import ConfigError
from deploy.experiment import plan
from deploy.experiment.other_loads import description
from deploy.loads.model import Description

PLAN = """\
version: 1
name: tokens
says: How long does a token take?
network:
  topology:
    routers: {A: {}}
    brokers: {store: {stomp: true}}
    links: [{from: A, to: store, queues: [inflight.x]}]
load:
  kind: relay
  at: A
  address: tokens
  clients: 3
phases: {steady: 5s}
"""
MISTAKES = {
    "an unknown setting": (("clients: 3", "client: 3"), "13: load.client: unknown key; is `clients` meant?"),
    "a value that cannot be": (("clients: 3", "clients: 1"), "13: load.clients: should be greater than"),
    "an end point that is not there": (("at: A", "at: B"), "9: load: "),
    "a rate that changes": (
        ("{steady: 5s}", "{ramp: {from: 1/s, to: 2/s, by: 1/s, each: 5s}}"),
        "9: load: `steps`, `ramp` and `search` of load.rate are for streams",
    ),
    "a broker that is not there": (
        ("kind: relay", "endpoints: {s: {stomp: stor}}\n  kind: relay"),
        "9: load: endpoints.s: no broker is called 'stor'; there are: A, store",
    ),
    "a value of a step that cannot be": (
        ("{steady: 5s}", "{steps: {of: load.clients, values: [2, 1], each: 5s}}"),
        "load.clients: should be greater than",
    ),
}


def read(tmp_path: Path, text: str) -> plan.Experiment:
    (tmp_path / "plan.yaml").write_text(text)
    return plan.read(tmp_path / "plan.yaml")


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told(tmp_path: Path, name: str) -> None:
    """At its key where it has one, for each value of a setting that changes."""
    (old, new), told = MISTAKES[name]
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, PLAN.replace(old, new, 1))
    (mistake,) = refused.value.mistakes
    assert told in mistake


def test_a_kind_by_itself_is_named_after_it(tmp_path: Path) -> None:
    """Its end points are those of the network; it ends after the measured time."""
    setup = read(tmp_path, PLAN).setup({})
    made = description(setup.load, setup.made()["endpoints"], 7_000_000_000)
    found = Description.model_validate(made)
    assert list(found.loads) == ["relay"]
    assert found.loads["relay"].duration == 7_000_000_000
    assert {"A", "store"} <= found.endpoints.keys()


def test_what_a_count_ends_has_no_time() -> None:
    """Each load for itself."""
    loads = {"a": {"kind": "ping-pong", "count": 5}, "b": {"kind": "ping-pong"}}
    found = description({"kind": "several", "loads": loads}, {}, 3_000_000_000)["loads"]
    assert "duration" not in found["a"]
    assert found["b"]["duration"] == "3000000000ns"


def test_a_broker_s_stomp_is_at_its_own_port(tmp_path: Path) -> None:
    """Named by the broker, as its port is known only once a lab runs."""
    text = PLAN.replace("kind: relay", "endpoints: {s: {stomp: store}}\n  kind: relay")
    setup = read(tmp_path, text).setup({})
    made = setup.made()
    ends = description(setup.load, made["endpoints"], 1_000_000_000)["endpoints"]
    assert ends["s"]["url"].partition("://")[2] == made["endpoints"]["store"]["url"].partition("://")[2]
    assert ends["s"]["url"].startswith("stomp://")
