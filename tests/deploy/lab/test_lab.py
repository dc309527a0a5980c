"""Labs with stand-ins, and with real routers where there are some; brokers are real."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers import wait_until
from real_routers import DISPATCH, ROUTERS, line, running, wanted

from deploy.commands.status import command as status
from deploy.embedded.programs.artemis import Artemis
from deploy.embedded.supervise import orphans
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab.lab import Lab
from deploy.topology import load
from deploy.topology.form import Topology
from deploy.topology.mistakes import Source

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[2] / "fixtures" / "older-generator"
# A lab in a process that can be killed; tells the pids of its parts.
OWNER = """
import json, sys, time
from pathlib import Path
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.lab.lab import Lab
from deploy.topology import load
with Supervisor(Path(sys.argv[1]), stop_seconds=1) as supervisor:
    lab = Lab(supervisor, load.from_shape("line", "AB", [("store", None)]).topology, stand_ins=True)
    lab.start()
    lab.tell({"do": "pause", "part": "B"})
    print(json.dumps([part.process.pid for part in lab.parts.values()]), flush=True)
    time.sleep(600)
"""


def topology(program: str = "qdrouterd", **more: Any) -> Topology:
    return load.made({"version": 1, "program": program, **more}, Source("test")).topology


def test_brokers_that_others_dial_are_there_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also along a chain; two that dial each other wait for nobody."""
    done: list[str] = []

    def start(broker: Artemis) -> None:
        done.append(f"{broker.name} begins")
        time.sleep(0.2)
        done.append(f"{broker.name} is ready")

    monkeypatch.setattr(Artemis, "start", start)
    by = {"by": "mirror"}
    parts = topology(
        routers={"A": {}},
        brokers={name: {} for name in ("first", "second", "one", "two")},
        links=[
            {"from": "A", "to": "first"},
            {"from": "first", "to": "second", **by},
            {"from": "second", "to": "one", **by},
            {"from": "one", "to": "two", **by},
            {"from": "two", "to": "one", **by},
        ],
    )
    with Supervisor(tmp_path) as supervisor:
        Lab(supervisor, parts, stand_ins=True).start("first", "second", "one", "two")
    assert {*done[:2]} == {"one begins", "two begins"}
    assert {*done[2:4]} == {"one is ready", "two is ready"}
    assert done[4:] == ["second begins", "second is ready", "first begins", "first is ready"]


def with_an_edge(program: str) -> Topology:
    """Costs, two connections on one link, and an edge router."""
    return topology(
        program,
        routers={"A": {}, "B": {}, "C": {}, "E": {"mode": "edge"}},
        links=[
            {"from": "B", "to": "A", "cost": 5, "redundancy": 2},
            {"from": "C", "to": "A", "cost": 3},
            {"from": "C", "to": "B", "cost": 4},
            {"from": "E", "to": "B"},
        ],
    )


@pytest.mark.parametrize("stand_ins", [True, False], ids=["stand-ins", "real"])
@pytest.mark.parametrize("program", ROUTERS, ids=lambda program: program.name)
def test_a_mesh_with_an_edge_comes_together(program: Any, tmp_path: Path, *, stand_ins: bool) -> None:
    """Every router reaches every other one, the edge too; `inflight status` finds nothing wrong."""
    with running(with_an_edge(program.name), tmp_path, stand_ins=stand_ins) as lab:
        assert {router.kind for router in lab.routers.values()} == (
            {"stand-in"} if stand_ins else {program.command}
        )
        file = tmp_path / "inflight.yaml"
        file.write_text(json.dumps(lab.config()))
        told = CliRunner().invoke(status, ["-c", str(file), "--json"])
        assert told.exit_code == 0, told.output
        costs = {
            edge["edge"].replace(".stand-in", ""): edge["cost"] for edge in json.loads(told.output)["edges"]
        }
        assert costs == {"A--B": 5, "A--C": 3, "B--C": 4, "B--E": None}
        lab.tell({"do": "kill", "part": "E"})
        with pytest.raises(Problem, match="E does not answer its management"):
            lab.wait_connected(2.0)


@pytest.mark.e2e
def test_ten_routers_and_two_brokers(tmp_path: Path) -> None:
    """A ring of ten stand-ins, a broker at two of them: each broker has a Jolokia of its own."""
    ring = load.from_shape("ring", "ABCDEFGHIJ", [("one", None), ("two", None)]).topology
    with running(ring, tmp_path, stand_ins=True) as lab:
        assert [*lab.parts] == [*"ABCDEFGHIJ", "one", "two"]
        assert len({broker.jolokia_url for broker in lab.brokers.values()}) == 2
        file = tmp_path / "inflight.yaml"
        file.write_text(json.dumps(lab.config()))
        told = CliRunner().invoke(status, ["-c", str(file), "--json"])
        assert told.exit_code == 0, told.output
        found = json.loads(told.output)
        assert sum(row["up"] for row in found["routers"]) == 10
        assert {queue["queue"] for queue in found["queues"]} >= {"inflight.one", "inflight.two"}


