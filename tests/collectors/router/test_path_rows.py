"""Addresses and links of paths, one by one, from the captures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from replay import Replay, look

from collectors.contract import path_telemetry
from collectors.contract.path_telemetry import PATH_ADDRESS, PATH_LINK
from collectors.router import path_rows
from collectors.router.counters import RouterCounters

SECOND_NS = 1_000_000_000
PATHS = frozenset({"auto.q", "closest/p1", "closest/p2", "multicast/m", "queue.orders"})
Rows = dict[str, list[dict[str, Any]]]


def count(
    replay: Replay, counting: RouterCounters | None = None, router: str = "QDR.C", now_ns: int = 0
) -> Rows:
    counting = counting or RouterCounters(("*",), PATHS)
    found = counting.count(look(replay, router, now_ns)).of_paths
    for row in found.get(PATH_ADDRESS, []):
        path_telemetry.check_address(row)
    for row in found.get(PATH_LINK, []):
        path_telemetry.check_link(row)
    return found


def one(found: Rows, entity: str, **wanted: Any) -> dict[str, Any]:
    (row,) = [row for row in found[entity] if wanted.items() <= row.items()]
    return row


def edit(replay: Replay, router: str, entity: str, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    rows = replay.rows(router, entity)
    change(rows)
    replay.replace(router, entity, rows)


def update(replay: Replay, entity: str, key: str, value: str, **changes: Any) -> None:
    edit(
        replay,
        "QDR.C",
        entity,
        lambda rows: [row.update(changes) for row in rows if row[key] == value],
    )


def test_an_address_is_told_as_the_router_said_it() -> None:
    """20,000 came from B to C and were handed to the link of the receiver, which is subscribed here."""
    found = count(Replay("qdrouterd"))
    assert one(found, PATH_ADDRESS, address="closest/p2") == {
        "key": "M0closest/p2",
        "address": "closest/p2",
        "phase": "0",
        "distribution": "closest",
        "ingress": 0,
        "egress": 20_000,
        "transit": 0,
        "to_container": 0,
        "from_container": 0,
        "local": 1,
        "remote": 0,
        "hosts": [],
        "state": "",
    }


@pytest.mark.parametrize(("flavour", "router"), [("qdrouterd", "QDR.A"), ("skrouterd", "SK.A")])
def test_who_has_subscribers_is_told_by_both(flavour: str, router: str) -> None:
    """By the ids of the routers."""
    found = count(Replay(flavour), router=router)
    name = router[:-1]
    assert one(found, PATH_ADDRESS, address="multicast/m")["hosts"] == [f"{name}B", f"{name}C"]


def test_phases_are_rows_of_their_own() -> None:
    """To the broker in phase 0, from it in phase 1; Skupper has none."""
    found = count(Replay("qdrouterd"))
    of_queue = [row for row in found[PATH_ADDRESS] if row["address"] == "auto.q"]
    assert {row["phase"]: row["egress"] for row in of_queue} == {"0": 72, "1": 0}
    to_broker = one(found, PATH_LINK, address="auto.q", direction="out")
    assert (to_broker["peer"], to_broker["phase"], to_broker["deliveries"]) == ("broker", "0", 72)
    assert one(found, PATH_LINK, address="auto.q", direction="in")["phase"] == "1"
    skupper = count(Replay("skrouterd"), router="SK.C")
    assert one(skupper, PATH_ADDRESS, address="auto.q")["phase"] == ""


def test_links_of_end_points_are_told_one_by_one() -> None:
    """With the container at the other end, whatever its link is called."""
    row = one(count(Replay("qdrouterd")), PATH_LINK, address="closest/p2")
    assert row == {
        "identity": "42",
        "name": "03ae3064-3be1-4ea9-bb04-096ff48c63d7-closest/p2",
        "kind": "end",
        "direction": "out",
        "peer": "03ae3064-3be1-4ea9-bb04-096ff48c63d7",
        "own": False,
        "address": "closest/p2",
        "phase": "0",
        "deliveries": 50,
        "presettled": 19_970,
        "dropped_presettled": 19_920,
        "accepted": 0,
        "rejected": 0,
        "released": 0,
        "modified": 0,
        "undelivered": 30,
        "unsettled": 0,
        "credit": 0,
        "zero_credit_seconds": 0,
        "state": "",
    }


def test_between_routers_those_that_carried_something_are_told() -> None:
    """Of ten each way one, and the one that carried an answer; with their neighbours."""
    found = count(Replay("qdrouterd"), router="QDR.B")
    between = [row for row in found[PATH_LINK] if row["kind"] == "router" and not row["address"]]
    assert {(row["peer"], row["direction"], row["deliveries"]) for row in between} == {
        ("QDR.A", "in", 11_008),
        ("QDR.A", "out", 1),
        ("QDR.C", "out", 68_887),
    }


def test_between_an_edge_and_its_router_links_have_addresses() -> None:
    """At both of them; the routers' own are left out where they are known."""
    for router, peer, way in (("QDR.B", "QDR.E", "in"), ("QDR.E", "QDR.B", "out")):
        row = one(count(Replay("qdrouterd"), router=router), PATH_LINK, address="closest/p2", peer=peer)
        assert (row["kind"], row["direction"], row["deliveries"]) == ("router", way, 20_000)
    found = count(Replay("qdrouterd"), router="QDR.B")
    with_edge = [row for row in found[PATH_LINK] if row["peer"] == "QDR.E"]
    assert {row["address"] for row in with_edge} == {"auto.q", "closest/p2"}


