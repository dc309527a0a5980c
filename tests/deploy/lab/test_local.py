"""What of a topology is run on one machine, and what is left out; nothing is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deploy.lab.local import left_out, localized
from deploy.lab.wiring import Direct
from deploy.topology import load
from deploy.topology.form import Topology
from deploy.topology.mistakes import Source
from deploy.topology.outputs import artemis, router

SAMPLES = Path(__file__).parents[2] / "fixtures" / "older-generator"
REAL: dict[str, Any] = {
    "version": 1,
    "hosts": {"east": {"ansible_host": "10.0.0.1"}, "west": {"ansible_host": "10.0.0.2"}},
    "tls": {"inside": {"ca": "/pki/ca.pem", "cert": "/pki/node.pem", "key": "/pki/node.key"}},
    "sasl": {
        "people": {"mechanism": "PLAIN", "user": "ops", "password_file": "/secrets/people"},
        "peers": {"mechanism": "EXTERNAL"},
    },
    "routers": {
        "a": {"host": "east", "tls": "inside", "sasl": "people"},
        "b": {
            "host": "west",
            "entities": {
                "listener": [{"name": "metrics", "host": "127.0.0.1", "port": 8080, "http": True}],
                "connector": [
                    {"name": "store", "host": "10.0.0.9", "port": 61616, "role": "route-container"},
                    {"name": "far", "host": "far.example.org", "port": 5672, "role": "route-container"},
                ],
                "autoLink": [
                    {"address": "orders", "direction": "in", "connection": "store"},
                    {"address": "news", "direction": "in", "connection": "far"},
                ],
            },
        },
    },
    "brokers": {
        "store": {
            "host": "10.0.0.9",
            "port": 61616,
            "settings": {"journal-type": "ASYNCIO", "paging-directory": "/srv/pages", "max-disk-usage": 80},
            "jolokia": "https://store:8443/console/jolokia",
            "auth": {"user": "monitor", "password_file": "/secrets/jolokia"},
        }
    },
    "links": [
        {"from": "b", "to": "a", "cost": 3, "tls": "inside", "sasl": "peers"},
        {"from": "b", "to": "store"},
    ],
}


def topology(document: dict[str, Any]) -> Topology:
    return load.made(document, Source("test")).topology


def test_nothing_of_the_hosts_is_left() -> None:
    """Every address is the loopback one; no profile, no port, no folder of the real network is written."""
    plan = Direct().place(localized(topology(REAL)))
    written = [router.configuration(plan, name) for name in plan.routers]
    written.append(artemis.configuration(plan, "store"))
    for text in written:
        for word in ("10.0.0", "sslProfile", "sasl:", "/pki", "/srv", "8080", "61616", "far", "ASYNCIO"):
            assert word not in text
    assert {part.address for part in [*plan.routers.values(), *plan.brokers.values()]} == {"127.0.0.1"}
    assert "<max-disk-usage>80</max-disk-usage>" in written[-1]


def test_what_is_left_out_is_told() -> None:
    """A sentence for each kind of it; a network of names alone has none."""
    assert left_out(topology(REAL)) == [
        "TLS and logins",
        "hosts and their ports",
        "listeners and connectors as they were given (their links are made anew)",
        "what is dialled outside of the topology: b to far.example.org:5672",
        "settings of brokers' hosts: journal-type, paging-directory",
    ]
    assert left_out(load.from_shape("ring", ["A", "B", "C"], [("store", None)]).topology) == []


def test_links_stay_with_their_costs_and_what_goes_by_them() -> None:
    """An auto-link that named a given connector goes by the one that takes its place."""
    plan = Direct().place(localized(topology(REAL)))
    assert sorted(plan.links()) == [("b", "a", 3), ("b", "store", 1)]
    (connector,) = [c for c in plan.routers["b"].connectors if c.to == "store"]
    assert plan.routers["b"].router.entities["autoLink"] == (
        {"address": "orders", "direction": "in", "connection": connector.name},
    )


@pytest.mark.parametrize("hosts", [None, SAMPLES / "inventory.ini"], ids=["alone", "with hosts"])
def test_a_link_that_only_given_connectors_make_is_made_anew(hosts: Path | None) -> None:
    """The older generator's explicit listeners and connectors: both sides agree on a free port."""
    found = load.from_file(SAMPLES / "explicit.yaml", hosts).topology
    plan = Direct().place(localized(found))
    (connector,) = plan.routers["south"].connectors
    assert connector.to == "north"
    assert connector.port == plan.routers["north"].listener("inter-router").port != 10800


def test_several_given_connectors_are_one_link() -> None:
    """Two of them to one router are a link of two connections, with the cost of the first."""
    given = [
        {"name": name, "host": "10.0.0.1", "port": 20001, "role": "inter-router", "cost": 7}
        for name in ("one", "two")
    ]
    listener = {"host": "0.0.0.0", "port": 20001, "role": "inter-router"}
    found = topology(
        {
            "version": 1,
            "hosts": {"a": {"ansible_host": "10.0.0.1"}, "b": {"ansible_host": "10.0.0.2"}},
            "routers": {
                "a": {"entities": {"listener": [listener]}},
                "b": {"entities": {"connector": given}},
            },
        }
    )
    plan = Direct().place(localized(found))
    assert [(c.to, c.cost) for c in plan.routers["b"].connectors] == [("a", 7), ("a", 7)]
