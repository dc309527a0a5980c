"""Links of brokers to other brokers, from replies of a real Artemis and from hostile ones."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from link_replies import STATES, look

from collectors.broker import links, metrics, poll, products, records
from collectors.broker.counters import BrokerCounters
from collectors.broker.snapshot import BrokerSnapshot
from collectors.config.model import Queues
from collectors.contract import telemetry
from collectors.contract.metrics import CATALOGUE

PEER = "127.0.0.1:28782"
BRIDGES, CONNECTIONS = (bean.pattern for bean in products.ARTEMIS.links.kinds)
MIRROR = "$ACTIVEMQ_ARTEMIS_MIRROR_two"


def told(snapshot: BrokerSnapshot, *names: str) -> dict[str, list[Any]]:
    return {row["kind"]: [row[name] for name in names] for row in snapshot.beans["link"]}


def reply_about(replies: list[Any], mbean: str) -> Any:
    return next(reply for reply in replies if reply["request"]["mbean"] == mbean)


def test_links_of_a_real_broker() -> None:
    """Each with its kind and peer, the queue that feeds it and what waits there; of a bridge what it sent."""
    snapshot = look(STATES["connected"])
    assert not snapshot.faults
    names = ("link", "to", "queue", "state", "messages", "delivering", "sent", "acknowledged")
    assert told(snapshot, *names) == {
        "bridge": ["orders-to-two", "two", "orders", "up", 0, 0, 10, 10],
        "mirror": ["two", PEER, MIRROR, "up", 0, 0, None, 31],
        "amqp": ["two-amqp", PEER, None, "up", None, None, None, None],
    }


@pytest.mark.parametrize(
    ("state", "bridge", "mirror", "amqp"),
    [
        ("connected", ["up", 0], ["up", 0], ["up", None]),
        ("peer killed", ["down", 7], ["down", 9], ["down", None]),
        ("peer back", ["up", 0], ["up", 0], ["up", None]),
        ("peer hangs, first seconds", ["up", 5], ["up", 5], ["up", None]),
        ("peer hangs, after 2 minutes", ["down", 5], ["hangs", 5], ["up", None]),
        ("peer goes on", ["up", 0], ["up", 0], ["up", None]),
    ],
)
def test_what_happens_to_the_peer(state: str, bridge: list[Any], mirror: list[Any], amqp: list[Any]) -> None:
    """A mirror is down while its peer hangs, though it says it is connected; of AMQP links nobody tells."""
    snapshot = look(STATES[state])
    assert told(snapshot, "state", "messages") == {"bridge": bridge, "mirror": mirror, "amqp": amqp}
    assert all(row["up"] is (row["state"] == "up") for row in snapshot.beans["link"])


def test_no_password_of_a_uri_is_told() -> None:
    """Of it there are host and port only, in records as in metrics."""
    assert "hidden" in json.dumps(STATES["connected"])
    snapshot = look(STATES["connected"])
    counted = BrokerCounters().count(snapshot)
    made = [*records.of_broker("s", "m", "b", snapshot, counted, (1, 1))]
    assert b"hidden" not in b"".join(record.encode() for record in made)
    assert "hidden" not in str([*metrics.of_broker("m", "b", snapshot, counted, 1000)])


@pytest.mark.parametrize(
    ("uri", "to"),
    [
        ("tcp://h:61616", "h:61616"),
        ("tcp://user:se/cret@h:61616", "h:61616"),
        ("tcp://u:s@cret@h:1?x=y", "h:1"),
        ("tcp://a:1#tcp://b:2", "a:1, b:2"),
        ("(tcp://a:1,tcp://b:2)?keyStorePassword=//cret", "a:1, b:2"),
        ("tcp://a:1?p=x#tcp://cret:1", "a:1"),
        ("tcp://[::1]:5/x", "[::1]:5"),
        ("cret", ""),
    ],
)
def test_of_a_uri_hosts_and_ports_are_told(uri: str, to: str) -> None:
    """Whatever stands around them."""
    replies = copy.deepcopy(STATES["connected"])
    for row in reply_about(replies, CONNECTIONS)["value"].values():
        row["Uri"] = uri
    assert [*told(look(replies), "to")["amqp"]] == [to]
    assert "cret" not in str(look(replies).beans["link"])


def test_the_brokers_own_queues_are_no_users_queues() -> None:
    """Neither that of a mirror nor its address, whatever is included; nor do they count against the limit."""
    replies = copy.deepcopy(STATES["peer killed"])
    every = products.ARTEMIS.queue.pattern.format(queue="*")
    assert MIRROR in str(reply_about(replies, every))
    for include in ("*", "$*", MIRROR):
        snapshot = look(replies, Queues(include=(include,)))
        assert not [row for row in snapshot.beans["queue"] if row["queue"].startswith("$")]
        assert not [row for row in snapshot.beans["address"] if row["address"].startswith("$")]
        assert told(snapshot, "messages")["mirror"] == [9]
    names = [products.ARTEMIS.queue.pattern.format(queue=f'"{name}"') for name in (MIRROR, "orders")]
    names += ["none", "x:y"]
    selection = poll.select_queues(products.ARTEMIS, Queues(limit=1), [{"value": names}, {"value": []}])
    assert selection.beans is None
    assert selection.omitted["queue"] == 0


def test_the_queue_of_a_bridge_is_asked_for_by_name_where_the_config_leaves_it_out() -> None:
    """From the second poll on, in the same request; it does not become one of the queues that are told."""
    few = Queues(include=("plain",))
    replies = [r for r in STATES["peer killed"] if 'queue="orders"' not in r["request"]["mbean"]]
    first = look(replies, few, ())
    assert told(first, "state", "messages", "queue")["bridge"] == ["down", None, "orders"]
    assert links.feeding(first) == ["orders"]
    second = look(STATES["peer killed"], few, tuple(links.feeding(first)))
    assert told(second, "messages")["bridge"] == [7]
    assert [row["queue"] for row in second.beans["queue"]] in ([], ["plain"])
    assert links.feeding(second) == ["orders"]
    assert links.feeding(look(STATES["connected"])) == []  # it is among those that are told anyway


def test_what_a_version_does_not_know_is_absent() -> None:
    """Neither down nor 0."""
    replies = copy.deepcopy(STATES["connected"])
    for pattern in (BRIDGES, CONNECTIONS):
        for row in reply_about(replies, pattern)["value"].values():
            for name in (
                "Connected",
                "Started",
                "QueueName",
                "MessagesAcknowledged",
                "Uri",
                "StaticConnectors",
            ):
                row.pop(name, None)
    replies = [reply for reply in replies if MIRROR[:-3] not in reply["request"]["mbean"]]
    reply_about(replies, products.ARTEMIS.queue.pattern.format(queue="*"))["value"].clear()
    snapshot = look(replies)
    assert not snapshot.faults
    nothing = ["", None, "unknown", None, None, None, None]
    names = ("to", "queue", "state", "up", "messages", "delivering", "acknowledged")
    # With no queue of its own that is told, a mirror is the AMQP connection that makes it.
    assert told(snapshot, *names) == {"bridge": nothing, "amqp": nothing}
    made = {name for name, *_ in metrics.of_broker("m", "b", snapshot, BrokerCounters().count(snapshot), 1)}
    assert made & {name for name in CATALOGUE if name.startswith("broker_link_")} == {
        "broker_link_messages_limit",
        "broker_link_sent_messages_total",
    }


def test_a_mirror_that_was_taken_away_leaves_its_queue() -> None:
    """What waits in it is told all the same."""
    replies = [reply for reply in STATES["peer killed"] if reply["request"]["mbean"] != CONNECTIONS]
    assert told(look(replies), "link", "to", "state", "messages")["mirror"] == ["two", "", "hangs", 9]


def test_links_are_as_many_as_the_config_allows() -> None:
    """The first by name; how many are left out is told."""
    replies = copy.deepcopy(STATES["connected"])
    ((_, row),) = reply_about(replies, BRIDGES)["value"].items()
    many = {
        BRIDGES.replace("broker=*", 'broker="one"').replace("name=*", f'name="b{n:05}"'): row
        for n in range(9000)
    }
    reply_about(replies, BRIDGES)["value"] = many
    snapshot = look(replies, Queues(limit=20))
    bridges = [row["link"] for row in snapshot.beans["link"] if row["kind"] == "bridge"]
    assert bridges == [f"b{n:05}" for n in range(20)]
    assert snapshot.omitted["link"] == 8980


def test_counters_of_links_only_rise() -> None:
    """Also where the link, and with it its count, is made anew."""
    counters = BrokerCounters()
    counters.count(look(STATES["connected"]))
    counted = counters.count(look(STATES["peer goes on"]))
    sums = {each.row["kind"]: each.sums for each in counted.rows("link")}
    assert sums["bridge"] == {"sent": 17, "acknowledged": 12}
    assert sums["mirror"] == {"sent": None, "acknowledged": 28}
    again = counters.count(look(STATES["connected"]))
    assert {each.row["kind"]: each.sums for each in again.rows("link")}["bridge"]["sent"] >= 17


def test_records_and_metrics_of_links() -> None:
    """A record says all that is known of each; each metric has its labels, and the limit is the config's."""
    snapshot = look(STATES["peer killed"])
    counted = BrokerCounters().count(snapshot)
    record = next(
        r for r in records.of_broker("s", "m", "b", snapshot, counted, (1, 1)) if r.entity == "broker_link"
    )
    assert telemetry.decode(record.encode()) == record
    bridge = next(row for row in record.rows if row["kind"] == "bridge")
    assert bridge == {
        "kind": "bridge",
        "link": "orders-to-two",
        "to": "two",
        "queue": "orders",
        "state": "down",
        "up": False,
        "started": True,
        "connected": False,
        "messages": 7,
        "delivering": 0,
        "sent": 0,
        "acknowledged": 0,
        "peers": None,
        "sent_added": 0,
        "acknowledged_added": 0,
    }
    values = {
        (name, labels): value for name, labels, value in metrics.of_broker("m", "b", snapshot, counted, 77)
    }
    mirror = ("m", "b", "mirror", "two", PEER)
    assert values["broker_link_up", mirror] == 0
    assert values["broker_link_messages", mirror] == 9
    assert values["broker_link_messages_limit", ("m", "b")] == 77
    assert ("broker_link_messages", ("m", "b", "amqp", "two-amqp", PEER)) not in values


