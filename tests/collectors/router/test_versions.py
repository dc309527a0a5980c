"""Routers of all versions: each tells all it has, none is asked for what it refuses; upgrades are followed.

What a run of releases lacks of what we ask for is written down as it stands in the projects' sources, from
qpid-dispatch 1.14.0 to skupper-router 3.5.1: the columns of a router's core (`src/router_core/agent_*.c`),
and the schema of its Python agent (`qdrouter.json`, `skrouter.json`).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from helpers import wait_until
from replay import CAPTURES, Replay, play
from scripted import ScriptedNode

from collectors.router import schema
from collectors.router.asked import KnownRouter
from collectors.router.poll import Poll
from collectors.router.snapshot import RouterSnapshot, take_snapshot

pytestmark = pytest.mark.slow

Row = dict[str, Any]


def as_captured(_who: Row, _metrics: Row) -> None:
    """As it is in the captures."""


def version_by_name(_who: Row, metrics: Row) -> None:
    """The version stands where it says."""
    metrics["version"] = metrics.pop("")


def counters_in_router(who: Row, metrics: Row) -> None:
    """There is no `routerMetrics`, and `router` tells what it would."""
    del metrics["linksBlocked"]  # so that it is taken from where it stands now
    who |= {"linksBlocked": 0, **{name: metrics[name] for name in metrics if name not in who}}
    who["version"] = who.pop("")
    metrics.clear()


def and_no_resident_memory(who: Row, metrics: Row) -> None:
    """Nor does it tell that."""
    counters_in_router(who, metrics)
    del who["residentMemoryUsage"]


@dataclass(frozen=True)
class Release:
    """Releases that tell the same; `lacks` has the routers' names of attributes that they do not tell."""

    first_and_last: str
    capture: str
    version: str  # in the capture
    change: Callable[[Row, Row], None]
    lacks: dict[str, set[str]]


SKUPPER_LACKS = {
    "router.address": {"containerCount"},
    "router.config.address": {"waypoint", "ingressPhase", "egressPhase"},
}
RELEASES = (
    Release("1.14.0 to 1.19.0", "qdrouterd", "1.19.0", as_captured, {"router": {"residentMemoryUsage"}}),
    Release(
        *("2.0.0 to 2.4.3", "skrouterd", "main", and_no_resident_memory),
        {**SKUPPER_LACKS, "router": {"linkRouteCount", "residentMemoryUsage"}},
    ),
    Release(
        *("2.5.0 to 2.7.6", "skrouterd", "main", counters_in_router),
        {**SKUPPER_LACKS, "router": {"linkRouteCount"}},
    ),
    Release(
        *("3.0.0 to 3.4.2", "skrouterd", "main", version_by_name),
        {**SKUPPER_LACKS, "routerMetrics": {"linkRouteCount"}},
    ),
    Release(
        *("3.5.0 to 3.5.1", "skrouterd", "main", as_captured),
        {**SKUPPER_LACKS, "routerMetrics": {"linkRouteCount"}},
    ),
)


def replay_of(release: Release) -> Replay:
    replay = Replay(release.capture)
    if release.change is as_captured:
        return replay
    for router in replay.routers:
        (who,), (metrics,) = replay.rows(router, "router"), replay.rows(router, "routerMetrics")
        release.change(who, metrics)
        replay.tell(router, "router", who)
        replay.tell(router, "routerMetrics", metrics)
        if not metrics:
            replay.agent = replay.agent - {"router"}
    return replay


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.first_and_last)
def test_every_version_is_told_whole_and_refuses_nothing(release: Release) -> None:
    """No reply but with status 200: routers log each other one as an error, in each poll."""
    replay = replay_of(release)
    flavour = schema.DISPATCH if release.capture == "qdrouterd" else schema.SKUPPER
    polling = Poll(flavour, {}, itertools.count())
    play(replay, polling)
    assert polling.done
    assert {*replay.statuses} == {200}
    counters = Replay(release.capture)
    for router in replay.routers:
        asked = polling.asked[router]
        assert (asked.result, asked.faults) == ("ok", {})
        seen = take_snapshot(asked, 0, 0)
        assert seen.version == release.version
        (told,) = counters.rows(router, "router" if release.capture == "qdrouterd" else "routerMetrics")
        for name, wire in (
            ("transit", "deliveriesTransit"),
            ("accepted", "acceptedDeliveries"),
            ("uptime_seconds", "uptimeSeconds"),
        ):
            assert seen.totals[name] == told[wire]
        assert lacking(seen) == release.lacks


def lacking(seen: RouterSnapshot) -> dict[str, set[str]]:
    """What no table told, by the routers' names; the version stands in one of three places."""
    found = {}
    for entity in schema.FLAVOURS[seen.flavour].entities:
        if entity.name not in seen.tables or (entity is schema.ROUTER and "metrics" in seen.tables):
            continue
        absent = seen.absent[entity.name]
        if lacks := {c.remote_name for c in entity.attributes if c.name in absent} - {"", "version"}:
            found[entity.type] = lacks
    return found


