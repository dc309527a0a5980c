"""What the older generator read is read as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.config import load as config_load
from collectors.config.load import ConfigError
from deploy.topology import inventory, load, outputs
from deploy.topology.outputs import stand_in

SAMPLES = Path(__file__).parents[2] / "fixtures" / "older-generator"
INVENTORY = SAMPLES / "inventory.ini"


@pytest.mark.parametrize("hosts", [None, INVENTORY], ids=["alone", "with hosts"])
def test_two_routers_with_a_broker_each(hosts: Path | None) -> None:
    """The graph's source dials its target, and routers lead to brokers by link routes in both directions."""
    plan = load.from_file(SAMPLES / "graph.yaml", hosts).plan
    dialled = {(router.id, c.to, c.role) for router in plan.routers.values() for c in router.connectors}
    assert dialled == {
        ("south", "north", "inter-router"),
        ("south", "store2", "route-container"),
        ("north", "store1", "route-container"),
    }
    written = outputs.configurations(plan)
    assert written["north/qdrouterd.conf"].count("prefix: inflight.store1") == 2
    assert '<queue name="inflight.store2"/>' in written["store2/broker.xml"]
    (dialled_broker,) = (c for c in plan.routers["north"].connectors if c.to == "store1")
    place = f"{dialled_broker.host}:{dialled_broker.port}"
    assert f"inflight.store1={place},name={dialled_broker.name}" in stand_in.arguments(plan, "north")


@pytest.mark.parametrize("hosts", [None, INVENTORY], ids=["alone", "with hosts"])
def test_explicit_listeners_and_connectors_are_kept(hosts: Path | None) -> None:
    """They are written as they stand, and the link between the two is not made once more."""
    network = load.from_file(SAMPLES / "explicit.yaml", hosts)
    south, north = network.plan.routers["south"], network.plan.routers["north"]
    assert [(c.name, c.to, c.host, c.port) for c in south.connectors] == [("north", "north", "north", 10800)]
    assert [listener.port for listener in north.listeners if listener.role == "inter-router"] == [10800]
    given = "{\n    host: 0.0.0.0\n    port: 10800\n    role: inter-router\n}\n"
    assert f"listener {given}" in outputs.configurations(network.plan)["north/qdrouterd.conf"]
    config = config_load.parse(outputs.files(network)["inflight.yaml"], "inflight.yaml")
    assert [mesh.expect for mesh in config.meshes.values()] == [("north--south",)]


def test_an_inventory_alone_is_a_line_of_its_routers() -> None:
    """Its brokers stand by the last routers; its clients run no part of the network."""
    plan = load.from_file(INVENTORY).plan
    assert [*plan.routers] == ["north", "south"]
    assert [*plan.brokers] == ["store1", "store2"]
    assert {(one, other) for one, other, _ in plan.links()} == {
        ("south", "north"),
        ("south", "store1"),
        ("north", "store2"),
    }


def test_variables_that_may_hold_secrets_are_not_read(tmp_path: Path) -> None:
    """What is written has no trace of a password that stood in the inventory."""
    file = tmp_path / "hosts"
    file.write_text(
        "[routers]\nr1 ansible_host=10.0.0.1 ansible_password=hidden1 ansible_user=ops token=hidden2\n"
        "[all:vars]\nansible_become_pass=hidden3\nansible_port=2222\n"
    )
    written = outputs.files(load.from_file(file))
    assert not [name for name, text in written.items() if "hidden" in text]
    assert "ansible_host=10.0.0.1" in written["inventory.ini"]
    assert "ansible_user=ops" in written["inventory.ini"]
    assert "ansible_port=2222" in written["inventory.ini"]


def test_groups_of_groups() -> None:
    """Members are told once, whatever refers to what."""
    found = inventory.read(
        "[a]\nx\ny # a remark\n[b]\ny\n; another\n[all-of-them:children]\na\nb\nall-of-them\n"
        "[b:vars]\nansible_user = 'ops'\n"
    )
    assert found.members("all-of-them") == ["x", "y"]
    assert found.mistakes == []


def test_nodes_by_number_and_other_old_ways(tmp_path: Path) -> None:
    """Links by position, single entities, `dir`, `inter-router` as a mode, and weights."""
    file = tmp_path / "old.yml"
    file.write_text(
        """
nodes:
- type: router
  id: one
  mode: inter-router
  listener: {host: 0.0.0.0, port: 666}
  connector: {name: far, host: broker.example.org, port: 61616, role: route-container}
  linkRoute:
  - {prefix: anycast, connection: far, dir: in}
  - {prefix: anycast, connection: far, dir: out}
- {type: router, id: two}
links:
- {source: 1, target: 0, value: 10}
"""
    )
    network = load.from_file(file)
    (link,) = network.plan.routers["two"].connectors
    assert (link.to, link.cost) == ("one", 10)
    written = outputs.configurations(network.plan)["one/qdrouterd.conf"]
    assert "direction: out" in written
    assert "dir:" not in written


def test_mistakes_in_a_graph_are_told_by_its_own_lines(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(
        "nodes:\n- {type: router, id: a, color: red}\n- {type: switch, id: b}\n- {id: c}\n"
        "links:\n- {source: a}\n- {source: a, target: a, cost: 0}\n"
    )
    with pytest.raises(ConfigError) as told:
        load.from_file(file)
    keys = (
        "address, autoLink, connector, def_conn, def_list, group, host, id, linkRoute, listener, mode,"
        " sslProfile, type"
    )
    assert [mistake.removeprefix(str(file)) for mistake in told.value.mistakes] == [
        f":2: nodes.0.color: unknown key; known here: {keys}",
        ":3: nodes.1: a node has an `id`, and a `type`: router or broker",
        ":4: nodes.2: a node has an `id`, and a `type`: router or broker",
        ":6: links.0: a link has a `source` and a `target`",
    ]