def test_a_link_route_is_told_by_its_links() -> None:
    """From the sender at A over B to the broker at C, under the address that the sender asked for."""
    way = [
        (router, row["kind"], row["direction"], row["deliveries"])
        for router in ("QDR.A", "QDR.B", "QDR.C")
        for row in count(Replay("qdrouterd"), router=router)[PATH_LINK]
        if row["address"] == "queue.orders"
    ]
    assert way == [
        ("QDR.A", "end", "in", 200),
        ("QDR.A", "router", "out", 200),
        ("QDR.B", "router", "in", 200),
        ("QDR.B", "router", "out", 200),
        ("QDR.C", "router", "in", 200),
        ("QDR.C", "end", "out", 200),
    ]
    assert one(count(Replay("qdrouterd")), PATH_LINK, address="queue.orders", kind="end")["peer"] == "broker"


def test_patterns_do_not_matter() -> None:
    """What the config leaves out of the metrics is told of paths all the same, and nothing of others."""
    replay = Replay("qdrouterd")
    found = count(replay, RouterCounters(("none",), frozenset({"closest/p1"})))
    assert [row["address"] for row in found[PATH_ADDRESS]] == ["closest/p1"]
    assert {row["address"] for row in found[PATH_LINK] if row["kind"] == "end"} == {"closest/p1"}


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_our_probes_are_known_by_their_containers(role: str) -> None:
    """And nobody else, not our collectors either."""
    replay = Replay("qdrouterd")
    update(replay, "connection", "identity", "11", container=f"inflight-{role}-here-c-0123456789abcdef")
    update(replay, "connection", "identity", "12", container="inflight-collect-0123")
    found = count(replay)
    assert one(found, PATH_LINK, address="closest/p1", kind="end")["own"]
    assert not one(found, PATH_LINK, address="multicast/m", kind="end")["own"]


