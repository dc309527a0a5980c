"""Real routers, stand-ins and a real Artemis take what is written, and form the expected mesh."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from certificates import Authority
from click.testing import CliRunner
from helpers import free_port, wait_until
from proton import Message, SSLDomain
from proton.utils import BlockingConnection
from real_routers import ROUTERS as ON_PATH
from real_routers import wanted

from deploy.commands.status import command as status
from deploy.embedded.programs.artemis import Artemis
from deploy.embedded.supervise.ports import accepts
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.topology import load, outputs, shapes
from deploy.topology.load import Network
from deploy.topology.mistakes import Source
from deploy.topology.outputs import artemis, monitor, router, stand_in
from deploy.topology.plan import Plan
from deploy.topology.programs import PROGRAMS

pytestmark = pytest.mark.slow

_WHOLE_SECONDS = 60.0
SMALL = {"journal-file-size": "1M", "journal-min-files": 2, "max-disk-usage": -1, "critical-analyzer": False}
SAMPLES = Path(__file__).parents[2] / "fixtures" / "older-generator"


def free(_address: str, _role: str) -> int:
    return free_port()


def network(document: dict[str, Any]) -> Network:
    return load.made(document, Source("test"), pick=free)


def shape(name: str, count: int, program: str) -> dict[str, Any]:
    return shapes.document(name, shapes.names(count), program=program)


def with_an_edge(program: str) -> dict[str, Any]:
    """Three costs, two connections on one link, and an edge router that the file lets be dialled."""
    return {
        "version": 1,
        "program": program,
        "routers": {"A": {}, "B": {"workers": 2}, "C": {}, "E": {"mode": "edge"}},
        "links": [
            {"from": "B", "to": "A", "cost": 5, "redundancy": 2},
            {"from": "C", "to": "A", "cost": 3},
            {"from": "C", "to": "B", "cost": 4},
            {"from": "B", "to": "E"},
        ],
        "addresses": [
            {"prefix": "multicast", "distribution": "multicast"},
            {"pattern": "orders.*.in", "distribution": "closest"},
        ],
    }


CASES: dict[str, Callable[[str], dict[str, Any]]] = {
    "one alone": lambda program: shape("line", 1, program),
    "ring of 2": lambda program: shape("ring", 2, program),
    "line of 3": lambda program: shape("line", 3, program),
    "ring of 5": lambda program: shape("ring", 5, program),
    "star of 4": lambda program: shape("star", 4, program),
    "complete of 4": lambda program: shape("complete", 4, program),
    "tree of 13": lambda program: shape("tree", 13, program),
    "costs, redundancy, an edge": with_an_edge,
}


def argv(plan: Plan, name: str, folder: Path, *, real: bool) -> list[str | Path]:
    if not real:
        return [sys.executable, "-m", "deploy.standin", *stand_in.arguments(plan, name)]
    program = PROGRAMS[plan.topology.program].command
    return [shutil.which(program) or program, "-c", folder / name / router.file_name(plan)]


@contextmanager
def running(found: Network, folder: Path, *, real: bool) -> Iterator[Supervisor]:
    """Each broker and router, with the very files that are written."""
    plan = found.plan
    for name, text in outputs.files(found).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    with Supervisor(folder / "state") as supervisor:
        for name, broker in plan.brokers.items():
            text = (folder / outputs.HOSTS / name / artemis.FILE).read_text()
            Artemis(supervisor, name=name, port=broker.port, configuration=text).start()
        for name, planned in plan.routers.items():
            port = planned.listener("normal").port
            supervisor.start(
                ProcessSpec(
                    name=f"router-{name}",
                    argv=argv(plan, name, folder / outputs.HOSTS, real=real),
                    ready=lambda port=port: accepts(port),
                    timeout_seconds=30,
                )
            )
        yield supervisor


def links_up(config: Path) -> dict[str, int | None]:
    """Each link that `inflight status` finds, with its cost; stand-ins without the end of their names."""
    result = CliRunner().invoke(status, ["-c", str(config), "--json"])
    found = json.loads(result.output)
    plain = {row["edge"].replace(".stand-in", ""): row for row in found["edges"]}
    return {edge: row["cost"] for edge, row in plain.items() if row["up"]}


def only_routers(config: Path) -> Path:
    """The same config, for who has started no broker."""
    value = yaml.safe_load(config.read_text())
    kept = {key: part for key, part in value.items() if key not in {"brokers", "paths"}}
    file = config.with_name("routers.yaml")
    file.write_text(yaml.safe_dump(kept))
    return file


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("program", ON_PATH, ids=lambda program: program.name)
def test_real_routers_form_the_mesh(program: Any, case: str, tmp_path: Path) -> None:
    """The files start them, and the links found are those of `expect`, with their costs."""
    wanted(program)
    found = network(CASES[case](program.name))
    expect = {*monitor.config(found.plan)["meshes"][found.topology.name].get("expect", ())}
    with running(found, tmp_path, real=True):
        config = only_routers(tmp_path / monitor.FILE)
        wait_until(lambda: links_up(config).keys() == expect, _WHOLE_SECONDS, f"the links {expect}")
        if case == "costs, redundancy, an edge":
            wanted_costs = {"A--B": 5, "A--C": 3, "B--C": 4, "B--E": None}
            wait_until(lambda: links_up(config) == wanted_costs, _WHOLE_SECONDS, f"the costs {wanted_costs}")


@pytest.mark.parametrize(
    ("program", "case"), [*(("qdrouterd", case) for case in CASES), ("skrouterd", "ring of 5")]
)
def test_stand_ins_form_the_mesh(program: str, case: str, tmp_path: Path) -> None:
    """The same without any real router."""
    found = network(CASES[case](program))
    expect = {*monitor.config(found.plan)["meshes"][found.topology.name].get("expect", ())}
    with running(found, tmp_path, real=False):
        config = only_routers(tmp_path / monitor.FILE)
        wait_until(lambda: links_up(config).keys() == expect, _WHOLE_SECONDS, f"the links {expect}")


def bring(url: str, address: str, body: str, **options: Any) -> None:
    """Send a message, again while the way is not open yet."""

    def sent() -> bool:
        connection = BlockingConnection(url, timeout=10, **options)
        try:
            connection.create_sender(address).send(Message(body=body))
        finally:
            connection.close()
        return True

    wait_until(sent, _WHOLE_SECONDS, f"{address} to take a message at {url}")


def fetched(url: str, address: str, **options: Any) -> Any:
    """The body of one message."""
    connection = BlockingConnection(url, timeout=10, **options)
    try:
        receiver = connection.create_receiver(address)
        message = receiver.receive(timeout=_WHOLE_SECONDS)
        receiver.accept()
        return message.body
    finally:
        connection.close()


def go_through(found: Network, broker: str) -> None:
    """Send where the path through the broker begins, receive where it ends."""
    config = monitor.config(found.plan)
    (path,) = (path for path in config["paths"].values() if path.get("via") == broker)
    bring(config["endpoints"][path["from"]]["url"], path["address"], f"through {broker}")
    receive = path.get("receive_address", path["address"])
    assert fetched(config["endpoints"][path["to"]]["url"], receive) == f"through {broker}"


def own_address(text: str) -> str:
    """The older generator's explicit example, for this machine: its host is here, its port is free."""
    return text.replace("host: north", "host: 127.0.0.1").replace("10800", str(free_port()))


