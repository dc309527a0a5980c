"""Replies of Jolokia read into a snapshot of the broker."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.broker import object_names, poll, products, schema
from collectors.broker.counters import BrokerCounters
from collectors.broker.poll import BeanRequest, QueueSelection
from collectors.broker.replies import read_replies
from collectors.broker.schema import Bean
from collectors.broker.snapshot import BrokerSnapshot
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


def answers(capture: list[Any], asked: list[BeanRequest]) -> list[Any]:
    """For each request the captured reply about the same MBeans; 404 where there is none."""
    by_bean = {reply["request"]["mbean"]: reply for reply in capture}
    patterns = {
        "broker": "org.apache.activemq.artemis:broker=*",
        "queue": products.ARTEMIS.queue.pattern.format(queue="*"),
        "address": "org.apache.activemq.artemis:address=*,broker=*,component=addresses",
        "memory": "java.lang:type=Memory",
        "pool": "java.lang:name=*,type=MemoryPool",
        "gc": "java.lang:name=*,type=GarbageCollector",
        "threads": "java.lang:type=Threading",
        "system": "java.lang:type=OperatingSystem",
    }
    return [by_bean.get(patterns.get(item.bean.name, ""), {"status": 404}) for item in asked]


def look(capture: list[Any], queues: Queues = ALL, selection: QueueSelection | None = None) -> BrokerSnapshot:
    asked = poll.requests(products.ARTEMIS, queues, selection or QueueSelection())
    return read_replies(asked, answers(capture, asked), products.ARTEMIS, queues, (1, 2))


def test_a_real_reply(capture: list[Any]) -> None:
    """Numbers are those of the capture, shares are ratios, a missing MBean is no fault."""
    snapshot = look(capture)
    assert snapshot.beans["queue"] == [
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
    assert snapshot.one("broker")["disk_ratio"] == 0.7056974880830962
    assert [row["address"] for row in snapshot.beans["address"]] == ["activemq.notifications", "q1"]
    assert snapshot.pools["old"] == {
        "init": 376438784,
        "committed": 8388608,
        "max": 402653184,
        "used": 7645696,
    }
    assert snapshot.pools["eden"] == {"init": 19922944, "committed": 31457280, "used": 17825792}  # no max: -1
    assert snapshot.pools["metaspace"]["used"] == 26658424
    assert snapshot.pools["codeheap_non_nmethods"]["used"] == 1403008
    assert snapshot.one("runtime") == {}
    assert not snapshot.faults


def test_only_reads_of_named_attributes_are_asked() -> None:
    """No exec, no write, and never all attributes."""
    for product in products.PRODUCTS:
        asked = poll.requests(product, ALL, QueueSelection())
        encoded = [item.request.encode() for item in asked]
        assert {request["type"] for request in encoded} == {"read"}
        assert all(request["attribute"] for request in encoded)
    searches = [*poll.product_searches(), *poll.name_searches(products.ARTEMIS)]
    assert {request.encode()["type"] for request in searches} == {"search"}


def test_the_filter_and_the_limit(capture: list[Any]) -> None:
    """What no pattern wants is not shown; nor what is over the limit, and that is told."""
    assert look(capture, Queues(include=("other.*",))).beans["queue"] == []
    (queue,) = capture[2]["value"].items()
    many = {queue[0].replace('"q1"', f'"q{number:04}"'): queue[1] for number in range(10_000)}
    capture[2]["value"] = many
    snapshot = look(capture, Queues(limit=500))
    assert [row["queue"] for row in snapshot.beans["queue"]][:2] == ["q0000", "q0001"]
    assert len(snapshot.beans["queue"]) == 500
    assert snapshot.omitted == {"queue": 9500}


def test_many_queues_are_asked_for_by_name() -> None:
    """So that a broker with 10,000 of them does not answer for all at each poll."""
    names = [products.ARTEMIS.queue.pattern.format(queue=f'"orders.{n}"') for n in range(10_000)]
    queues = Queues(include=("orders.*",), limit=100)
    selection = poll.select_queues(products.ARTEMIS, queues, [{"value": names}, {"value": []}])
    asked = poll.requests(products.ARTEMIS, queues, selection)
    assert sum(item.bean.name == "queue" for item in asked) == 100
    assert selection.omitted["queue"] == 9900
    few = poll.select_queues(products.ARTEMIS, queues, [{"value": names[:99]}, {"value": []}])
    assert few.beans is None
    asked = poll.requests(products.ARTEMIS, queues, few)
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
    snapshot = look(capture)
    assert snapshot.beans["queue"][0]["messages"] is None
    assert snapshot.beans["queue"][0]["added"] is None
    assert snapshot.beans["queue"][0]["acknowledged"] == 7
    assert snapshot.one("broker")["version"] == "2.44.0"
    assert snapshot.faults == {"object_name": 1, "value_of_wrong_type": 2, "status_500": 1, "shape": 1}


CLASSIC = "org.apache.activemq:brokerName=localhost,"


def test_classic() -> None:
    """ActiveMQ Classic by its own names: shares are in per cent, and it has no addresses."""
    asked = poll.requests(products.CLASSIC, ALL, QueueSelection())
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
    snapshot = read_replies(asked, replies, products.CLASSIC, ALL, (1, 2))
    assert snapshot.one("broker")["address_memory_ratio"] == 0.12
    assert snapshot.one("broker")["disk_ratio"] == 0.5
    assert snapshot.beans["queue"][0]["queue"] == "orders"
    assert snapshot.beans["queue"][0]["acknowledged"] == 6
    assert not snapshot.faults


def test_detection() -> None:
    """By which broker's MBean is there; neither is no broker."""
    found, none = {"status": 200, "value": ["x:broker=a"]}, {"status": 200, "value": []}
    assert poll.detect_product([found, none]) is products.ARTEMIS
    assert poll.detect_product([none, found]) is products.CLASSIC
    assert poll.detect_product([none, {"status": 403}]) is None


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
    """Whatever stands in a reply, it makes a snapshot."""
    asked = poll.requests(products.ARTEMIS, ALL, QueueSelection())
    replies = [reply if number == place else {"status": 404} for number in range(len(asked))]
    snapshot = read_replies(asked, replies, products.ARTEMIS, ALL, (1, 2))
    assert isinstance(snapshot.pools, dict)


