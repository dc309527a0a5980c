"""A router's counters over several polls, from the captures."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from replay import Replay, look, play

from collectors.router import counters, metrics, schema
from collectors.router.counters import LINK_COUNTERS, CountedRouter, RouterCounters
from collectors.router.poll import Poll
from collectors.router.snapshot import LinkGroup, RouterSnapshot, take_snapshot

SECOND_NS = 1_000_000_000


def change(replay: Replay, router: str, entity: str, key: str, value: str, **changes: Any) -> None:
    """Change one row; `uptime` goes on by itself."""
    rows = replay.rows(router, entity)
    (row,) = [row for row in rows if row[key] == value]
    row.update(changes)
    replay.replace(router, entity, rows)


def later(replay: Replay, router: str, seconds: int, entity: str = "router") -> None:
    (row,) = replay.rows(router, entity)
    replay.replace(router, entity, [{**row, "uptimeSeconds": row["uptimeSeconds"] + seconds}])


def sums(counted: CountedRouter, group: LinkGroup) -> dict[str, int]:
    return dict(zip(LINK_COUNTERS, counted.links[group].sums, strict=True))


P2 = LinkGroup("", "closest/p2", "out", "endpoint")


def test_gauges_are_what_the_capture_says() -> None:
    """30 messages wait on closest/p2 at C, whose receiver gives no credit."""
    counted = RouterCounters(("*",)).count(look(Replay("qdrouterd"), "QDR.C"))
    assert counted.links[P2].gauges == {
        "undelivered": 30,
        "unsettled": 0,
        "credit": 0,
        "capacity": 250,
        "stuck": 0,
        "zero_credit_seconds": 0,
    }
    assert sums(counted, P2)["deliveries"] == 0  # counted before we looked


BETWEEN = LinkGroup("QDR.B", "", "out", "inter-router")


@pytest.mark.parametrize(
    ("waiting", "ours", "no_credit_seconds", "told"),
    [(6, 6, 0, 0), (6, 40, 0, 0), (9, 6, 0, 3), (9, 6, 2, 9)],
)
def test_our_own_messages_between_routers_do_not_wait(
    waiting: int, ours: int, no_credit_seconds: int, told: int
) -> None:
    """As many as may be the poll's own messages are left out, unless a link has long had no credit."""
    replay = Replay("qdrouterd")
    (link, *_) = [
        row
        for row in replay.rows("QDR.A", "router.link")
        if (row["linkType"], row["linkDir"], row["undeliveredCount"]) == ("inter-router", "out", 0)
    ]
    changes = {"undeliveredCount": waiting, "zeroCreditSeconds": no_credit_seconds}
    change(replay, "QDR.A", "router.link", "identity", link["identity"], **changes)
    seen = look(replay, "QDR.A")
    seen.own = ours
    assert RouterCounters(("*",)).count(seen).links[BETWEEN].gauges["undelivered"] == told


def test_the_answers_to_a_poll_do_not_wait() -> None:
    """What stands on the links of the collector's own connection is its own; on others' it is told."""
    replay = Replay("qdrouterd")
    (connection, *rest) = replay.rows("QDR.E", "connection")
    links = replay.rows("QDR.E", "router.link")
    made = []
    for number, container in enumerate(("inflight-collect-1234", "a console")):
        made.append({**connection, "identity": str(70 + number), "container": container, "role": "normal"})
        links.append(
            {
                **links[0],
                "identity": str(80 + number),
                "connectionId": str(70 + number),
                "linkType": "endpoint",
                "linkDir": "out",
                "owningAddr": "Ltemp.abc",
                "undeliveredCount": 5,
                "unsettledCount": 7,
            }
        )
    replay.replace("QDR.E", "connection", [connection, *rest, *made])
    replay.replace("QDR.E", "router.link", links)
    gauges = (
        RouterCounters(("*",))
        .count(look(replay, "QDR.E"))
        .links[LinkGroup("", "_internal", "out", "endpoint")]
        .gauges
    )
    assert (gauges["undelivered"], gauges["unsettled"]) == (5, 7)


def test_links_between_routers_are_summed_by_peer_and_a_broker_has_its_connectors_name() -> None:
    """Of 29 links at C few groups are left: by peer, by address, by the broker's connector."""
    groups = {*RouterCounters(("*",)).count(look(Replay("qdrouterd"), "QDR.C")).links}
    assert LinkGroup("QDR.B", "", "in", "inter-router") in groups
    assert LinkGroup("broker", "auto.q", "out", "endpoint") in groups
    assert len(groups) == 11


