"""Replies of Jolokia read into a view of the broker."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.broker import object_names, poll, schema
from collectors.broker.poll import Asked, BrokerView, Choice
from collectors.config.model import Queues

ALL = Queues()


@given(st.dictionaries(st.text("abcXYZ", min_size=1), st.text(), min_size=1))
def test_object_names(keys: dict[str, str]) -> None:
    """Any value survives being quoted and parsed."""
    name = "domain:" + ",".join(f"{key}={object_names.quote(value)}" for key, value in keys.items())
    assert object_names.parse(name) == keys


@pytest.mark.parametrize("name", ["", "x", "x:", "x:a", 'x:a="b', 'x:a="b"c', "x:=b"])
def test_what_is_no_object_name_is_refused(name: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueError, match="is not an object name"):
        object_names.parse(name)


def answers(capture: list[Any], asked: list[Asked]) -> list[Any]:
    """For each request the captured reply about the same MBeans; 404 where there is none."""
    by_bean = {reply["request"]["mbean"]: reply for reply in capture}
    patterns = {
        "broker": "org.apache.activemq.artemis:broker=*",
        "queue": schema.ARTEMIS.queue.pattern.format(queue="*"),
        "address": "org.apache.activemq.artemis:address=*,broker=*,component=addresses",
        "memory": "java.lang:type=Memory",
        "pool": "java.lang:name=*,type=MemoryPool",
        "gc": "java.lang:name=*,type=GarbageCollector",
        "threads": "java.lang:type=Threading",
        "system": "java.lang:type=OperatingSystem",
    }
    return [by_bean.get(patterns.get(item.bean.name, ""), {"status": 404}) for item in asked]


def look(capture: list[Any], queues: Queues = ALL, choice: Choice | None = None) -> BrokerView:
    asked = poll.requests(schema.ARTEMIS, queues, choice or Choice())
    return poll.read(asked, answers(capture, asked), schema.ARTEMIS, queues, (1, 2))


def test_a_real_reply(capture: list[Any]) -> None:
    """Numbers are those of the capture, shares are ratios, a missing MBean is no fault."""
    view = look(capture)
    assert view.beans["queue"] == [
        {
            "address": "q1",
            "queue": "q1",
            "messages": 13,
            "delivering": 0,
            "scheduled": None,
            "consumers": 0,
            "persistent_bytes": 182,
            "added": 20,
            "acknowledged": 7,
            "expired": 0,
            "killed": 0,
        }
    ]
    assert view.one("broker")["disk_ratio"] == 0.7056974880830962
    assert [row["address"] for row in view.beans["address"]] == ["activemq.notifications", "q1"]
    assert view.pools["old"] == {"init": 376438784, "committed": 8388608, "max": 402653184, "used": 7645696}
    assert view.pools["eden"] == {"init": 19922944, "committed": 31457280, "used": 17825792}  # no max: -1
    assert view.pools["metaspace"]["used"] == 26658424
    assert view.pools["codeheap_non_nmethods"]["used"] == 1403008
    assert view.one("runtime") == {}
    assert not view.faults


def test_only_reads_of_named_attributes_are_asked() -> None:
    """No exec, no write, and never all attributes."""
    for product in schema.PRODUCTS:
        asked = poll.requests(product, ALL, Choice())
        encoded = [item.request.encode() for item in asked]
        assert {request["type"] for request in encoded} == {"read"}
        assert all(request["attribute"] for request in encoded)
    searches = [*poll.detection(), *poll.census(schema.ARTEMIS)]
    assert {request.encode()["type"] for request in searches} == {"search"}


def test_the_filter_and_the_limit(capture: list[Any]) -> None:
    """What no pattern wants is not shown; nor what is over the limit, and that is told."""
    assert look(capture, Queues(include=("other.*",))).beans["queue"] == []
    (queue,) = capture[2]["value"].items()
    many = {queue[0].replace('"q1"', f'"q{number:04}"'): queue[1] for number in range(10_000)}
    capture[2]["value"] = many
    view = look(capture, Queues(limit=500))
    assert [row["queue"] for row in view.beans["queue"]][:2] == ["q0000", "q0001"]
    assert len(view.beans["queue"]) == 500
    assert view.omitted == {"queue": 9500}


def test_many_queues_are_asked_for_by_name() -> None:
    """So that a broker with 10,000 of them does not answer for all at each poll."""
    names = [schema.ARTEMIS.queue.pattern.format(queue=f'"orders.{n}"') for n in range(10_000)]
    queues = Queues(include=("orders.*",), limit=100)
    choice = poll.choose(schema.ARTEMIS, queues, [{"value": names}, {"value": []}])
    asked = poll.requests(schema.ARTEMIS, queues, choice)
    assert sum(item.bean.name == "queue" for item in asked) == 100
    assert choice.omitted["queue"] == 9900
    few = poll.choose(schema.ARTEMIS, queues, [{"value": names[:99]}, {"value": []}])
    assert few.beans is None
    asked = poll.requests(schema.ARTEMIS, queues, few)
    (pattern,) = (item.request.mbean for item in asked if item.bean.name == "queue")
    assert 'queue="orders.*",' in pattern


def test_one_bad_mbean_spoils_nothing_else(capture: list[Any]) -> None:
    """Errors, wrong types, wrong shapes and NaN are counted where they are."""
    capture[2]["value"]["no object name"] = {}
    row = next(iter(capture[2]["value"].values()))
    row["MessageCount"] = "thirteen"
    row["MessagesAdded"] = float("nan")
    row["MessagesKilled"] = "ERROR: no such attribute"
    capture[3] = {"status": 500, "error": "oops", "request": capture[3]["request"]}
    capture[5]["value"] = 3
    view = look(capture)
    assert view.beans["queue"][0]["messages"] is None
    assert view.beans["queue"][0]["added"] is None
    assert view.beans["queue"][0]["acknowledged"] == 7
    assert view.one("broker")["version"] == "2.44.0"
    assert view.faults == {"object_name": 1, "value_of_wrong_type": 2, "status_500": 1, "shape": 1}


CLASSIC = "org.apache.activemq:brokerName=localhost,"


def test_classic() -> None:
    """ActiveMQ Classic by its own names: shares are in per cent, and it has no addresses."""
    asked = poll.requests(schema.CLASSIC, ALL, Choice())
    by_bean = {
        "broker": {
            f"{CLASSIC}type=Broker": {
                "BrokerVersion": "6.1.0",
                "UptimeMillis": 5000,
                "Slave": False,
                "MemoryPercentUsage": 12,
                "StorePercentUsage": 50,
                "CurrentConnectionsCount": 3,
            }
        },
        "queue": {
            f"{CLASSIC}destinationName=orders,destinationType=Queue,type=Broker": {
                "QueueSize": 4,
                "InFlightCount": 1,
                "ConsumerCount": 2,
                "StoreMessageSize": 400,
                "EnqueueCount": 10,
                "DequeueCount": 6,
                "ExpiredCount": 0,
            }
        },
    }
    replies = [
        {"status": 200, "value": by_bean[i.bean.name]} if i.bean.name in by_bean else {"status": 404}
        for i in asked
    ]
    view = poll.read(asked, replies, schema.CLASSIC, ALL, (1, 2))
    assert view.one("broker")["address_memory_ratio"] == 0.12
    assert view.one("broker")["disk_ratio"] == 0.5
    assert view.beans["queue"][0]["queue"] == "orders"
    assert view.beans["queue"][0]["acknowledged"] == 6
    assert not view.faults


def test_detection() -> None:
    """By which broker's MBean is there; neither is no broker."""
    found, none = {"status": 200, "value": ["x:broker=a"]}, {"status": 200, "value": []}
    assert poll.detected([found, none]) is schema.ARTEMIS
    assert poll.detected([none, found]) is schema.CLASSIC
    assert poll.detected([none, {"status": 403}]) is None


