"""What status shows: the worst first."""

from __future__ import annotations

from typing import Any

import link_replies
import pytest
from replay import Replay, look
from rich.console import Console

from collectors.broker import products
from collectors.broker.collector import BrokerStatus
from collectors.broker.counters import BrokerCounters
from collectors.broker.snapshot import BrokerSnapshot
from collectors.router.counters import RouterCounters
from collectors.router.mesh_status import MeshStatus
from collectors.router.mesh_urls import CutOff
from collectors.router.topology import Topology
from deploy.status.model import Status, status
from deploy.status.screen import screen


def mesh(down: str = "QDR.E") -> MeshStatus:
    """The captured line, with one router down."""
    replay = Replay("qdrouterd")
    snapshot = MeshStatus("prod", 1, 2_000_000_000, down={down: "no reply in time"})
    for router in replay.routers:
        if router != down:
            snapshot.snapshots[router] = look(replay, router)
            snapshot.counted[router] = RouterCounters(("*",)).count(snapshot.snapshots[router])
    snapshot.graph = Topology().feed(snapshot.snapshots, snapshot.down, 0)
    return snapshot


def broker(**queue: Any) -> BrokerStatus:
    row = {"address": "orders", "queue": "orders", "messages": 9, "consumers": 0, "added": 5, **queue}
    beans: dict[str, list[dict[str, Any]]] = {
        "broker": [{"version": "2.44.0", "disk_ratio": 0.95, "uptime_ms": 90_000}],
        "queue": [row],
        "address": [{"address": "orders", "paging": True}],
    }
    counters = BrokerCounters()
    counters.count(
        BrokerSnapshot(products.ARTEMIS, 0, 0, {**beans, "queue": [{**row, "added": 0, "expired": 0}]})
    )
    snapshot = BrokerSnapshot(products.ARTEMIS, 1, 2, beans)
    return BrokerStatus("prod", "b1", snapshot, counters.count(snapshot), None, 0.1, 1_000_000_000)


def texts(found: Status) -> list[tuple[str, str, str]]:
    return [(finding.level, finding.where, finding.text) for finding in found.findings]


def test_findings_come_worst_first() -> None:
    """What is down or lost before what only waits; within that, the most first."""
    found = texts(status([mesh()], [broker(expired=3)]))
    assert found[:3] == [
        ("bad", "b1 orders", "3 messages expired just now"),
        ("bad", "b1", "disk 95% full"),
        ("bad", "QDR.E", "does not answer: no reply in time"),
    ]
    assert ("odd", "QDR.C out closest/p2", "30 messages wait to go out") in found
    assert ("odd", "b1 orders", "9 messages and no consumer") in found
    assert ("odd", "b1", "address orders is paging to disk") in found
    assert found.index(("odd", "QDR.C out closest/p2", "30 messages wait to go out")) < found.index(
        ("odd", "b1 orders", "9 messages and no consumer")
    )


def linked(state: str) -> BrokerStatus:
    snapshot = link_replies.look(link_replies.STATES[state])
    return BrokerStatus("prod", "b1", snapshot, BrokerCounters().count(snapshot), None, 0.1, 1_000_000_000)


def test_links_of_brokers() -> None:
    """One that is down is told with what waits for it; one that is not, is in the table alone."""
    assert not texts(status([], [linked("connected")]))[1:]
    found = status([], [linked("peer killed")])
    assert texts(found)[:2] == [
        ("bad", "b1", "mirror two to 127.0.0.1:28782: down; 9 messages wait"),
        ("bad", "b1", "bridge orders-to-two to two: down; 7 messages wait"),
    ]
    console = Console(width=120, record=True)
    console.print(screen(found))
    text = console.export_text()
    assert "orders-to-two" in text
    assert "down" in text.split("orders-to-two")[-1].splitlines()[0]
    assert [link["kind"] for link in found.broker_links] == ["mirror", "bridge", "amqp"]
    assert found.as_json()["broker_links"][2]["messages"] is None


def test_rows_come_worst_first() -> None:
    """Routers that are down, links with a backlog, queues that nobody empties."""
    found = status([mesh()], [broker()])
    assert found.routers[0]["router"] == "QDR.E"
    assert found.links[0]["address"] == "closest/p2"
    assert found.links[0]["undelivered"] == 30
    assert found.queues[0]["added_per_second"] == 5.0
    assert found.brokers[0]["disk"] == 0.95