OTHERS = [f"orders.{number}" for number in range(5)]


def names_of(bean: Bean, names: list[str]) -> dict[str, Any]:
    """What a search for all of a kind of MBean answers."""
    pattern = bean.pattern.replace("address=*", 'address="x"').replace("broker=*", 'broker="b"')
    pattern = pattern.replace("routing-type=*", 'routing-type="anycast"')
    return {"status": 200, "value": [pattern.format(queue=object_names.quote(name)) for name in names]}


@pytest.mark.parametrize(
    ("queues", "by_name"),
    [
        (Queues(include=("orders.*",)), False),
        (Queues(include=("orders.*",), limit=2), True),
        (Queues(include=("orders.*",), limit=1), True),
    ],
)
def test_queues_of_paths_are_asked_for_whatever_is_configured(queues: Queues, *, by_name: bool) -> None:
    """Neither patterns nor the limit leave them out, and they come before others."""
    artemis, of_paths = products.ARTEMIS, frozenset({"zebra", "a[*]"})
    found = [names_of(bean, [*OTHERS, "zebra", "a[*]", "hidden"]) for bean in artemis.destinations]
    selection = poll.select_queues(artemis, queues, found, of_paths)
    assert (selection.beans is not None) == by_name
    asked = poll.requests(artemis, queues, selection, (), of_paths)
    for bean in artemis.destinations:
        beans = [item.request.mbean for item in asked if item.bean is bean]
        assert len(beans) == len({*beans}) == (max(queues.limit, 2) if by_name else 3)
        for name in of_paths:
            assert any(object_names.quote(name) in mbean for mbean in beans)
        assert not any("hidden" in mbean for mbean in beans)


def test_queues_of_paths_are_read_whatever_is_configured() -> None:
    """With the sums of counters that attribution needs."""
    artemis, queues, of_paths = products.ARTEMIS, Queues(include=("orders.*",), limit=2), {"zebra"}
    asked = [BeanRequest(artemis.queue, poll.Read(artemis.queue.pattern.format(queue="*"), ()))]
    (names,) = (names_of(artemis.queue, [*OTHERS, "zebra", "hidden"])["value"],)
    told = {"MessageCount": 1, "ConsumerCount": 2, "DeliveringCount": 3, "MessagesAdded": 4}
    told |= {"MessagesAcknowledged": 5, "MessagesExpired": 6, "MessagesKilled": 7}
    replies = [{"status": 200, "value": dict.fromkeys(names, told)}]
    snapshot = read_replies(asked, replies, artemis, queues, (1, 2), of_paths)
    assert [row["queue"] for row in snapshot.beans["queue"]] == ["zebra", "orders.0"]
    assert snapshot.omitted["queue"] == 4
    (row, _) = BrokerCounters().count(snapshot).rows("queue")
    assert row.record() == {
        "address": "x",
        "queue": "zebra",
        "messages": 1,
        "consumers": 2,
        "delivering": 3,
        "scheduled": None,
        "persistent_bytes": None,
        # Counted before we looked: sums begin at 0.
        **dict.fromkeys(("added", "acknowledged", "expired", "killed"), 0),
        **dict.fromkeys(("added_added", "acknowledged_added", "expired_added", "killed_added"), 0),
    }
