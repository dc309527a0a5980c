"""Labs whose parts are in namespaces: what broken links are to messages; nothing stays in the end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import proton
import pytest
from helpers import optional, wait_until
from namespaces_possible import skip_unless_possible
from standin_clients import Clients
from wired import topology

from deploy.embedded.supervise import orphans
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab.lab import Lab
from deploy.lab.namespaces.namespaces import Namespaces

pytestmark = pytest.mark.slow
_SECONDS = 60.0
_STAND_IN = "stand-in"
_SHORT, _ROUND = ["A--B"], ["A--C", "B--C"]  # from A to B


@pytest.fixture(autouse=True, scope="module")
def _possible() -> None:
    skip_unless_possible()


@contextmanager
def _lab(folder: Path, program: str, **more: object) -> Iterator[Lab]:
    """A ring of three routers."""
    real = program != _STAND_IN
    if real and shutil.which(program) is None:
        optional(program)
    network = topology("ring", 3, program=program if real else "qdrouterd", **more)
    with Supervisor(folder) as supervisor:
        lab = Lab(supervisor, network, wiring=Namespaces(supervisor), stand_ins=not real)
        lab.start()
        lab.wait_connected()
        yield lab


@pytest.fixture(scope="module", params=[_STAND_IN, "qdrouterd", "skrouterd"])
def ring(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with _lab(tmp_path_factory.mktemp("ring"), request.param) as lab:
        yield lab


@pytest.fixture
def whole(ring: Lab) -> Iterator[Lab]:
    """The ring, its links as they were."""
    yield ring
    ring.tell({"do": "clear", "link": "A--B"})
    ring.wait_connected()


class _Between(Clients):
    """Clients of routers that have an address each."""

    def connect(self, url: str) -> proton.Connection:
        if url not in self.connections:
            self.connections[url] = self.container.connect(url, reconnect=False)
        return self.connections[url]


@pytest.fixture
def clients() -> Iterator[_Between]:
    made = _Between()
    yield made
    made.close()


def _way(lab: Lab) -> list[str]:
    """The links that messages from A to B went over, by the bytes that passed there."""
    with closing(_Between()) as clients:
        receiver = clients.receiver(lab.routers["B"].url, "way")
        sender = clients.sender(lab.routers["A"].url, "way")
        before = _passed_bytes(lab)
        sender.send(20, body="x" * 10_000)
        receiver.got(20)
        after = _passed_bytes(lab)
    return sorted(link for link in after if after[link] - before[link] >= 20 * 10_000)


def _passed_bytes(lab: Lab) -> dict[str, int]:
    """What passed on each link, both ways, as the kernel counts it at one end."""
    wiring = lab.wiring
    assert isinstance(wiring, Namespaces)
    counted = {}
    for wire in wiring.layout.wires.values():
        told = _told(*map(str, wiring.argv(wire.ends[0], ["cat", "/proc/net/dev"])))
        rows = dict(line.strip().split(":", 1) for line in told.splitlines()[2:])
        columns = rows[wire.device].split()
        counted[wire.id] = int(columns[0]) + int(columns[8])
    return counted


@pytest.mark.parametrize("fault", ["cut", "stall"])
def test_the_way_round(whole: Lab, fault: str) -> None:
    """Messages go the other way round the ring while a link is broken, and the short way afterwards."""
    assert wait_until(lambda: _way(whole) == _SHORT, _SECONDS, "the short way")
    whole.tell({"do": fault, "link": "A--B"})
    assert wait_until(lambda: _way(whole) == _ROUND, _SECONDS, "the way round")
    whole.tell({"do": "clear", "link": "A--B"})
    assert wait_until(lambda: _way(whole) == _SHORT, _SECONDS, "the short way again")


def test_amqp_over_a_lossy_link(whole: Lab, clients: _Between) -> None:
    """While packets are lost, late and out of order, all messages come, in order, and are accepted."""
    for fault in (
        {"do": "loss", "percent": 5},
        {"do": "delay", "ms": 5, "jitter_ms": 2},
        {"do": "reorder", "percent": 10},
    ):
        whole.tell({"link": "A--B", **fault})
    receiver = clients.receiver(whole.routers["B"].url, "lossy", 1000)
    sender = clients.sender(whole.routers["A"].url, "lossy")
    sender.send(300)
    clients.wait(lambda: len(receiver.messages) >= 300, "300 messages", _SECONDS)
    clients.wait(lambda: len(sender.outcomes) >= 300, "300 outcomes", _SECONDS)
    assert receiver.ids() == list(range(300))
    assert set(sender.outcomes) == {proton.Delivery.ACCEPTED}


def test_each_part_can_be_killed_and_started(whole: Lab) -> None:
    """A part comes back into its namespace, at the address that the others know."""
    whole.tell({"do": "kill", "part": "B"})
    assert not whole.parts["B"].alive
    whole.tell({"do": "start", "part": "B"})
    whole.wait_connected()
    assert wait_until(lambda: _way(whole) == _SHORT, _SECONDS, "the short way")


def test_labs_beside_each_other(ring: Lab, tmp_path: Path) -> None:
    """A second lab has addresses of its own, and a fault in it is none of the first one's."""
    with _lab(tmp_path, _STAND_IN) as other:
        assert not {at.address for at in ring.plan.routers.values()} & {
            at.address for at in other.plan.routers.values()
        }
        other.tell({"do": "cut", "link": "A--B"})
        assert wait_until(lambda: _way(other) == _ROUND, _SECONDS, "the way round")
        assert wait_until(lambda: _way(ring) == _SHORT, _SECONDS, "the short way")