@pytest.mark.e2e
def test_the_older_generators_networks_run(tmp_path: Path) -> None:
    """Two routers with a broker each by link routes; explicit listeners and connectors on ports of hosts."""
    wanted(DISPATCH)
    for name in ("graph", "explicit"):
        found = load.from_file(SAMPLES / f"{name}.yaml", SAMPLES / "inventory.ini").topology
        with running(found, tmp_path / name) as lab:
            assert {*lab.routers} == {"north", "south"}


def test_a_lab_beside_another_one(tmp_path: Path) -> None:
    """Of the same file: their ports differ, and what is done to the one is not felt by the other."""
    with (
        running(line(), tmp_path / "one", stand_ins=True) as one,
        running(line(), tmp_path / "two", stand_ins=True) as two,
    ):
        one.tell({"do": "stop", "part": "B"})
        two.wait_connected()
        with pytest.raises(Problem, match=r"B does not answer its management .*; A waits for "):
            one.wait_connected(1.0)


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    with socket.socket() as listening:
        yield listening


def test_a_part_that_does_not_come_up_is_told(tmp_path: Path, taken: socket.socket) -> None:
    """By its name, with the end of its log, without waiting for the others."""
    with Supervisor(tmp_path) as supervisor:
        lab = Lab(supervisor, line(), stand_ins=True)
        taken.bind(("127.0.0.1", lab.plan.routers["B"].listener("normal").port))
        taken.listen()
        with pytest.raises(Problem) as told:
            lab.start()
    assert "B did not start: ended with status 2. The end of its log" in told.value.message
    assert "stand-in B.stand-in cannot listen: [Errno 98] Address already in use" in told.value.message


def test_a_killed_owner_leaves_nothing(tmp_path: Path) -> None:
    """Kill -9 of the process that keeps a lab: all parts end, also a broker and one that stands still."""
    with subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pids = json.loads(owner.stdout.readline())
        mark = f"{tmp_path.resolve()}//"
        assert {*pids} <= {*orphans.marked(mark)}
        assert len(pids) == 3
        owner.send_signal(signal.SIGKILL)
        wait_until(lambda: not orphans.marked(mark), 30, "all of them to end")


def test_a_part_that_stands_still_ends_in_order_all_the_same(tmp_path: Path) -> None:
    """`stop` lets it go on, so that it hears of its end; then it can be started again."""
    with running(line(routers=2), tmp_path, stand_ins=True) as lab:
        paused = lab.routers["B"].process
        lab.tell({"do": "pause", "part": "B"})
        wait_until(lambda: state(paused.pid) == "T", 10, "it to stand still")
        lab.tell({"do": "stop", "part": "B"})
        assert paused._popen.returncode == 0  # noqa: SLF001 -- the status that the supervisor saw
        lab.tell({"do": "start", "part": "B"})
        lab.wait_connected()
        lab.tell({"do": "start", "part": "B"})  # what runs already is left alone
        lab.tell({"do": "restart", "part": "B"})
        lab.wait_connected()


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ({"do": "kill", "part": "X"}, "kill: name a `part`, one of A, B"),
        ({"do": "pause", "part": "A"}, "A does not run: start it first"),
        (
            {"do": "delay", "link": "A--B", "ms": 5},
            "delay is not possible here: nothing stands between the parts of this lab",
        ),
        ({}, "'None' is none of kill"),
    ],
)
def test_what_cannot_be_done_is_told(command: dict[str, Any], words: str, tmp_path: Path) -> None:
    """An unknown part, one that does not run, and a fault of links where nothing stands between them."""
    with Supervisor(tmp_path) as supervisor, pytest.raises(Problem) as told:
        Lab(supervisor, line(routers=2), stand_ins=True).tell(command)
    assert words in told.value.message


def test_what_is_left_out_is_said_at_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A network with logins runs without them, and who starts it can read so."""
    found = topology(routers={"A": {"sasl": "x"}}, sasl={"x": {"mechanism": "ANONYMOUS"}})
    with running(found, tmp_path, stand_ins=True):
        assert "left out here: TLS and logins" in caplog.text


def test_no_part_is_called_as_the_kafka_beside_it(tmp_path: Path) -> None:
    with Supervisor(tmp_path) as supervisor, pytest.raises(Problem, match="rename it"):
        Lab(supervisor, topology(routers={"kafka": {}}), kafka=True)
