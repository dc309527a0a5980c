"""The config of Inflight for a lab, told from its parts; nothing is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from collectors.config.load import parse
from deploy.demo import config as demo
from deploy.demo.stories import topology
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.lab.lab import Lab
from deploy.topology import load
from deploy.topology.mistakes import Source

pytestmark = pytest.mark.slow


def config(program: str, *, real: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The config of a lab whose file names the way out of a queue as this program's routers have it."""
    paths: dict[str, Any] = {
        "through": {"from": "A", "to": "B", "address": "orders", "via": "store"},
        "from-broker": {"from": "A", "to": "store", "address": "orders"},
        "elsewhere": {"from": "A", "to": "B", "address": "orders", "receive_address": "dead-letters"},
    }
    if program == "skrouterd":
        paths["through"]["receive_address"] = "orders.from-queue"
    document = {
        "version": 1,
        "program": program,
        "routers": {"A": {}, "B": {}},
        "brokers": {"store": {}},
        "links": [{"from": "B", "to": "A"}, {"from": "B", "to": "store", "queues": ["orders"]}],
        "paths": paths,
    }
    monkeypatch.setattr("shutil.which", lambda command: command)
    with Supervisor(tmp_path) as supervisor:
        lab = Lab(supervisor, load.made(document, Source("test")).topology, stand_ins=not real)
        made = lab.config()
    parse(yaml.safe_dump(made), "lab.yaml")
    return made


@pytest.mark.parametrize(
    ("program", "real", "receive", "expect"),
    [
        ("qdrouterd", True, None, "A--B"),
        ("qdrouterd", False, None, "A.stand-in--B.stand-in"),
        ("skrouterd", True, "orders.from-queue", "A--B"),
        ("skrouterd", False, None, "A.stand-in--B.stand-in"),
    ],
)
def test_paths_and_links_are_as_these_routers_have_them(
    program: str,
    receive: str | None,
    expect: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    real: bool,
) -> None:
    """A stand-in brings what came through a queue under its own address; other addresses are left alone."""
    made = config(program, real=real, tmp_path=tmp_path, monkeypatch=monkeypatch)
    assert made["paths"]["through"].get("receive_address") == receive
    assert "receive_address" not in made["paths"]["from-broker"]
    assert made["paths"]["elsewhere"]["receive_address"] == "dead-letters"
    assert made["meshes"]["mesh"]["expect"] == [expect]
    assert made["meshes"]["mesh"]["interval"] == made["brokers"]["store"]["interval"] == "1s"


@pytest.mark.parametrize("program", ["qdrouterd", "skrouterd", None])
def test_the_demonstrations_network(
    program: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four paths, whichever routers are on the PATH; without any, of stand-ins that speak like qdrouterd."""
    monkeypatch.setattr("shutil.which", lambda command: command if command == program else None)
    with Supervisor(tmp_path) as supervisor:
        lab = Lab(supervisor, topology(), kafka=True)
        file = demo.write_config(lab, tmp_path / "demo", "127.0.0.1:1", {"orders": 7})
    made = parse(file.read_text(), "demo.yaml")
    assert {router.kind for router in lab.routers.values()} == {program or "stand-in"}
    assert sorted(made.paths) == ["direct", "fanout", "orders", "presettled"]
    assert made.paths["orders"].count == 7
    receive = made.paths["orders"].receive_address or made.paths["orders"].address
    assert receive == ("inflight.orders.from-queue" if program == "skrouterd" else "inflight.orders")
    assert made.kafka is not None