def test_the_standalone_router_of_version_3_5_1() -> None:
    """As it was captured; it has no nodes."""
    captured = json.loads((CAPTURES / "skrouterd-3.5.1.json").read_text())
    replay = Replay("skrouterd")
    replay.routers = ["S"]
    replay.capture = {
        "GET-MGMT-NODES": {"body": []},
        "S": {name.removeprefix(schema.SKUPPER.prefix): reply for name, reply in captured.items()},
    }
    (who,) = replay.rows("S", "router")
    replay.tell("S", "router", {**who, "id": "S"})
    polling = Poll(schema.SKUPPER, {}, itertools.count())
    play(replay, polling)
    assert {*replay.statuses} == {200}
    seen = take_snapshot(polling.asked["S"], 0, 0)
    assert (seen.version, seen.mode, seen.instance) == ("3.5.1", "standalone", None)
    assert seen.totals["addresses"] == 10


def test_an_attribute_that_a_version_refuses_costs_one_question() -> None:
    """All others of that entity are told; what was refused once is asked for whole from then on."""
    replay = Replay("qdrouterd")
    for router in replay.routers:
        replay.without(router, "router.node", "lastTopoChange")
        replay.without(router, "connector", "connectionMsg")
    first = Poll(schema.DISPATCH, {}, itertools.count())
    play(replay, first)
    assert replay.statuses.count(404) == 2 * len(replay.routers)
    nodes = first.asked["QDR.A"].tables["node"].rows
    assert [(row["id"], row["last_topology_change"]) for row in nodes] == [
        *(("QDR.A", None), ("QDR.B", None), ("QDR.C", None))
    ]
    found = {name: first.asked[name].unnamed for name in ("QDR.A", "QDR.B", "QDR.C")}
    known = {name: KnownRouter("interior", schema.DISPATCH, unnamed) for name, unnamed in found.items()}
    replay.statuses.clear()
    second = Poll(schema.DISPATCH, known, itertools.count(), "QDR.A")
    play(replay, second)
    assert replay.statuses.count(404) == 2  # of the edge, which is new
    assert second.asked["QDR.A"].tables == first.asked["QDR.A"].tables
    assert not first.asked["QDR.A"].faults


@pytest.mark.parametrize(("entity", "key"), [("connector", "name"), ("router.link", "identity")])
def test_an_entity_in_words_that_we_do_not_know_is_left_out(entity: str, key: str) -> None:
    """As a version to come may tell it: it is counted, all else is told, and the mesh is seen through it."""
    replay = Replay("skrouterd")
    a, b, *_ = replay.routers
    for row in (rows := replay.rows(a, entity)):
        row["renamed"] = row.pop(key)
    names = [
        "renamed" if name == key else name for name in replay.capture[a][entity]["body"]["attributeNames"]
    ]
    replay.capture[a][entity]["body"]["attributeNames"] = names
    replay.replace(a, entity, rows or [dict.fromkeys(names, "x")])
    polling = Poll(schema.SKUPPER, {}, itertools.count())
    play(replay, polling)
    asked = polling.asked[a]
    assert (asked.result, asked.faults["shape"]) == ("ok", 1)
    known = {e.type: e.name for e in schema.SKUPPER.entities}
    assert {*polling.asked[b].tables} - {*asked.tables} == {known[entity]}
    assert polling.asked[b].result == "ok"


def test_a_router_is_upgraded_while_it_is_watched(watch: Callable[..., Any]) -> None:
    """From Dispatch to Skupper 3: it is the same router, restarted, with all of its new tables."""
    replay, new = Replay("qdrouterd"), Replay("skrouterd")
    node = ScriptedNode(replay)
    watching = watch(urls=node.url)
    info = {"router": "QDR.B", "mode": "interior"}
    wait_until(
        lambda: watching.value("router_info", flavour="dispatch", version="1.19.0", **info) == 1,
        *(30, "the old one"),
    )
    text = json.dumps(new.capture).replace("SK.", "QDR.")
    new.capture = json.loads(text)
    new.routers = replay.routers
    node.script = new
    wait_until(
        lambda: watching.value("router_info", flavour="skupper", version="main", **info) == 1,
        *(30, "the new one"),
    )
    # Metrics are there a moment before whoever looks on is told.
    wait_until(
        lambda: watching.statuses[-1].snapshots["QDR.B"].flavour == "skupper", 10, "the poll to be told of"
    )
    (metrics,) = new.rows("QDR.B", "routerMetrics")
    totals = watching.statuses[-1].snapshots["QDR.B"].totals
    assert totals["transit"] == metrics["deliveriesTransit"]
    assert watching.value("router_up", router="QDR.B") == 1
    seen = len(watching.statuses)
    new.statuses.clear()
    wait_until(lambda: len(watching.statuses) > seen + 1, 10, "two more polls")
    assert {*new.statuses} == {200}
    node.close()
