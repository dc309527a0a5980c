"""A mesh of stand-ins watched: deliveries, links and routers as they come and go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from helpers import wait_until
from proton import Message
from proton.utils import BlockingConnection
from real_routers import ROUTERS, line, running
from receiving import Receiving

from deploy.topology.programs import Program

if TYPE_CHECKING:
    from deploy.lab.lab import Lab

Watch = Callable[..., Any]
A, B, C = "A.stand-in", "B.stand-in", "C.stand-in"


@pytest.mark.e2e
def test_every_message_is_counted_though_its_links_are_gone(router_line: Lab, watch: Watch) -> None:
    """In at A, over A-B and B-C, out at C: the same number everywhere, and who sent it to whom."""
    watching = watch(urls=[router.url for router in router_line.routers.values()])
    wait_until(lambda: len(watching.statuses) > 1, 10, "two polls")

    def deliveries(router: str, direction: str) -> float:
        labels = {"peer": "", "address": "collected/a", "direction": direction, "type": "endpoint"}
        return watching.value("router_link_deliveries_total", router=router, **labels) or 0

    def between(router: str, peer: str, direction: str) -> float:
        labels = {"peer": peer, "address": "", "direction": direction, "type": "inter-router"}
        return watching.value("router_link_deliveries_total", router=router, **labels) or 0

    before = between(A, B, "out")
    with Receiving(router_line.routers["C"].url, "collected/a") as receiving:
        sending = BlockingConnection(router_line.routers["A"].url, timeout=20)
        sender = sending.create_sender("collected/a")
        seen = len(watching.statuses)
        wait_until(lambda: len(watching.statuses) > seen + 1, 10, "the links to be seen")
        for _ in range(40):
            sender.send(Message(body="x"))
        assert receiving.count == 40
        wait_until(lambda: deliveries(C, "out") == 40, 10, "40 deliveries at C")
        wait_until(lambda: deliveries(A, "in") == 40, 10, "40 deliveries at A")
        wait_until(lambda: between(A, B, "out") >= before + 40, 10, "40 deliveries between the routers")
        assert watching.value("mesh_deliveries_total", ingress=A, egress=C) == 40
        sending.close()
    seen = len(watching.statuses)
    wait_until(lambda: len(watching.statuses) > seen + 1, 10, "the links to be gone")
    assert deliveries(A, "in") == 40
    assert deliveries(C, "out") == 40


@pytest.mark.e2e
@pytest.mark.parametrize("program", ROUTERS, ids=lambda program: program.stand_in)
def test_a_router_that_is_killed_and_comes_back(
    tmp_path: Path, watch: Watch, program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    """Down with those behind it, its links told as down; all back by themselves, and no counter falls."""
    with running(line(program), tmp_path, stand_ins=True) as lab:
        watching = watch(urls=lab.routers["A"].url, expect=[f"{A}--{B}", f"{B}--{C}"])
        wait_until(lambda: watching.value("router_up", router=C) == 1, 15, "C to be seen")
        assert {each.flavour for each in watching.statuses[-1].snapshots.values()} == {program.stand_in}
        assert watching.value("mesh_topology_differences", kind="missing_link") == 0
        lab.routers["B"].kill()
        edge = {"id": f"{A}--{B}", "source": A, "target": B}
        wait_until(lambda: watching.value("router_up", router=B) == 0, 15, "B to be down")
        wait_until(lambda: watching.value("mesh_edge_up", **edge) == 0, 15, "its link to be down")
        assert watching.value("mesh_topology_differences", kind="missing_link") == 2
        assert watching.value("router_up", router=A) == 1
        assert watching.value("router_stuck_deliveries", router=B) is None
        assert f"router {B} is down" in caplog.text
        lab.routers["B"].start()
        wait_until(lambda: watching.value("router_up", router=B) == 1, 20, "B to be back")
        wait_until(lambda: watching.value("mesh_edge_up", **edge) == 1, 20, "its link to be back")
        assert falls(watching) == []


def falls(watching: Any) -> list[str]:
    """Sums of links that ever were less than before."""
    found, highest = [], {}
    for each in watching.statuses:
        for router, counted in each.counted.items():
            for group, entry in counted.links.items():
                key = (router, group)
                if any(
                    now < then for now, then in zip(entry.sums, highest.get(key, entry.sums), strict=True)
                ):
                    found.append(f"{key}: {highest[key]} then {entry.sums}")
                highest[key] = entry.sums
    return found