def test_a_detached_link_makes_no_counter_fall() -> None:
    """What it counted stays in its group's sum, and what it counted on the way is not lost."""
    replay, counting = Replay("qdrouterd"), RouterCounters(("*",))
    counting.count(look(replay, "QDR.C"))
    change(replay, "QDR.C", "router.link", "identity", "42", deliveryCount=80, droppedPresettledCount=19_930)
    later(replay, "QDR.C", 5)
    second = counting.count(look(replay, "QDR.C", 5 * SECOND_NS))
    assert sums(second, P2)["deliveries"] == 30
    assert sums(second, P2)["dropped_presettled"] == 10
    rows = [row for row in replay.rows("QDR.C", "router.link") if row["identity"] != "42"]
    replay.replace("QDR.C", "router.link", rows)
    later(replay, "QDR.C", 5)
    third = counting.count(look(replay, "QDR.C", 10 * SECOND_NS))
    assert sums(third, P2)["deliveries"] == 30
    assert third.links[P2].members == 0
    replay.replace(
        "QDR.C",
        "router.link",
        [*rows, {**rows[-1], "identity": "99", "deliveryCount": 7, "owningAddr": "M0closest/p2"}],
    )
    later(replay, "QDR.C", 5)
    fourth = counting.count(look(replay, "QDR.C", 15 * SECOND_NS))
    assert sums(fourth, P2)["deliveries"] == 37


@pytest.mark.parametrize("how", ["instance", "uptime", "uptime after a long silence"])
def test_a_restart_is_noticed(how: str) -> None:
    """By the node's instance or by an uptime that cannot be; then all its counters are new."""
    replay, counting = Replay("qdrouterd"), RouterCounters(("*",))
    first = counting.count(look(replay, "QDR.C"))
    assert not first.restarted
    after = 5
    if how == "instance":
        change(replay, "QDR.C", "router.node", "id", "QDR.C", instance=1)
        later(replay, "QDR.C", 5)
    elif how == "uptime":
        later(replay, "QDR.C", -100)
    else:
        after = 3600  # it was up 2 minutes, is up 3, an hour later
        later(replay, "QDR.C", 60)
    second = counting.count(look(replay, "QDR.C", after * SECOND_NS))
    assert second.restarted
    assert sums(second, P2)["deliveries"] == 50


