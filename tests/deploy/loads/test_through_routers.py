"""Each load through a line of stand-ins, from A to C; C's own counters tell how many messages there were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from run_loads import LoadRun, delivered
from standin_clients import Clients, Requester

from deploy.lab.lab import Lab

pytestmark = pytest.mark.e2e

# Run a load; returns its results, and what the last router counted out at each of the addresses.
Counted = Callable[..., tuple[dict[str, Any], list[int]]]


@pytest.fixture
def counted(router_line: Lab) -> Iterator[Counted]:
    clients = Clients()
    urls = {name: router_line.routers[name].url for name in ("A", "C")}
    port = urlsplit(urls["C"]).port
    assert port is not None

    def run(load: dict[str, Any], addresses: list[str], **more: Any) -> tuple[dict[str, Any], list[int]]:
        for address in addresses:
            clients.sender(port, address)  # sends nothing: the router keeps the address, and its counters
        ends = {} if load["kind"] == "relay" else {"from": "A", "to": "C"}
        endpoints = {name: {"url": url} for name, url in urls.items()}
        with LoadRun({"endpoints": endpoints, "loads": {"it": {**ends, **load}}, **more}) as running:
            clients.wait(lambda: running.process.poll() is not None, "end of the load", 120)
            found = running.end()
            assert running.process.returncode == 0, found["stopped"] or found["problems"]
        rows = Requester(clients, port).rows("org.apache.qpid.dispatch.router.address")
        out = {row["key"].lstrip("M0"): row["deliveriesEgress"] for row in rows}
        return found, [out[address] for address in addresses]

    yield run
    clients.close()


def test_ping_pong_and_its_answers(counted: Counted) -> None:
    """Never two questions at once: all their round trips together take no longer than the whole."""
    load = {"kind": "ping-pong", "address": "closest/one", "count": 150}
    found, out = counted(load, ["closest/one"], processes=2)
    assert delivered(found, "it") == 150
    assert out == [150]
    elapsed_ns = found["ended_ns"] - found["sending_from_ns"]
    assert found["figures"]["it"]["mean_ns"] * 150 < elapsed_ns


def test_pairs_at_a_rate(counted: Counted) -> None:
    load = {"kind": "pairs", "address": "closest/pairs", "pairs": 2, "rate": "100/s", "count": 80}
    found, out = counted(load, ["closest/pairs/0", "closest/pairs/1"])
    assert [delivered(found, f"it/{n}") for n in range(2)] == [80, 80]
    assert out == [80, 80]


def test_several_questions_at_once(counted: Counted) -> None:
    load = {"kind": "pairs", "address": "closest/many", "window": 20, "count": 400}
    found, out = counted(load, ["closest/many"])
    assert delivered(found, "it") == 400
    assert out == [400]


def test_bandwidth(counted: Counted) -> None:
    load = {"kind": "bandwidth", "address": "closest/wide", "size": "10kB", "window": 50, "count": 300}
    found, out = counted(load, ["closest/wide"], processes=2)
    assert delivered(found, "it") == 300
    assert out == [300]


def test_tokens_between_clients_of_two_routers(counted: Counted) -> None:
    """Clients 0 and 2 are at A, 1 and 3 at C, where what these two got is counted."""
    load = {
        "kind": "relay",
        "at": ["A", "C"],
        "address": "closest/ring",
        "clients": 4,
        "tokens": 3,
        "count": 301,
    }
    found, out = counted(load, ["closest/ring/1", "closest/ring/3"], processes=2)
    assert delivered(found, "it") == 301
    got = found["received_by"]["it"]
    assert out == [got["client-1"], got["client-3"]]
    assert sum(got.values()) == 301


def test_public_queues(counted: Counted) -> None:
    load = {
        "kind": "public",
        "address": "closest/public",
        "queues": 2,
        "producers": 2,
        "consumers": 3,
        "rate": "50/s",
        "count": 61,
    }
    found, out = counted(load, ["closest/public/0", "closest/public/1"], processes=2)
    assert [delivered(found, f"it/{n}") for n in range(2)] == [61, 61]
    assert out == [61, 61]
