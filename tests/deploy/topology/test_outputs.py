"""What is written from one topology: complete, right by its reader's rules, and without a secret."""

# ruff: noqa: E501, PIE800 -- tables

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from written_network import TOPOLOGY

from deploy.topology import load, outputs
from deploy.topology.load import Network
from deploy.topology.mistakes import Source
from deploy.topology.outputs import artemis, monitor, router, stand_in

# The fields that Skupper's custom resources have, and those that they must have, as its definitions say (v2alpha1).
SKUPPER = {
    "Site": ({"serviceAccount", "linkAccess", "defaultIssuer", "ha", "edge", "settings"}, set()),
    "RouterAccess": (
        {
            *("roles", "generateTlsCredentials", "issuer", "accessType", "tlsCredentials", "bindHost"),
            *("subjectAlternativeNames", "settings"),
        },
        {"roles", "tlsCredentials"},
    ),
    "Link": ({"endpoints", "tlsCredentials", "cost", "settings"}, {"endpoints"}),
    "Listener": (
        {"routingKey", "host", "port", "tlsCredentials", "type", "exposePodsByName", "settings"},
        {"routingKey", "host", "port"},
    ),
    "Connector": (
        {
            *("routingKey", "port", "selector", "host", "tlsCredentials", "useClientCert", "verifyHostname"),
            *("type", "includeNotReadyPods", "exposePodsByName", "settings"),
        },
        {"routingKey", "port", "host"},
    ),
}


def entities(text: str, kind: str) -> list[dict[str, str]]:
    bodies = re.findall(rf"^{kind} \{{\n(.*?)^\}}\n", text, re.DOTALL | re.MULTILINE)
    return [dict(re.findall(r"^    (\w+): (.*)$", body, re.MULTILINE)) for body in bodies]


def test_everything_is_there(files: dict[str, str]) -> None:
    nodes = ["hub-east", "hub-west", "Leaf.1", "leaf-1"]
    assert {*files} == {
        *("topology.yaml", "topology.svg", "inflight.yaml", "inventory.ini", "playbook.yaml", "compose.yaml"),
        *(f"{folder}/{node}/qdrouterd.conf" for folder in ("hosts", "compose") for node in nodes),
        *(
            f"{folder}/{broker}/broker.xml"
            for folder in ("hosts", "compose")
            for broker in ("store", "archive")
        ),
        *("hosts/store/store.pemcfg", "compose/store/store.pemcfg"),
        *(f"skupper/{site}.yaml" for site in ("hub-east", "hub-west", "leaf-1", "leaf-1-2")),
    }


def test_a_link_with_its_cost_its_connections_and_its_tls(files: dict[str, str]) -> None:
    """Both sides name the same port, and who dials has a connector for each connection."""
    west, east = files["hosts/hub-west/qdrouterd.conf"], files["hosts/hub-east/qdrouterd.conf"]
    link = {"host": "10.0.0.1", "port": "55672", "role": "inter-router", "cost": "4", "sslProfile": "inside"}
    own = {"saslMechanisms": "EXTERNAL"}
    mesh = [entity for entity in entities(west, "connector") if entity["role"] == "inter-router"]
    assert mesh == [{"name": "to-hub-east", **link, **own}, {"name": "to-hub-east-2", **link, **own}]
    (listener,) = (entity for entity in entities(east, "listener") if entity["role"] == "inter-router")
    assert listener == {
        **{
            "name": "routers",
            "host": "0.0.0.0",
            "port": "55672",
            "role": "inter-router",
            "sslProfile": "inside",
        },
        **{"requireSsl": "yes", "authenticatePeer": "yes", "saslMechanisms": "EXTERNAL"},
    }
    (profile,) = entities(east, "sslProfile")
    assert profile == {
        **{"name": "inside", "caCertFile": "/pki/ca.pem", "certFile": "/pki/node.pem"},
        **{"privateKeyFile": "/pki/node.key", "password": "file:/pki/node.pass"},
    }


def test_addresses_are_the_same_on_all_routers_of_the_mesh(files: dict[str, str]) -> None:
    """Also that they lead through a queue, with the distribution that was asked for."""
    for name in ("hub-east", "hub-west", "Leaf.1", "leaf-1"):
        assert entities(files[f"hosts/{name}/qdrouterd.conf"], "address") == [
            {"prefix": "news", "distribution": "multicast"},
            {"pattern": "orders", "distribution": "closest", "waypoint": "yes"},
        ]


def test_an_edge_dials_whatever_the_file_says(files: dict[str, str]) -> None:
    for name, hub in (("Leaf.1", "10.0.0.1"), ("leaf-1", "10.0.0.2")):
        (uplink,) = entities(files[f"hosts/{name}/qdrouterd.conf"], "connector")
        assert (uplink["role"], uplink["host"], uplink["port"]) == ("edge", hub, "45672")


