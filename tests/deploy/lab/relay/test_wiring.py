"""A lab wired by a relay: its parts do not mind, and its links fail as told."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import optional, wait_until
from proton.utils import BlockingConnection

from collectors.polling.errors import PollError
from collectors.router.management import Nodes
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab.lab import Lab
from deploy.lab.management import Asking
from deploy.lab.relay import wiring
from deploy.lab.relay.wiring import Relayed
from deploy.topology.form import Topology

_ANSWER_SECONDS = 2.0


@contextmanager
def _lab(folder: Path, document: dict[str, Any], *, stand_ins: bool) -> Iterator[tuple[Lab, Relayed]]:
    topology = Topology.model_validate({"version": 1, **document})
    with Supervisor(folder) as supervisor:
        relayed = Relayed(supervisor)
        lab = Lab(supervisor, topology, wiring=relayed, stand_ins=stand_ins)
        lab.start()
        lab.wait_connected()
        yield lab, relayed


def _reaches(lab: Lab, one: str, other: str) -> bool:
    try:
        with closing(Asking(lab.routers[one].url, _ANSWER_SECONDS)) as asking:
            question = {"other": Nodes(lab.routers[other].management)}
            return bool(asking.ask(question, time.monotonic() + _ANSWER_SECONDS))
    except PollError:
        return False


def _connections(relayed: Relayed, link: str) -> int:
    return int(relayed.relay.tell({"do": "list"})[link]["connections"])


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Relayed]]:
    """Two access points, and an edge router at the first one."""
    document = {
        "routers": {"A": {}, "B": {}, "leaf": {"mode": "edge"}},
        "links": [{"from": "A", "to": "B"}, {"from": "leaf", "to": "A"}],
    }
    with _lab(tmp_path_factory.mktemp("lab"), document, stand_ins=True) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("program", ["qdrouterd", "skrouterd"])
def test_real_routers_mesh_up_through_a_relay(tmp_path: Path, program: str) -> None:
    """Two connectors of a link share a port of the relay; what is cut is noticed, and comes back."""
    if shutil.which(program) is None:
        optional(program)
    document = {
        "program": program,
        "routers": {"A": {}, "B": {}},
        "links": [{"from": "A", "to": "B", "redundancy": 2}],
    }
    with _lab(tmp_path, document, stand_ins=False) as (lab, relayed):
        wait_until(lambda: _connections(relayed, "A--B") >= 2, 60, "both connections")
        lab.tell({"do": "delay", "link": "A--B", "ms": 30, "jitter_ms": 10})
        assert _reaches(lab, "A", "B")
        lab.tell({"do": "cut", "link": "A--B"})
        wait_until(lambda: not _reaches(lab, "A", "B"), 60, "the end of the link")
        lab.tell({"do": "clear", "link": "A--B"})
        lab.wait_connected()


@pytest.mark.slow
def test_a_stalled_link_hangs_until_it_is_cleared(stand_ins: tuple[Lab, Relayed]) -> None:
    lab, relayed = stand_ins
    lab.tell({"do": "stall", "link": "A--B"})
    assert not _reaches(lab, "A", "B")
    assert _connections(relayed, "A--B") == 1
    lab.tell({"do": "clear", "link": "A--B"})
    lab.wait_connected()


@pytest.mark.slow
def test_an_edge_router_is_handed_over_to_a_router_that_nobody_dials_else(
    stand_ins: tuple[Lab, Relayed],
) -> None:
    lab, _ = stand_ins
    lab.tell({"do": "cut", "link": "A--B"})  # so that it is seen where the edge is
    assert _reaches(lab, "A", "leaf")
    lab.tell({"do": "move", "link": "A--leaf", "to": "B"})
    wait_until(lambda: _reaches(lab, "B", "leaf") and not _reaches(lab, "A", "leaf"), 60, "the hand-over")
    lab.tell({"do": "clear", "link": "A--leaf"})
    wait_until(lambda: _reaches(lab, "A", "leaf") and not _reaches(lab, "B", "leaf"), 60, "the way back")
    lab.tell({"do": "clear", "link": "A--B"})
    lab.wait_connected()


@pytest.mark.slow
def test_clients_of_the_config_pass_the_relay_and_can_be_moved(stand_ins: tuple[Lab, Relayed]) -> None:
    """Management goes directly, so that a fault of clients leaves the collectors alone."""
    lab, _ = stand_ins
    config = lab.config()
    urls = {name: endpoint["url"] for name, endpoint in config["endpoints"].items()}
    assert set(urls.values()).isdisjoint(config["meshes"]["mesh"]["urls"])
    assert _router_at(urls["A"]) == "A.stand-in"
    lab.tell({"do": "move", "link": "A--clients", "to": "B"})
    assert _router_at(urls["A"]) == "B.stand-in"
    lab.tell({"do": "clear", "link": "A--clients"})
    assert _router_at(urls["A"]) == "A.stand-in"


def _router_at(url: str) -> str:
    connection = BlockingConnection(url, timeout=30, allowed_mechs="ANONYMOUS")
    try:
        return str(connection.conn.remote_container)
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ({"do": "loss", "link": "A--B", "percent": 5}, "loss is of packets, .* namespaces, which needs root"),
        ({"do": "reorder", "link": "A--B"}, "reorder is of packets, .* namespaces, which needs root"),
        ({"do": "delay", "link": "A--B"}, "`delay` needs `ms`"),
        ({"do": "cut", "link": "A--C"}, "name a `link`, one of A--B, A--clients, A--leaf, .*"),
        (
            {"do": "move", "link": "A--B", "to": "leaf"},
            "move: to is one of A, B, not 'leaf'",
        ),
        ({"do": "move", "link": "A--B"}, "`move` needs `to`"),
        (
            {"do": "unheard-of", "link": "A--B"},
            "'unheard-of' is none of delay, limit, stall, cut",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(
    stand_ins: tuple[Lab, Relayed], command: dict[str, Any], problem: str
) -> None:
    with pytest.raises(Problem, match=problem):
        stand_ins[0].tell(command)


@pytest.mark.slow
def test_a_relay_that_is_killed_or_stands_still_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring, "_SILENT_SECONDS", 1.0)
    with _lab(tmp_path, {"routers": {"A": {}}}, stand_ins=True) as (lab, relayed):
        pid = relayed.relay.process.pid
        stall = {"do": "stall", "link": "A--clients"}
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(Problem, match=f"the relay, pid {pid}, said nothing for 1 s: it stands still"):
            lab.tell(stall)
        os.kill(pid, signal.SIGCONT)
        assert lab.tell(stall) == {"link": "A--clients", "faults": [{"do": "stall"}]}
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not relayed.relay.alive, 30, "its end")
        with pytest.raises(Problem, match="relay--links ended unasked with signal SIGKILL"):
            lab.tell(stall)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", relayed.clients["A"]))


@pytest.mark.e2e
def test_brokers_are_dialled_through_the_relay(tmp_path: Path) -> None:
    """By routers and by other brokers."""
    document = {
        "routers": {"A": {}},
        "brokers": {"store": {}, "archive": {}},
        "links": [
            {"from": "A", "to": "store", "queues": ["inflight.orders"]},
            {"from": "store", "to": "archive", "by": "mirror"},
        ],
    }
    with _lab(tmp_path, document, stand_ins=True) as (lab, relayed):
        for link in ("A--store", "archive--store"):
            wait_until(lambda link=link: _connections(relayed, link), 60, f"connections over {link}")
        lab.tell({"do": "cut", "link": "A--store"})
        assert _connections(relayed, "A--store") == 0
        lab.tell({"do": "clear", "link": "A--store"})
        lab.wait_connected()