@pytest.mark.parametrize("real", [False, True], ids=["stand-in", "qdrouterd"])
def test_explicit_listeners_and_connectors_meet(
    real: bool,  # noqa: FBT001 -- a parameter of the test
    tmp_path: Path,
) -> None:
    """As they stand in the older generator's own example; what is found is what is expected."""
    if real:
        wanted(ON_PATH[0])
    file = tmp_path / "explicit.yaml"
    file.write_text(own_address((SAMPLES / "explicit.yaml").read_text()))
    found = load.from_file(file, pick=free)
    with running(found, tmp_path, real=real):
        config = only_routers(tmp_path / monitor.FILE)
        wait_until(lambda: links_up(config).keys() == {"north--south"}, _WHOLE_SECONDS, "the link")


def through_a_broker(program: str, **ways: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "program": program,
        "routers": {"A": {}, "C": {}},
        "brokers": {"store": {"queues": ["inflight.store"], "settings": SMALL}},
        "links": [{"from": "C", "to": "A"}, {"from": "C", "to": "store", **ways}],
    }


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("program", "way"),
    [(program, "queues") for program in ON_PATH] + [(ON_PATH[0], "link_routes")],
    ids=lambda value: getattr(value, "name", value),
)
def test_real_routers_lead_through_a_real_broker(program: Any, way: str, tmp_path: Path) -> None:
    """The path of inflight.yaml that goes by the broker takes a message from end to end."""
    wanted(program)
    found = network(through_a_broker(program.name, **{way: ["inflight.store"]}))
    with running(found, tmp_path, real=True):
        go_through(found, "store")