@pytest.mark.parametrize(
    ("change", "into", "out"),
    [
        ({"deliveriesIngress": 300, "deliveriesTransit": 300}, 150, 150),  # from clients to other routers
        ({"deliveriesTransit": 1000, "from A": 1000}, 500, 500),  # passed on
        ({"deliveriesEgress": 40, "from A": 40}, 20, 20),  # from another router to clients
        ({"deliveriesIngress": 10, "deliveriesEgress": 20, "deliveriesTransit": 20}, 5, 20),  # multicast
    ],
)
@pytest.mark.parametrize("program", ["qdrouterd", "skrouterd"])
def test_each_message_counts_once_in_and_once_out(
    program: str, change: dict[str, int], into: float, out: float
) -> None:
    """Whether it comes from a client or a router, and goes to one; at B, in two seconds."""
    replay = Replay(program)
    b = replay.routers[1]
    counters, entity = RouterCounters(("*",)), {"qdrouterd": "router", "skrouterd": "routerMetrics"}[program]
    counters.count(look(replay, b))
    (row,) = replay.rows(b, entity)
    changed = {name: row[name] + more for name, more in change.items() if name in row}
    replay.replace(b, entity, [{**row, **changed, "uptimeSeconds": row["uptimeSeconds"] + 2}])
    links = replay.rows(b, "router.link")
    came = next(r for r in links if (r["linkType"], r["linkDir"]) == ("inter-router", "in"))
    came["deliveryCount"] += change.get("from A", 0)
    replay.replace(b, "router.link", links)
    snapshot = MeshStatus("prod", 1, 2_000_000_000, snapshots={b: look(replay, b, 2_000_000_000)})
    snapshot.counted[b] = counters.count(snapshot.snapshots[b])
    (router,) = status([snapshot], []).routers
    assert (router["in_per_second"], router["out_per_second"]) == (into, out)


def test_a_mesh_that_cannot_be_polled_is_one_finding() -> None:
    """Not one for each of its routers."""
    lost = MeshStatus("prod", 1, 1, down={"A": "x", "B": "x"}, failure="amqp://a cannot be reached")
    assert texts(status([lost], [])) == [("bad", "prod", "amqp://a cannot be reached")]


def test_a_router_that_is_cut_off_is_up_and_a_finding() -> None:
    """What was tried, and where it answers; a URL through which nothing is seen is one, too."""
    found = mesh("QDR.B")
    reason = "nobody at amqp:/_topo/0/QDR.C/$management"
    found.cut_off["QDR.C"] = CutOff("QDR.A", "amqp://c", reason, stranger=True)
    found.urls = {"amqp://a": None, "amqp://c": None, "amqp://d": "amqp://d cannot be reached"}
    told = texts(status([found], []))
    assert ("bad", "QDR.C", f"cut off from QDR.A: {reason}; at amqp://c it answers") in told
    assert ("bad", "amqp://d", "amqp://d cannot be reached") in told
    (row,) = [row for row in status([found], []).routers if row["router"] == "QDR.C"]
    assert (row["up"], row["cut_off_from"]) == (True, "QDR.A")
    maybe = texts(status([found], [], one_mesh=False))
    assert ("odd", "QDR.C", "no way to it from QDR.A: two meshes, or one in two parts") in maybe
    console = Console(width=160, force_terminal=False)
    with console.capture() as capture:
        console.print(screen(status([found], [])))
    (line,) = [
        line for line in capture.get().splitlines() if line.startswith("QDR.C ") and "interior" in line
    ]
    assert "cut off" in line


def test_the_screen_shows_all_of_it_and_no_control_codes() -> None:
    """Names are others' words: they do not steer the terminal; long lists are cut, and say so."""
    hostile = broker(queue="evil\x1b[2Jqueue", address="a")
    found = status([mesh()], [hostile])
    console = Console(width=160, force_terminal=False)
    with console.capture() as capture:
        console.print(screen(found, rows=3))
    shown = capture.get()
    assert "\x1b" not in shown
    assert "evil\N{REPLACEMENT CHARACTER}[2Jqueue" in shown
    assert "more; --rows shows them" in shown
    assert "QDR.E" in shown


def test_nothing_wrong() -> None:
    """It says so, as far as it can know."""
    console = Console(width=80)
    with console.capture() as capture:
        console.print(screen(status([], [])))
    assert "nothing is wrong, as far as routers and brokers tell" in capture.get()
