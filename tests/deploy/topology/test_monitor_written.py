"""The monitor's config, as it is written from a topology."""

from __future__ import annotations

from collectors.config import load as config_load
from deploy.topology import load
from deploy.topology.mistakes import Source
from deploy.topology.outputs import monitor


def test_the_monitor_watches_the_queues_of_each_broker() -> None:
    """Its own, those that routers fetch from, that others send or mirror to it, and those of link routes."""
    value = {
        "version": 1,
        "routers": {"A": {}},
        "brokers": {"one": {"queues": ["own"]}, "two": {}, "three": {}},
        "links": [
            {"from": "A", "to": "one", "queues": ["fetched"], "link_routes": ["reports"]},
            {"from": "one", "to": "two", "by": "bridge", "queues": ["bridged"]},
            {"from": "one", "to": "three", "by": "mirror"},
        ],
    }
    brokers = monitor.config(load.made(value, Source("m")).plan)["brokers"]
    assert {name: broker["queues"]["include"] for name, broker in brokers.items()} == {
        "one": ["own", "fetched", "bridged", "reports*"],
        "two": ["bridged"],
        "three": ["own", "fetched", "bridged"],
    }


def test_the_monitor_is_told_of_all_of_it(files: dict[str, str]) -> None:
    """The config is right by `inflight check`; logins and TLS go with each URL."""
    config = config_load.parse(files["inflight.yaml"], "inflight.yaml")
    mesh = config.meshes["prod"]
    assert mesh.expect == ("Leaf.1--hub-east", "hub-east--hub-west", "hub-west--leaf-1")
    assert mesh.urls == ("amqps://10.0.0.1:5672", "amqp://10.0.0.2:5672")
    logins = [login.mechanism if (login := mesh.login(url)) else None for url in mesh.urls]
    assert logins == ["SCRAM-SHA-256", "ANONYMOUS"]
    assert config.endpoints["leaf-1"].url == ("amqp://10.0.0.2:5999",)
    assert config.brokers["store"].origin == "https://store"
    assert config.brokers["archive"].jolokia == "http://10.0.0.10:8161/console/jolokia"
    assert {*config.paths} == {"orders"}
    assert config.paths["orders"].via == "store"


def test_routers_with_a_broker_between_them_are_two_meshes() -> None:
    value = {
        "version": 1,
        "name": "m",
        "routers": {"A": {}, "B": {}},
        "brokers": {"s": {}},
        "links": [{"from": name, "to": "s", "queues": ["inflight.q"]} for name in "AB"],
    }
    config = monitor.config(load.made(value, Source("m")).plan)
    assert {name: mesh.get("expect") for name, mesh in config["meshes"].items()} == {"m-A": None, "m-B": None}
    (path,) = (path for path in config["paths"].values() if path.get("via"))
    assert path == {"from": "A", "to": "B", "address": "inflight.q", "via": "s"}


def test_a_mesh_of_many_is_looked_at_from_a_few_sides() -> None:
    names = [f"r{number}" for number in range(23)]
    value = {"version": 1, "routers": {name: {} for name in names},
             "links": [{"from": name, "to": "r0"} for name in names[1:]]}  # fmt: skip
    (mesh,) = monitor.config(load.made(value, Source("m")).plan)["meshes"].values()
    assert 2 <= len(mesh["urls"]) <= 5
