"""Faults on command, seen by real clients."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from proton import Delivery
from standin_clients import Clients, Requester, StandIn

from deploy.errors import Problem
from deploy.standin.faults import control

pytestmark = pytest.mark.slow

ACCEPTED, REJECTED, RELEASED, MODIFIED = (
    Delivery.ACCEPTED,
    Delivery.REJECTED,
    Delivery.RELEASED,
    Delivery.MODIFIED,
)


@pytest.fixture
def faulty(line: list[StandIn]) -> Iterator[StandIn]:
    """B, in the middle of the line; its faults end with the test."""
    yield line[1]
    line[1].tell(do="clear")


def test_k_presettled_messages_are_missing_and_counted(
    line: list[StandIn],
    faulty: StandIn,
    clients: Clients,
    address: str,
    requester: Callable[[int], Requester],
) -> None:
    """Told to drop 3 presettled messages, it drops 3, and says so at its links."""
    receiver = clients.receiver(line[2].port, address)
    number = faulty.tell(kind="drop", address=address, count=3, settlement="presettled")["id"]
    clients.sender(line[0].port, address, presettled=True).send(50)
    receiver.got(47)
    clients.pump(0.1)
    assert receiver.ids() == list(range(3, 50))
    assert faulty.tell(do="list")["faults"][str(number)]["hits"] == 3
    rows = requester(line[0].port).rows(
        "org.apache.qpid.dispatch.router.link", "amqp:/_topo/0/B.stand-in/$management"
    )
    assert sum(row["droppedPresettledCount"] for row in rows) == 3


def test_k_acknowledged_messages_are_lost_for_good(
    line: list[StandIn], faulty: StandIn, clients: Clients, address: str
) -> None:
    """Accepted and gone: what no sender can notice, and a monitor has to find."""
    receiver = clients.receiver(line[2].port, address)
    faulty.tell(kind="drop", address=address, count=4)
    sender = clients.sender(line[0].port, address)
    sender.send(20)
    assert sender.settled(20) == [ACCEPTED] * 20
    assert receiver.ids() == list(range(4, 20))


@pytest.mark.parametrize(
    ("kind", "outcome"), [("release", RELEASED), ("reject", REJECTED), ("modify", MODIFIED)]
)
def test_refused_messages_come_back(
    line: list[StandIn], faulty: StandIn, clients: Clients, address: str, kind: str, outcome: int
) -> None:
    """Two refused by the router, the rest delivered."""
    receiver = clients.receiver(line[2].port, address)
    faulty.tell(kind=kind, address=address, count=2)
    sender = clients.sender(line[0].port, address)
    sender.send(5)
    assert sorted(sender.settled(5)) == sorted([outcome] * 2 + [ACCEPTED] * 3)
    assert receiver.ids() == [2, 3, 4]


def test_duplicates_arrive_twice(
    line: list[StandIn], faulty: StandIn, clients: Clients, address: str
) -> None:
    """Each of two messages comes again."""
    receiver = clients.receiver(line[2].port, address)
    faulty.tell(kind="duplicate", address=address, count=2)
    sender = clients.sender(line[0].port, address)
    sender.send(4)
    receiver.got(6)
    assert sorted(receiver.ids()) == [0, 0, 1, 1, 2, 3]


def test_delay_is_at_least_what_was_asked_for_and_keeps_the_order(
    line: list[StandIn], faulty: StandIn, clients: Clients, address: str
) -> None:
    """With jitter, too, nobody overtakes."""
    receiver = clients.receiver(line[2].port, address)
    faulty.tell(kind="delay", address=address, ms=100, jitter_ms=50, seed=1)
    sender = clients.sender(line[0].port, address)
    clients.wait(lambda: sender.link.credit, "credit")
    begin = time.monotonic()
    sender.send(20)
    receiver.got(20)
    assert receiver.arrived[0] - begin >= 0.1
    assert receiver.ids() == list(range(20))
    assert sender.settled(20) == [ACCEPTED] * 20


def test_delay_with_reorder_lets_messages_overtake(
    line: list[StandIn], faulty: StandIn, clients: Clients, address: str
) -> None:
    """All arrive, in another order."""
    receiver = clients.receiver(line[2].port, address)
    faulty.tell(kind="delay", address=address, jitter_ms=100, reorder=True, seed=1)
    clients.sender(line[0].port, address).send(20)
    receiver.got(20)
    assert receiver.ids() != list(range(20))
    assert sorted(receiver.ids()) == list(range(20))


def test_stall_holds_everything_until_it_is_cleared(
    line: list[StandIn], faulty: StandIn, clients: Clients, address: str
) -> None:
    """Nothing is delivered or settled, credit runs dry, other addresses go on, and nothing is lost."""
    receiver = clients.receiver(line[2].port, address, credit=300)
    sender = clients.sender(line[0].port, address)
    clients.wait(lambda: sender.link.credit, "credit")
    number = faulty.tell(kind="stall", address=address)["id"]
    sender.send(10)
    other = clients.receiver(line[2].port, "inflight/other")
    clients.sender(line[0].port, "inflight/other").send(5)
    other.got(5)
    clients.pump(0.2)
    assert (receiver.messages, sender.outcomes) == ([], [])
    faulty.tell(do="clear", id=number)
    receiver.got(10)
    assert receiver.ids() == list(range(10))
    sender.send(10)
    assert sender.settled(20) == [ACCEPTED] * 20


def test_stall_with_seconds_ends_by_itself(
    line: list[StandIn], faulty: StandIn, clients: Clients, address: str
) -> None:
    """After its time messages flow again."""
    receiver = clients.receiver(line[2].port, address)
    sender = clients.sender(line[0].port, address)
    clients.wait(lambda: sender.link.credit, "credit")
    begin = time.monotonic()
    faulty.tell(kind="stall", address=address, seconds=0.3)
    sender.send(5)
    receiver.got(5)
    assert receiver.arrived[0] - begin >= 0.3
    sender.send(95)
    receiver.got(100)


def test_bandwidth_spaces_messages_by_their_size(
    line: list[StandIn], faulty: StandIn, clients: Clients, address: str
) -> None:
    """Ten of at least 1,000 bytes over 25,000 bytes a second take 0.4 s, in order; all are acknowledged."""
    receiver = clients.receiver(line[2].port, address)
    sender = clients.sender(line[0].port, address)
    clients.wait(lambda: sender.link.credit, "credit")
    faulty.tell(kind="bandwidth", address=address, bytes_per_second=25_000)
    begin = time.monotonic()
    sender.send(10, body="x" * 1000)
    receiver.got(10)
    assert receiver.arrived[-1] - begin >= 0.4
    assert receiver.ids() == list(range(10))
    assert sender.settled(10) == [ACCEPTED] * 10


def test_bandwidth_that_is_cleared_lets_go_of_what_waits(
    line: list[StandIn], faulty: StandIn, clients: Clients, address: str
) -> None:
    """At one byte a second nothing would come within the hour."""
    receiver = clients.receiver(line[2].port, address)
    number = faulty.tell(kind="bandwidth", address=address, bytes_per_second=1)["id"]
    sender = clients.sender(line[0].port, address)
    sender.send(10, body="x" * 1000)
    clients.wait(lambda: faulty.tell(do="list")["faults"][str(number)]["hits"] == 10, "all at the fault")
    assert receiver.messages == []
    faulty.tell(do="clear", id=number)
    receiver.got(10)
    assert receiver.ids() == list(range(10))


def test_the_help_names_every_kind_with_its_fields() -> None:
    """`--help` comes from the table of kinds."""
    text = CliRunner().invoke(control.main, ["--help"]).output
    for kind in ("delay", "drop", "release", "reject", "modify", "duplicate", "stall", "bandwidth"):
        assert f"\n  {kind} " in text
    assert "(ms, jitter_ms, distribution, reorder)" in text
    assert "(bytes_per_second)" in text


def test_management_is_not_stalled(faulty: StandIn, requester: Callable[[int], Requester]) -> None:
    """A router told to stall everything still answers for itself."""
    faulty.tell(kind="stall")
    assert requester(faulty.port).ask({"operation": "GET-MGMT-NODES"}).properties["statusCode"] == 200


def test_die_is_sudden(standin: Callable[..., StandIn]) -> None:
    """No goodbye, as after kill -9."""
    one = standin("X")
    one.tell(do="die")
    assert one.process.wait(5) == -9


def test_bad_commands_are_refused_and_do_no_harm(faulty: StandIn) -> None:
    """The answer says what is wrong, and the next command works."""
    with pytest.raises(Problem, match="kind is one of delay, drop"):
        faulty.tell(kind="explode")
    with pytest.raises(Problem, match="do is one of fault, list, clear, die, not 'sing'"):
        faulty.tell(do="sing")
    assert faulty.tell(do="list")["faults"] == {}


def test_nobody_at_the_socket_is_told_in_one_line(tmp_path: Path) -> None:
    """With the path, and what to do."""
    with pytest.raises(Problem, match="is it running with --control"):
        control.send(tmp_path / "none.sock", {"do": "list"})


def test_faults_can_be_told_from_a_shell(standin: Callable[..., StandIn]) -> None:
    """`python -m deploy.standin.faults.control FILE drop count=5` and its answer in JSON."""
    one = standin("X")
    command = [
        sys.executable,
        "-m",
        "deploy.standin.faults.control",
        str(one.control),
        "drop",
        "count=5",
        "address=a/b",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"ok": True, "id": 1}
    assert one.tell(do="list")["faults"]["1"] == {
        "kind": "drop",
        "address": "a/b",
        "settlement": "any",
        "left": 5,
        "hits": 0,
    }
