"""Real routers, where their programs are on the PATH."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers import free_port, wait_until
from proton import Delivery, Message
from proton.utils import BlockingConnection, LinkDetached, SendException
from real_routers import DISPATCH, ROUTERS, SKUPPER, each_program, line, running, wanted
from receiving import Receiving

from deploy.commands.ping import command as ping
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.lab.routers import RealRouter
from deploy.lab.wiring import Direct
from deploy.status.model import status
from deploy.topology.programs import Program

Watch = Callable[..., Any]
RIGHTS = Path(__file__).parents[3] / "deploy" / "rights"
OPEN = """
listener {
    host: 127.0.0.1
    port: %d
    policyVhost: fenced
    authenticatePeer: no
    saslMechanisms: ANONYMOUS
}
vhost {
    hostname: $default
    groups: {
        "$default": {
            "users": "*", "remoteHosts": "*", "allowDynamicSource": true, "allowAnonymousSender": true,
            "targets": "*", "sources": "*"
        }
    }
}
"""
FLAVOURS = {DISPATCH.name: "dispatch", SKUPPER.name: "skupper"}


@pytest.fixture(**each_program)
def program(request: pytest.FixtureRequest) -> Program:
    return wanted(request.param)


@pytest.mark.e2e
def test_a_line_of_real_routers(program: Program, tmp_path: Path, watch: Watch) -> None:
    """All are found and told; 40 messages are 40 everywhere; one that is killed is down, and comes back."""
    with running(line(program), tmp_path) as lab:
        watching = watch(urls=[router.url for router in lab.routers.values()], expect=["A--B", "B--C"])
        wait_until(lambda: watching.value("router_up", router="C") == 1, 15, "C to be seen")
        (flavour,) = {each.flavour for each in watching.statuses[-1].snapshots.values()}
        assert flavour == FLAVOURS[program.name]
        assert {each.version for each in watching.statuses[-1].snapshots.values()} != {"unknown"}
        assert watching.value("mesh_topology_differences", kind="missing_link") == 0
        assert watching.value("mesh_edge_cost", id="A--B", source="A", target="B") == 1
        assert [
            f.text for each in watching.statuses for f in status([each], []).findings if "wait" in f.text
        ] == []
        out = {"peer": "", "address": "collected/r", "direction": "out", "type": "endpoint"}
        with Receiving(lab.routers["C"].url, "collected/r") as receiving:
            sending = BlockingConnection(lab.routers["A"].url, timeout=20)
            sender = sending.create_sender("collected/r")
            seen = len(watching.statuses)
            wait_until(lambda: len(watching.statuses) > seen + 1, 10, "the links to be seen")
            for _ in range(40):
                sender.send(Message(body="x"))
            assert receiving.count == 40
            wait_until(
                lambda: watching.value("router_link_deliveries_total", router="C", **out) == 40, 10, "40 at C"
            )
            assert watching.value("mesh_deliveries_total", ingress="A", egress="C") == 40
            sending.close()
        assert bad_replies(watching) == {}
        there = ("--receive-url", lab.routers["C"].url)
        pinged = CliRunner().invoke(ping, [lab.routers["A"].url, "inflight/way", *there, "--count", "20"])
        assert "route: A>B>C (20)" in pinged.output
        lab.routers["B"].kill()
        wait_until(lambda: watching.value("router_up", router="B") == 0, 20, "B to be down")
        lab.routers["B"].start()
        wait_until(lambda: watching.value("router_up", router="B") == 1, 20, "B to be back")
        edge = {"id": "A--B", "source": "A", "target": "B"}
        wait_until(lambda: watching.value("mesh_edge_up", **edge) == 1, 20, "its link to be back")


@pytest.mark.e2e
def test_a_router_is_upgraded_from_dispatch_to_skupper(tmp_path: Path, watch: Watch) -> None:
    """Under the same id, at the same port: it is down, and then up with the version it has now."""
    for program in ROUTERS:
        wanted(program)
    with Supervisor(tmp_path) as supervisor:
        plan = Direct().place(line(routers=1))
        old = RealRouter(supervisor, plan, "A").start()
        watching = watch(urls=old.url)
        wait_until(lambda: watching.statuses[-1].snapshots["A"].flavour == "dispatch", 15, "the old one")
        old.kill()
        upgraded = plan.topology.model_copy(update={"program": SKUPPER.name})
        RealRouter(supervisor, replace(plan, topology=upgraded), "A").start()
        wait_until(lambda: watching.statuses[-1].snapshots["A"].flavour == "skupper", 15, "the new one")
        seen = watching.statuses[-1].snapshots["A"]
        assert seen.version.startswith("3.")
        assert seen.totals["accepted"] is not None
        assert watching.value("router_up", router="A") == 1
        assert bad_replies(watching) == {}


@pytest.mark.e2e
def test_a_real_router_between_two_urls_is_killed(program: Program, tmp_path: Path, watch: Watch) -> None:
    """B is down; A and C are up all the time, C cut off from A until B is back."""
    with running(line(program), tmp_path) as lab:
        watching = watch(urls=[lab.routers[name].url for name in "AC"])
        wait_until(lambda: watching.statuses and watching.statuses[-1].settled, 20, "all to be seen")
        cut = {"router": "C", "from": "A"}
        lab.routers["B"].kill()
        wait_until(lambda: watching.value("router_up", router="B") == 0, 20, "B to be down")
        wait_until(lambda: watching.value("router_cut_off", **cut) == 1, 20, "C to be cut off")
        lab.routers["B"].start()
        wait_until(lambda: watching.value("router_cut_off", **cut) is None, 40, "C to be reached again")
        wait_until(lambda: watching.value("router_up", router="B") == 1, 20, "B to be back")
        assert {router for each in watching.statuses for router in each.down} == {"B"}


def bad_replies(watching: Any) -> dict[str, float]:
    """Replies that could not be used, by reason; on a busy machine one may come late."""
    return {
        f"{sample.labels['target']} {sample.labels['reason']}": sample.value
        for family in watching.registry.collect()
        for sample in family.samples
        if sample.name == "inflight_collector_bad_replies_total"
        and sample.value
        and sample.labels["reason"] != "late_or_foreign"
    }


@pytest.mark.e2e
def test_the_rights_of_the_collector_are_enough_and_no_more(
    program: Program, tmp_path: Path, watch: Watch
) -> None:
    """Under the policy that deploy/rights gives, all routers are polled, and nothing else may be sent to."""
    with Supervisor(tmp_path) as supervisor:
        routers = two_routers(supervisor, program)
        fence(routers[0], "inflight-collect")
        for router in routers:
            router.start()
        watching = watch(urls=routers[0].url)
        wait_until(lambda: watching.value("router_up", router="B") == 1, 20, "B, through A, under A's policy")
        connection = BlockingConnection(routers[0].url, timeout=10)
        with pytest.raises(LinkDetached, match="unauthorized"):
            connection.create_sender("orders").send(Message(body="x"))
        connection.close()
        elsewhere = BlockingConnection(routers[0].url, timeout=10)
        anonymous = elsewhere.create_sender(None)
        with pytest.raises(SendException) as refused:
            anonymous.send(Message(address="orders", body="x"))
        assert refused.value.state == Delivery.REJECTED
        elsewhere.close()


@pytest.mark.e2e
def test_the_rights_of_a_probe_are_enough_and_no_more(program: Program, tmp_path: Path) -> None:
    """Its own addresses, and for their clocks the dynamic ones of others; nothing that manages a router."""
    with Supervisor(tmp_path) as supervisor:
        routers = two_routers(supervisor, program)
        doors = [free_port() for _ in routers]
        for router, door in zip(routers, doors, strict=True):
            fence(router, "inflight-probe", door)
            router.start()
        here_url, there_url = urls = [f"amqp://127.0.0.1:{door}" for door in doors]
        with Receiving(here_url, None) as here, Receiving(there_url, None) as there:
            for url in urls:
                connection = BlockingConnection(url, timeout=10)
                asking = connection.create_sender(None)
                for answering in (here, there):
                    wait_until(partial(_taken, asking, answering.address), 20, "the way between them")
                for address in ("inflight/x", "inflight.x", "multicast/inflight", "multicast/inflight/x"):
                    connection.create_sender(address)
                    connection.create_receiver(address)
                manage = [each.management for each in routers]
                for address in ("orders", "$management", *manage):
                    with pytest.raises(SendException) as refused:
                        asking.send(Message(address=address, body="x"))
                    assert refused.value.state == Delivery.REJECTED
                with pytest.raises(LinkDetached, match="unauthorized"):
                    connection.create_sender("orders")
                connection.close()


def _taken(sender: Any, address: str | None) -> bool:
    """Whether a message arrives; while routers are still finding each other it is released."""
    try:
        sender.send(Message(address=address, body="x"))
    except SendException as refused:
        if refused.state not in {Delivery.RELEASED, Delivery.MODIFIED}:
            raise
        return False
    return True


def two_routers(supervisor: Supervisor, program: Program) -> list[RealRouter]:
    plan = Direct().place(line(program, routers=2))
    return [RealRouter(supervisor, plan, name) for name in plan.routers]


def fence(router: RealRouter, group: str, door: int | None = None) -> None:
    """Add the policy to a router's config; whoever comes to these routers is called anonymous.

    With a `door` it holds for who comes by that port, and others may do what they want.
    """
    policy = (RIGHTS / "router-policy.conf").read_text()
    user = f'"users": "{group}"'
    assert policy.count(user) == 1
    policy = policy.replace(user, '"users": "anonymous"')
    if door is not None:
        assert policy.count("hostname: $default") == 1
        policy = policy.replace("hostname: $default", "hostname: fenced") + OPEN % door
    router.configuration.write_text(router.configuration.read_text() + policy)