def test_the_router_dials_the_broker_whatever_the_file_says(files: dict[str, str]) -> None:
    """With the broker's profiles, and auto-links in both directions."""
    west = files["hosts/hub-west/qdrouterd.conf"]
    assert entities(west, "connector")[-1] == {
        **{"name": "to-store", "host": "10.0.0.9", "port": "61616", "role": "route-container"},
        **{"sslProfile": "inside", "saslMechanisms": "SCRAM-SHA-256"},
        **{"saslUsername": "inflight", "saslPassword": "file:/secrets/people"},
    }
    assert entities(west, "autoLink") == [
        {"address": "orders", "direction": direction, "connection": "to-store"} for direction in ("in", "out")
    ]


def test_skrouterd_has_no_phases() -> None:
    """Who receives from a queue uses another address there, in the router's file and on the path."""
    value = {**yaml.safe_load(TOPOLOGY), "program": "skrouterd", "paths": {}}
    found = load.made(value, Source("prod"))
    text = outputs.configurations(found.plan)["hub-west/skrouterd.conf"]
    assert entities(text, "autoLink")[0] == {
        **{"address": "orders.from-queue", "direction": "in", "connection": "to-store"},
        "externalAddress": "orders",
    }
    assert "waypoint" not in text
    (path,) = (path for path in monitor.config(found.plan)["paths"].values() if path.get("via"))
    assert (path["address"], path["receive_address"]) == ("orders", "orders.from-queue")


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (
            "qdrouterd",
            {"address: orders", "direction: in", "caCertFile: /pki/ca.pem", "password: file:/pki/node.pass"},
        ),
        ("qdrouterd-1.8", {"address: orders", "direction: in", "passwordFile: /pki/node.pass"}),
        (
            "qdrouterd-1.1",
            {"addr: orders", "direction: in", "caCertFile: /pki/ca.pem", "passwordFile: /pki/node.pass"},
        ),
        ("qdrouterd-1.0", {"addr: orders", "dir: in", "certDb: /pki/ca.pem", "keyFile: /pki/node.key"}),
    ],
)
def test_each_version_by_its_own_names(program: str, words: set[str]) -> None:
    """Attributes that were renamed, and where passwords of keys are read from; the file's name stays."""
    value = {**yaml.safe_load(TOPOLOGY), "program": program}
    value["brokers"]["store"] |= {"sasl": None}
    text = outputs.configurations(load.made(value, Source("prod")).plan)["hub-west/qdrouterd.conf"]
    assert words <= {*map(str.strip, text.splitlines())}


def test_no_secret_is_ever_written(tmp_path: Path) -> None:
    """Not even where the files that hold them are here to be read."""
    value = yaml.safe_load(TOPOLOGY)
    for part, key in ((value["tls"]["inside"], "key"), (value["tls"]["inside"], "password_file")):
        part[key] = str(tmp_path / key)
        (tmp_path / key).write_text("s3cr3t-thing")
    value["sasl"]["people"]["password_file"] = str(tmp_path / "login")
    (tmp_path / "login").write_text("s3cr3t-thing")
    written = outputs.files(load.made(value, Source("prod")))
    assert not [name for name, text in written.items() if "s3cr3t-thing" in text]


def test_brokers_take_passwords_from_java_properties() -> None:
    """Artemis has no password files for what it dials: the file names the property, and no password."""
    value: dict[str, Any] = {
        "version": 1,
        "sasl": {"p": {"mechanism": "PLAIN", "user": "me", "password_file": "/secrets/p"}},
        "routers": {"A": {}},
        "brokers": {"one": {}, "two": {"sasl": "p"}},
        "links": [{"from": "A", "to": "one"}, {"from": "one", "to": "two", "by": "bridge", "queues": ["q"]}],
    }
    text = artemis.configuration(load.made(value, Source("b")).plan, "one")
    assert "<user>me</user>" in text
    assert "<password>${inflight.two.password}</password>" in text


def test_settings_of_probes_addresses_replace_ours() -> None:
    """What is named is written once, what is not stays."""
    value: dict[str, Any] = {
        "version": 1,
        "routers": {"A": {}},
        "brokers": {"one": {"address_settings": {"max-size-messages": 20, "auto-delete-queues": True}}},
        "links": [{"from": "A", "to": "one", "queues": ["inflight.one"]}],
    }
    text = artemis.configuration(load.made(value, Source("b")).plan, "one")
    assert text.count("<max-size-messages>20</max-size-messages>") == 1
    assert text.count("auto-delete-queues") == 2  # begin and end of one element
    assert "<auto-delete-queues>true</auto-delete-queues>" in text
    assert "<auto-delete-addresses>false</auto-delete-addresses>" in text