def test_what_changes_between_two_polls_is_told() -> None:
    """A link is gone, with what it had counted; another is new; a counter fell; the rest can be compared."""
    replay, counting = Replay("qdrouterd"), RouterCounters(("*",), PATHS)
    assert {row["state"] for row in count(replay, counting)[PATH_LINK]} == {""}

    def renamed(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            if row["identity"] == "42":
                row.update(identity="99", deliveryCount=7)
            elif row["identity"] == "45":
                row["acceptedCount"] = 3

    edit(replay, "QDR.C", "router.link", renamed)
    found = count(replay, counting, now_ns=5 * SECOND_NS)
    states = {row["identity"]: (row["state"], row["deliveries"]) for row in found[PATH_LINK] if row["state"]}
    assert states == {"42": ("gone", 50), "99": ("new", 7), "45": ("reset", 2_786)}
    found = count(replay, counting, now_ns=10 * SECOND_NS)
    assert {row["state"] for row in found[PATH_LINK]} == {""}
    assert "42" not in {row["identity"] for row in found[PATH_LINK]}


def test_an_address_that_comes_back_under_its_name_is_reset() -> None:
    """A router removes it with its last subscriber, and makes it anew from 0."""
    replay, counting = Replay("qdrouterd"), RouterCounters(("*",), PATHS)
    count(replay, counting)
    update(replay, "router.address", "key", "M0closest/p1", deliveriesEgress=12)
    found = count(replay, counting, now_ns=5 * SECOND_NS)
    assert {row["key"]: row["state"] for row in found[PATH_ADDRESS] if row["state"]} == {
        "M0closest/p1": "reset"
    }


def uptime(replay: Replay, router: str, seconds: int) -> None:
    edit(replay, router, "router", lambda rows: rows[0].update(uptimeSeconds=seconds))


def test_a_restart_begins_anew_under_another_instance() -> None:
    """No row is new, gone or reset: the records' instance tells it."""
    replay, counting = Replay("qdrouterd"), RouterCounters(("*",), PATHS)
    count(replay, counting)
    edit(
        replay,
        "QDR.C",
        "router.node",
        lambda rows: [row.update(instance=7) for row in rows if row["id"] == "QDR.C"],
    )
    edit(replay, "QDR.C", "router.link", lambda rows: rows.pop())
    found = count(replay, counting, now_ns=5 * SECOND_NS)
    assert {row["state"] for rows in found.values() for row in rows} == {""}


def test_a_restart_of_an_edge_resets_all() -> None:
    """It tells no instance: that its uptime fell is all that there is, even if no counter did."""
    replay, counting = Replay("qdrouterd"), RouterCounters(("*",), PATHS)
    uptime(replay, "QDR.E", 100)
    count(replay, counting, "QDR.E")
    uptime(replay, "QDR.E", 3)
    found = count(replay, counting, "QDR.E", 5 * SECOND_NS)
    assert {row["state"] for rows in found.values() for row in rows} == {"reset"}


@pytest.mark.parametrize(
    ("missing", "told"),
    [("router.link", {PATH_ADDRESS}), ("connection", {PATH_ADDRESS}), ("router.address", {PATH_LINK})],
)
def test_a_table_that_did_not_come_says_nothing(missing: str, told: set[str]) -> None:
    """What it held is not gone; in the next poll it is compared with the last one that had it."""
    replay, counting = Replay("qdrouterd"), RouterCounters(("*",), PATHS)
    count(replay, counting)
    kept = replay.capture["QDR.C"][missing]
    replay.tell("QDR.C", missing, {})
    assert {*count(replay, counting, now_ns=5 * SECOND_NS)} == told
    replay.capture["QDR.C"][missing] = kept
    found = count(replay, counting, now_ns=10 * SECOND_NS)
    assert {row["state"] for rows in found.values() for row in rows} == {""}


def test_a_counter_that_is_not_told_once_cannot_be_compared() -> None:
    """Neither in that poll nor in the one after it; a version that never tells it has 0."""
    replay, counting = Replay("qdrouterd"), RouterCounters(("*",), PATHS)
    states = []
    for number, value in enumerate((2_788, "much", 2_790, 2_795)):
        update(replay, "router.address", "key", "M0closest/p1", deliveriesEgress=value)
        found = count(replay, counting, now_ns=number * SECOND_NS)
        states.append(one(found, PATH_ADDRESS, key="M0closest/p1")["state"])
    assert states == ["", "reset", "reset", ""]
    for router in replay.routers:
        replay.without(router, "router.address", "deliveriesToContainer")
    counting = RouterCounters(("*",), PATHS)
    for number in range(2):
        row = one(count(replay, counting, now_ns=number * SECOND_NS), PATH_ADDRESS, key="M0closest/p1")
        assert (row["to_container"], row["state"]) == (0, "")


HOSTILE: list[dict[str, Any]] = [
    {"linkName": "x" * 100_000, "linkDir": "sideways"},
    {"linkName": None, "creditAvailable": -5, "zeroCreditSeconds": "long"},
    {"identity": "1\x1b[2J" + "9" * 1_000, "deliveryCount": -1},
    {"deliveryCount": True, "undeliveredCount": [], "linkType": {}},
    {"owningAddr": "M0" + "y" * 100_000},
    {"connectionId": "nobody"},
]


@pytest.mark.parametrize("changes", HOSTILE)
def test_hostile_links_are_told_within_bounds_or_not_at_all(changes: dict[str, Any]) -> None:
    """Huge names, wrong types, what would steer a terminal: each row that is told can be read."""
    replay = Replay("qdrouterd")
    update(replay, "router.link", "identity", "45", **changes)
    replay.replace("QDR.C", "router.link", replay.rows("QDR.C", "router.link") * 2)
    found = count(replay)[PATH_LINK]
    there = not changes.keys() & {"owningAddr", "connectionId"}
    assert len(found) == 8 + there


@pytest.mark.parametrize(
    "changes",
    [
        {"remoteHostRouters": ["h" * 10_000] * 10_000, "distribution": "d\n" * 1_000},
        {"remoteHostRouters": "QDR.B", "subscriberCount": -1, "remoteCount": (1 << 63) - 1},
        {"remoteHostRouters": [1, None, {}], "distribution": 7},
    ],
)
def test_hostile_addresses_are_told_within_bounds(changes: dict[str, Any]) -> None:
    """The lists of routers, too."""
    replay = Replay("qdrouterd")
    update(replay, "router.address", "key", "M0closest/p1", **changes)
    update(replay, "connection", "identity", "11", container="c\x00" * 10_000)
    found = count(replay)
    assert len(one(found, PATH_ADDRESS, key="M0closest/p1")["hosts"]) <= path_rows.MAX_HOSTS
    assert len(one(found, PATH_LINK, identity="45")["peer"]) == 192


def test_rows_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is more is counted as left out."""
    monkeypatch.setattr(path_rows, "MAX_ROWS", 4)
    counted = RouterCounters(("*",), PATHS).count(look(Replay("qdrouterd"), "QDR.C"))
    assert [len(rows) for rows in counted.of_paths.values()] == [4, 4]
    assert counted.omitted["path_row"] == 1 + 5