@pytest.mark.e2e
def test_a_broker_in_a_namespace(tmp_path: Path) -> None:
    """Its Jolokia is asked from this host; its router finds it again after the link was cut."""
    network = topology("line", 2, brokers=[("store", "B")])
    with Supervisor(tmp_path) as supervisor:
        lab = Lab(supervisor, network, wiring=Namespaces(supervisor), stand_ins=True)
        lab.start()
        lab.wait_connected()
        assert lab.brokers["store"].jolokia_url.startswith(f"http://{lab.plan.brokers['store'].address}:")
        _through_queue(lab)
        lab.tell({"do": "cut", "link": "B--store"})
        wait_until(lambda: not _is_connected(lab), _SECONDS, "the loss of the broker")
        lab.tell({"do": "clear", "link": "B--store"})
        lab.wait_connected()
        _through_queue(lab)


def _is_connected(lab: Lab) -> bool:
    try:
        lab.wait_connected(1)
    except Problem:
        return False
    return True


def _through_queue(lab: Lab) -> None:
    with closing(_Between()) as clients:
        receiver = clients.receiver(lab.routers["A"].url, "inflight.store")
        clients.sender(lab.routers["A"].url, "inflight.store").send(10)
        clients.wait(lambda: len(receiver.messages) >= 10, "10 messages", _SECONDS)


_OWNER = """
import sys, time
from pathlib import Path
from wired import topology
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab.lab import Lab
from deploy.lab.namespaces.namespaces import Namespaces

with Supervisor(Path(sys.argv[1])) as supervisor:
    wiring = Namespaces(supervisor)
    lab = Lab(supervisor, topology("ring", 3), wiring=wiring, stand_ins=True)
    lab.start()
    lab.tell({"do": "delay", "link": "A--B", "ms": 5})
    lab.tell({"do": "loss", "link": "A--B", "percent": 1})
    lab.tell({"do": "limit", "link": "A--B", "bytes_per_second": 1_000_000})
    devices = [place.host_device for place in wiring.layout.places.values()]
    print(wiring.layout.block.network, *devices, flush=True)
    time.sleep(600)
"""


def test_nothing_stays_after_kill_9(tmp_path: Path) -> None:
    """No process, no device, and so no namespace, no route, no table of rules."""
    folder = tmp_path / "lab"
    rules = _told("nft", "list", "ruleset")
    with subprocess.Popen(
        [sys.executable, "-c", _OWNER, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as owner:
        assert owner.stdout
        network, *devices = owner.stdout.readline().split()
        assert len(devices) == 3
        prefix = network.removesuffix("0/24")
        assert all(device in _told("ip", "link") for device in devices)
        assert prefix in _told("ip", "route")
        owner.send_signal(signal.SIGKILL)
    wait_until(lambda: not orphans.marked(f"{folder}//"), _SECONDS, "the end of all processes")
    wait_until(lambda: not any(d in _told("ip", "link") for d in devices), _SECONDS, "the end of all devices")
    assert prefix not in _told("ip", "route", "show", "table", "all")
    assert _told("nft", "list", "ruleset") == rules


def _told(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout
