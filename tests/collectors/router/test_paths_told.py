"""What collectors tell of a path through routers that run: stand-ins, and real ones where there are any."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import wait_until
from proton import Message
from proton.utils import BlockingConnection
from real_routers import ROUTERS, line, running
from receiving import Receiving

from collectors.contract.path_telemetry import PATH_ADDRESS, PATH_LINK, check_address, check_link
from deploy.topology.programs import Program

Watch = Callable[..., Any]
ADDRESS = "closest/told"
CASES = [
    pytest.param(program, stand_ins, id=f"{program.stand_in if stand_ins else program.name}")
    for program in ROUTERS
    for stand_ins in (True, False)
]


def address(watching: Any, router: str) -> dict[str, Any]:
    """The newest row of the address at a router; empty where there is none."""
    rows = watching.rows(router, PATH_ADDRESS)
    return next((check_address(row) for row in rows if row["state"] != "gone"), {})


def ends(watching: Any, router: str) -> list[dict[str, Any]]:
    return [check_link(row) for row in watching.rows(router, PATH_LINK) if row["kind"] == "end"]


def states(watching: Any, router: str, since: int) -> set[str]:
    """All that became of single rows in the records from that one on."""
    told = [
        r for _, r in watching.records[since:] if r.target == router and r.entity in {PATH_ADDRESS, PATH_LINK}
    ]
    return {row["state"] for record in told for row in record.rows}


@pytest.mark.e2e
@pytest.mark.parametrize(("program", "stand_ins"), CASES)
def test_a_path_is_told_hop_by_hop(
    tmp_path: Path, watch: Watch, program: Program, *, stand_ins: bool
) -> None:
    """40 messages are 40 at each hop; a receiver that goes or comes is told, and another life of a router."""
    with running(line(program), tmp_path, stand_ins=stand_ins) as lab:
        a, b, c = (f"{name}.stand-in" if stand_ins else name for name in "ABC")
        watching = watch(
            urls=[each.url for each in lab.routers.values()], addresses=["nothing"], of_paths=(ADDRESS,)
        )
        began_ns = time.time_ns()
        wait_until(lambda: watching.statuses and watching.statuses[-1].settled, 20, "all to be seen")
        sending = BlockingConnection(lab.routers["A"].url, timeout=20)
        with Receiving(lab.routers["C"].url, ADDRESS) as receiving:
            wait_until(lambda: address(watching, a).get("hosts") == [c], 20, "A to know of C's receiver")
            assert (address(watching, a)["local"], address(watching, a)["remote"]) == (0, 1)
            assert address(watching, c)["hosts"] == []
            sender = sending.create_sender(ADDRESS)
            wait_until(lambda: ends(watching, a), 20, "the sender's link")
            for _ in range(40):
                sender.send(Message(body="x"))
            assert receiving.count == 40
            wait_until(lambda: address(watching, c).get("egress") == 40, 20, "40 at C")
            wait_until(lambda: address(watching, a).get("transit") == 40, 20, "40 from A")
            wait_until(lambda: address(watching, b).get("transit") == 40, 20, "40 through B")
            assert address(watching, a)["ingress"] == 40
            (told,) = ends(watching, a)
            assert (told["direction"], told["deliveries"], told["accepted"]) == ("in", 40, 40)
            (told,) = ends(watching, c)
            assert (told["direction"], told["deliveries"], told["accepted"]) == ("out", 40, 40)
            between = [row for row in watching.rows(b, PATH_LINK) if row["kind"] == "router"]
            for peer, direction in ((a, "in"), (c, "out")):
                links = [row for row in between if (row["peer"], row["direction"]) == (peer, direction)]
                assert sum(row["deliveries"] for row in links) >= 40
            before = len(watching.records)
        wait_until(
            lambda: "gone" in states(watching, c, before), 20, "the receiver's link to be told as gone"
        )
        with Receiving(lab.routers["C"].url, ADDRESS):
            wait_until(lambda: "new" in states(watching, c, before), 20, "another receiver")
        instance = next(r.instance for _, r in watching.records if r.target == b and r.instance)
        lab.routers["B"].kill()
        wait_until(lambda: watching.value("router_up", router=b) == 0, 20, "B to be down")
        lab.routers["B"].start()
        wait_until(lambda: watching.value("router_up", router=b) == 1, 20, "B to be back")
        wait_until(
            lambda: [r for _, r in watching.records if r.target == b][-1].instance not in {0, instance},
            20,
            "another instance of B",
        )
        sending.close()
    for _, record in watching.records:
        assert began_ns - 10**9 < record.asked_ns <= record.answered_ns <= record.at_ns