@pytest.mark.e2e
@pytest.mark.parametrize("real", [False, True], ids=["stand-in", "qdrouterd"])
def test_the_older_generators_graph_runs(real: bool, tmp_path: Path) -> None:  # noqa: FBT001 -- a parameter
    """Two routers with a broker each, as its example has them: messages go through both brokers."""
    if real:
        wanted(ON_PATH[0])
    found = load.from_file(SAMPLES / "graph.yaml", SAMPLES / "inventory.ini", pick=free)
    with running(found, tmp_path, real=real):
        for broker in ("store1", "store2"):
            go_through(found, broker)


@pytest.mark.e2e
@pytest.mark.parametrize("way", ["queues", "link_routes"])
def test_stand_ins_lead_through_a_real_broker(way: str, tmp_path: Path) -> None:
    """The same with no real router; stand-ins have phases, whomever they speak like."""
    found = network(through_a_broker("qdrouterd", **{way: ["inflight.store"]}))
    endpoints = monitor.config(found.plan)["endpoints"]
    with running(found, tmp_path, real=False):
        bring(endpoints["A"]["url"], "inflight.store", "through")
        assert fetched(endpoints["A"]["url"], "inflight.store") == "through"


@pytest.mark.e2e
def test_a_broker_with_tls(authority: Authority, tmp_path: Path) -> None:
    """Certificate and key are found by their files' names."""
    server = authority.issue("server")
    document = through_a_broker("qdrouterd", queues=["inflight.store"])
    document["tls"] = {"inside": {"ca": str(authority.ca), "cert": str(server.cert), "key": str(server.key)}}
    document["brokers"]["store"]["tls"] = "inside"
    found = network(document)
    domain = SSLDomain(SSLDomain.MODE_CLIENT)
    domain.set_trusted_ca_db(str(authority.ca))
    domain.set_peer_authentication(SSLDomain.VERIFY_PEER)
    url = monitor.config(found.plan)["endpoints"]["store"]["url"]
    assert url.startswith("amqps://")
    files = outputs.configurations(found.plan)
    port = found.plan.brokers["store"].port
    with Supervisor(tmp_path) as supervisor:
        broker = Artemis(supervisor, name="store", port=port, configuration=files["store/broker.xml"])
        (tmp_path / "store" / "store.pemcfg").write_text(files["store/store.pemcfg"])
        broker.start()
        bring(url, "inflight.store", "kept secret", ssl_domain=domain)
        assert fetched(url, "inflight.store", ssl_domain=domain) == "kept secret"


@pytest.mark.parametrize("program", ON_PATH, ids=lambda program: program.name)
def test_real_routers_check_each_others_certificates(
    program: Any, authority: Authority, tmp_path: Path
) -> None:
    """A link with TLS and EXTERNAL on both sides comes up."""
    wanted(program)
    node = authority.issue("node")
    tls = {"ca": str(authority.ca), "cert": str(node.cert), "key": str(node.key), "verify": "chain"}
    document = shape("line", 2, program.name)
    document |= {"tls": {"inside": tls}, "sasl": {"peers": {"mechanism": "EXTERNAL"}}}
    document["links"][0] |= {"tls": "inside", "sasl": "peers"}
    found = network(document)
    with running(found, tmp_path, real=True):
        config = only_routers(tmp_path / monitor.FILE)
        wait_until(lambda: links_up(config).keys() == {"A--B"}, _WHOLE_SECONDS, "the link")