@pytest.mark.parametrize(
    ("names", "pool"),
    [
        (("G1 Eden Space", "PS Eden Space", "Eden Space", "ZGC Young Generation"), "eden"),
        (("G1 Survivor Space", "PS Survivor Space", "Survivor Space"), "survivor"),
        (("G1 Old Gen", "PS Old Gen", "Tenured Gen", "ZGC Old Generation", "ZHeap", "Shenandoah"), "old"),
        (("Metaspace", "PS Perm Gen"), "metaspace"),
    ],
)
def test_pools_of_every_collector(names: tuple[str, ...], pool: str) -> None:
    """The same name for the same thing."""
    assert {schema.POOLS[name] for name in names} == {pool}


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
REPLY = JUNK | st.fixed_dictionaries({"status": st.just(200), "value": JUNK})


@given(reply=REPLY, place=st.integers(0, 9))
def test_nothing_that_comes_raises(reply: Any, place: int) -> None:
    """Whatever stands in a reply, it makes a view."""
    asked = poll.requests(schema.ARTEMIS, ALL, Choice())
    replies = [reply if number == place else {"status": 404} for number in range(len(asked))]
    view = poll.read(asked, replies, schema.ARTEMIS, ALL, (1, 2))
    assert isinstance(view.pools, dict)