def test_rates_are_of_the_time_between_what_a_router_said() -> None:
    """Polls that ended a second apart may have heard of its links within 1.8 s: counts are of that time."""
    replay, counting = Replay("qdrouterd"), RouterCounters(("*",))
    assert counting.count(heard(replay, SECOND_NS // 10, SECOND_NS)).interval_ns == 0
    second = counting.count(heard(replay, 19 * SECOND_NS // 10, 2 * SECOND_NS))
    assert second.interval_ns == 18 * SECOND_NS // 10


def heard(replay: Replay, told_ns: int, end_ns: int) -> RouterSnapshot:
    polling = Poll(schema.DISPATCH, {}, itertools.count())
    play(replay, polling, now_ns=told_ns)
    return take_snapshot(polling.asked["QDR.C"], 0, end_ns)


def test_a_slow_clock_is_no_restart() -> None:
    """Uptime is in whole seconds and polls are late."""
    replay, counting = Replay("qdrouterd"), RouterCounters(("*",))
    counting.count(look(replay, "QDR.C"))
    later(replay, "QDR.C", 4)
    assert not counting.count(look(replay, "QDR.C", 8 * SECOND_NS)).restarted


def test_who_sent_it() -> None:
    """A histogram's places are those of the router's own node list; an edge counts as its interior."""
    replay, counting = Replay("qdrouterd"), RouterCounters(("*",))
    assert counting.count(look(replay, "QDR.C")).ingress == {"QDR.A": 0, "QDR.B": 0}
    (row,) = [row for row in replay.rows("QDR.C", "router.link") if row["identity"] == "45"]
    histogram = [0, 3, 2796, *[0] * 125]
    assert row["ingressHistogram"][:3] == [0, 0, 2786]
    change(replay, "QDR.C", "router.link", "identity", "45", ingressHistogram=histogram)
    later(replay, "QDR.C", 5)
    assert counting.count(look(replay, "QDR.C", 5 * SECOND_NS)).ingress == {"QDR.A": 10, "QDR.B": 3}
    assert RouterCounters(("*",)).count(look(replay, "QDR.E")).ingress == {}


def test_patterns_and_the_cap_leave_sums_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses that are not wanted, or too many, are summed as _other, and it is told how many they are."""
    seen = look(Replay("qdrouterd"), "QDR.C")
    wanted = RouterCounters(("closest/*",)).count(seen)
    names = {group.address for group in wanted.links}
    assert names == {"", "_internal", "_other", "closest/p1", "closest/p2"}
    monkeypatch.setattr(counters, "MAX_GROUPS", 3)
    capped = RouterCounters(("*",)).count(seen)
    assert capped.omitted["link_group"] > 0
    assert capped.omitted["address"] > 0
    whole = RouterCounters(("*",))
    monkeypatch.setattr(counters, "MAX_GROUPS", 500)
    every = whole.count(seen)
    for gauge in ("undelivered", "credit", "capacity"):
        total = sum(entry.gauges[gauge] for entry in every.links.values())
        assert sum(entry.gauges[gauge] for entry in capped.links.values()) == total


def test_links_are_told_apart_within_bounds_whatever_they_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by peer, direction and type, which a router is free to invent; sums stay right."""
    monkeypatch.setattr(counters, "MAX_GROUPS", 50)
    monkeypatch.setattr(metrics, "MAX_NAMED", 20)
    replay = Replay("qdrouterd")
    (connection, *_), (link, *_) = replay.rows("QDR.C", "connection"), replay.rows("QDR.C", "router.link")
    numbers = range(500)
    made = [{**connection, "identity": f"c{n}", "container": f"peer{n}", "role": "edge"} for n in numbers]
    replay.replace("QDR.C", "connection", made)
    counted = {"undeliveredCount": 1, "owningAddr": "M0orders", "deliveryCount": 7}
    links = [
        {**link, **counted, "identity": f"l{n}", "connectionId": f"c{n}"}
        | {"linkDir": f"d{n}", "linkType": f"t{n}"}
        for n in numbers
    ]
    replay.replace("QDR.C", "router.link", links)
    counting = RouterCounters(("*",))
    seen = look(replay, "QDR.C")
    seen.own = 0
    counted = counting.count(seen)
    assert len(counted.links) <= 2 * 50 + 1
    assert sum(entry.gauges["undelivered"] for entry in counted.links.values()) == 500
    assert counted.omitted["link_group"] >= 500 - 2 * 50
    told = [
        s for s in metrics.of_router("m", seen, counted, ()) if s[0] in {"router_links", "router_connections"}
    ]
    assert len(told) <= 2 * (20 + 1)
    assert sum(value for name, _, value in told if name == "router_links") == 500


@pytest.mark.parametrize("flavour", ["qdrouterd", "skrouterd"])
def test_the_version_and_mode_are_known_in_both_schemas(flavour: str) -> None:
    """Skupper hides its version under an attribute with no name."""
    replay = Replay(flavour)
    seen = look(replay, replay.routers[3])
    assert (seen.mode, seen.version) == ("edge", {"qdrouterd": "1.19.0", "skrouterd": "main"}[flavour])
    assert seen.edge
    assert seen.uptime_seconds is not None


def test_allocators_that_were_not_asked_for_keep_their_counters() -> None:
    """They are read less often; a restart meanwhile does not count the old ones anew."""
    replay, counting = Replay("qdrouterd"), RouterCounters(("*",))
    row = dict.fromkeys(("held", "size_bytes", "heap_freed", "to_threads", "to_global"), 1)

    def feed(allocated: int, *, asked: bool) -> int:
        seen = look(replay, "QDR.C")
        seen.tables["allocator"] = [{"type": "qd_buffer_t", "heap_allocated": allocated, **row}]
        seen.fresh = seen.fresh | {"allocator"} if asked else seen.fresh - {"allocator"}
        return counting.count(seen).allocators["qd_buffer_t"].sums[0]

    assert feed(100, asked=True) == 0
    assert feed(100, asked=False) == 0
    assert feed(107, asked=True) == 7
    change(replay, "QDR.C", "router.node", "id", "QDR.C", instance=1)
    assert feed(107, asked=False) == 7
    assert feed(2, asked=True) == 9