def test_skupper_resources_have_only_the_fields_that_there_are(files: dict[str, str]) -> None:
    """Each site's, by the definitions; each link meets a RouterAccess of its role and port."""
    sites = {name: [*yaml.safe_load_all(text)] for name, text in files.items() if name.startswith("skupper/")}
    opened, linked = set(), set()
    for name, resources in sites.items():
        assert [r["kind"] for r in resources].count("Site") == 1
        names = [(r["kind"], r["metadata"]["name"]) for r in resources]
        assert len(names) == len({*names}), name
        for resource in resources:
            assert resource["apiVersion"] == "skupper.io/v2alpha1"
            assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", resource["metadata"]["name"])
            known, required = SKUPPER[resource["kind"]]
            spec = resource.get("spec", {})
            assert required <= spec.keys() <= known, resource
            if resource["kind"] == "RouterAccess":
                opened |= {(role["name"], str(role["port"])) for role in spec["roles"]}
            if resource["kind"] == "Link":
                linked |= {(end["name"], end["port"]) for end in spec["endpoints"]}
                assert spec["cost"] >= 1
    assert linked == opened
    west = sites["skupper/hub-west.yaml"]
    assert [r["spec"]["cost"] for r in west if r["kind"] == "Link"] == [4, 4]
    assert [r["spec"]["host"] for r in west if r["kind"] == "Connector"] == ["10.0.0.9"]
    assert [r["metadata"]["name"] for r in west if r["kind"] == "Listener"] == ["store", "archive"]
    assert next(yaml.safe_load_all(files["skupper/leaf-1.yaml"]))["spec"] == {"edge": True}


def test_compose_is_whole(files: dict[str, str]) -> None:
    """By the rules of the compose file: known keys, files that there are, ports once, services that there are."""
    value = yaml.safe_load(files["compose.yaml"])
    assert value.keys() == {"name", "services"}
    assert re.fullmatch(r"[a-z0-9][a-z0-9_-]*", value["name"])
    services = value["services"]
    published = [port for service in services.values() for port in service["ports"]]
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port) for port in published)
    assert len({port.rsplit(":", 1)[0] for port in published}) == len(published)
    known = {"image", "hostname", "restart", "volumes", "command", "ports", "depends_on"}
    for name, service in services.items():
        assert service.keys() <= known, name
        assert service["image"].startswith("${")
        assert {*service.get("depends_on", ())} <= services.keys()
        for volume in service["volumes"]:
            assert volume.keys() == {"type", "source", "target", "read_only"}
            assert volume["source"].startswith("/") or volume["source"].removeprefix("./") in files
        targets = [volume["target"] for volume in service["volumes"]]
        assert len(targets) == len({*targets})


def test_containers_find_each_other_by_name(files: dict[str, str]) -> None:
    """Each is its own host there, so ports do not move out of each other's way, and every connector is met."""
    listening, dialled = set(), set()
    services = yaml.safe_load(files["compose.yaml"])["services"]
    for name in ("hub-east", "hub-west", "Leaf.1", "leaf-1"):
        text = files[f"compose/{name}/qdrouterd.conf"]
        listening |= {(name, e["port"], e.get("role", "normal")) for e in entities(text, "listener")}
        dialled |= {(e["host"], e["port"], e["role"]) for e in entities(text, "connector")}
    brokers = {place for place in dialled if place[2] == "route-container"}
    assert brokers == {("store", "61616", "route-container")}
    assert dialled - brokers <= listening
    assert ("hub-west", "5672", "normal") in listening
    assert services["leaf-1"]["ports"][0].endswith(":5999")


def test_the_stand_in_is_told_the_same(network: Network) -> None:
    """The ports, costs and queues of the router's file, as options."""
    told = stand_in.arguments(network.plan, "hub-west")
    assert told[:6] == ["--name", "hub-west", "--flavour", "dispatch", "--mode", "interior"]
    assert "10.0.0.2:5672,role=normal,strip=no" in told
    assert "10.0.0.1:55672,role=inter-router,cost=4,name=to-hub-east" in told
    assert "orders=10.0.0.9:61616,name=to-store" in told
    assert router.file_name(network.plan) == "qdrouterd.conf"


@pytest.mark.parametrize(
    ("program", "capture", "node"),
    [
        ("qdrouterd", "qdrouterd-1.19.0-line.json", "QDR.C"),
        ("skrouterd", "skrouterd-main-2026-05-line.json", "SK.C"),
    ],
)
def test_only_attributes_that_the_router_has_are_written(program: str, capture: str, node: str) -> None:
    """As a real one named them when it was asked; a router refuses others."""
    captured = json.loads((Path(__file__).parents[2] / "fixtures" / "captures" / capture).read_text())[node]
    found = load.made({**yaml.safe_load(TOPOLOGY), "program": program, "paths": {}}, Source("prod"))
    kinds = {kind: kind for kind in ("router", "listener", "connector")}
    kinds |= {"address": "router.config.address", "autoLink": "router.config.autoLink"}
    seen = set()
    for name in found.plan.routers:
        for kind, attributes in router.entities(found.plan, name):
            if kind in kinds and kinds[kind] in captured:
                seen.add(kind)
                assert {*attributes} <= {*captured[kinds[kind]]["body"]["attributeNames"]}, kind
    assert {"listener", "connector", "address", "autoLink"} <= seen
