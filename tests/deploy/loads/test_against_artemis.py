"""Each load over a real Artemis, whose own counters tell how many messages there were."""

from __future__ import annotations

from typing import Any

import pytest
from run_loads import delivered, run_loads

from deploy.embedded import http
from deploy.embedded.programs.artemis import Artemis

pytestmark = pytest.mark.e2e

_MBEANS = "org.apache.activemq.artemis"


def routed(artemis: Artemis, address: str) -> int:
    """How many messages the broker says that it routed at an address."""
    question = {
        "type": "read",
        "mbean": f'{_MBEANS}:broker="{artemis.name}",component=addresses,address="{address}"',
        "attribute": "RoutedMessageCount",
    }
    reply = http.post_json(
        artemis.jolokia_url,
        question,
        user=artemis.user,
        password=artemis.password_file.read_text().strip(),
        origin=artemis.origin,
    )
    return int(reply["value"])


def described(artemis: Artemis, load: dict[str, Any], **more: Any) -> dict[str, Any]:
    between = {} if load["kind"] == "relay" else {"from": "broker", "to": "broker"}
    return {"endpoints": {"broker": {"url": artemis.amqp_url}}, "loads": {"it": {**between, **load}}, **more}


def test_ping_pong_asks_for_the_next_when_it_is_answered(artemis: Artemis) -> None:
    """As many questions as the broker counted, never two at once: none was sent before the last answer."""
    load = {"kind": "ping-pong", "address": "inflight.one", "count": 200}
    found = run_loads(described(artemis, load))
    assert delivered(found, "it") == 200
    assert routed(artemis, "inflight.one") == 200
    assert found["answers_dropped"] == 0


@pytest.mark.parametrize("processes", [1, 2])
def test_each_pair_has_a_partner_of_its_own(artemis: Artemis, processes: int) -> None:
    address = f"inflight.pairs{processes}"
    load = {"kind": "pairs", "address": address, "pairs": 3, "rate": "100/s", "count": 50}
    found = run_loads(described(artemis, load, processes=processes))
    assert [delivered(found, f"it/{n}") for n in range(3)] == [50] * 3
    assert [routed(artemis, f"{address}.{n}") for n in range(3)] == [50] * 3
    assert found["figures"]["all"]["sent"] == 150


@pytest.mark.parametrize("size", ["64B", "1MB"])
def test_bandwidth_sends_all_through_its_window(artemis: Artemis, size: str) -> None:
    """Of the smallest and of the largest messages."""
    address = f"inflight.wide{size}"
    load = {"kind": "bandwidth", "address": address, "size": size, "window": 7, "count": 60}
    found = run_loads(described(artemis, load, processes=2))
    assert delivered(found, "it") == 60
    assert routed(artemis, address) == 60


@pytest.mark.parametrize("processes", [1, 3])
def test_tokens_are_relayed_so_often_as_they_are_asked_to_be(artemis: Artemis, processes: int) -> None:
    """All inboxes together got each token as often as it was sent; none was sent to oneself or made anew."""
    address = f"inflight.ring{processes}"
    load = {"kind": "relay", "at": "broker", "address": address, "clients": 4, "tokens": 5, "count": 403}
    found = run_loads(described(artemis, load, processes=processes))
    assert delivered(found, "it") == 403
    inboxes = [routed(artemis, f"{address}.{n}") for n in range(4)]
    assert sum(inboxes) == 403
    assert min(inboxes) > 0
    assert found["beside"]["it"] == {}


def test_producers_write_to_all_public_queues_and_consumers_share_them(artemis: Artemis) -> None:
    """Each of three producers sends to each of two queues; each is a path with three sequences."""
    load = {
        "kind": "public",
        "address": "inflight.public",
        "queues": 2,
        "producers": 3,
        "consumers": 2,
        "rate": "100/s",
        "count": 91,
    }
    found = run_loads(described(artemis, load, processes=2))
    assert [delivered(found, f"it/{n}") for n in range(2)] == [91, 91]
    assert [routed(artemis, f"inflight.public.{n}") for n in range(2)] == [91, 91]


def test_a_consumer_reads_no_faster_than_it_says(artemis: Artemis) -> None:
    """Two that read 20 a second each: 100 messages, there at once, take more than two seconds."""
    load = {
        "kind": "public",
        "address": "inflight.slow",
        "consumers": 2,
        "rate": 0,
        "reads": "20/s",
        "count": 100,
    }
    found = run_loads(described(artemis, load))
    assert delivered(found, "it") == 100
    assert found["figures"]["it"]["max_ns"] > 2_000_000_000