def test_a_broker_without_links_says_nothing_of_them() -> None:
    """No limit, either."""
    snapshot = look(
        [r for r in STATES["connected"] if r["request"]["mbean"] not in {BRIDGES, CONNECTIONS}][:1]
    )
    names = {name for name, *_ in metrics.of_broker("m", "b", snapshot, BrokerCounters().count(snapshot), 1)}
    assert not [name for name in names if "link" in name]


HOSTILE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.text()
    | st.sampled_from(["ERROR: no", "\ud800", "tcp://" * 99, "x" * 10_000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
ATTRIBUTES = sorted(
    {a.remote_name for bean in products.ARTEMIS.links.beans for a in bean.attributes} | {"Elsewhere"}
)


@given(
    st.sampled_from([BRIDGES, CONNECTIONS, "queues"]),
    st.dictionaries(st.sampled_from(ATTRIBUTES), HOSTILE, max_size=8),
    st.text(),
)
def test_no_reply_breaks_the_poll(which: str, attributes: dict[str, Any], name: str) -> None:
    """Whatever stands in an attribute: other links are told, and what is made of it can be sent and shown."""
    replies = copy.deepcopy(STATES["connected"])
    pattern = products.ARTEMIS.queue.pattern.format(queue="*") if which == "queues" else which
    value = reply_about(replies, pattern)["value"]
    key = json.dumps(name) if name else '"x"'
    value[
        pattern.replace("name=*", f"name={key}").replace("queue=*", f"queue={key}").replace("=*", '="q"')
    ] = attributes
    for row in value.values():
        row.update(attributes)
    snapshot = look(replies)
    counted = BrokerCounters().count(snapshot)
    for record in records.of_broker("s", "m", "b", snapshot, counted, (1, 1)):
        assert telemetry.decode(record.encode()).rows == json.loads(record.encode())["rows"]
    for _, labels, number in metrics.of_broker("m", "b", snapshot, counted, 1000):
        assert float(number) == number
        assert all(len(label) <= 512 for label in labels)
    assert {"mirror", "amqp"} <= {row["kind"] for row in snapshot.beans["link"]} or which != BRIDGES
