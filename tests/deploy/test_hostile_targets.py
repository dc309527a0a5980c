"""Whatever routers and brokers say, it ends neither their collectors nor what `inflight run` shows."""

from __future__ import annotations

import copy
import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nested import places, put
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from proton import Message, ulong
from replay import CAPTURES, Replay

from collectors.broker import metrics, records
from collectors.broker import poll as reading
from collectors.broker.counters import BrokerCounters
from collectors.broker.poll import QueueSelection
from collectors.broker.products import ARTEMIS
from collectors.broker.replies import read_replies
from collectors.config.load import parse
from collectors.config.model import Mesh, Queues
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import BROKER, ROUTER, Topic
from collectors.polling.context import PollContext
from collectors.polling.metric_cache import MetricCache
from collectors.polling.poll_metrics import PollMetrics
from collectors.router import management, schema
from collectors.router.mesh import MeshState
from deploy.parts.in_process import InProcessAccounting
from streaming.exporter import Exporter
from streaming.exporter.page_data import snapshot

CONFIG = parse("version: 1\nsite: here\n", "test.yaml")
AT_NS = 1_800_000_000_000_000_000
BROKER_REPLIES: list[Any] = json.loads((CAPTURES / "artemis-2.44.0-jolokia-2.3.0.json").read_text())
BROKER_REPLIES += [  # and of a broker with links, what is said of them
    reply
    for reply in json.loads((CAPTURES / "artemis-2.44.0-links.json").read_text())["connected"]
    if reply["request"]["mbean"] not in {known["request"]["mbean"] for known in BROKER_REPLIES}
]
# JSON has numbers of any length, AMQP of 64 bits.
ODD: list[Any] = [
    None,
    True,
    False,
    -1,
    0,
    0.5,
    1e308,
    float("inf"),
    float("-inf"),
    float("nan"),
    "",
    "a\nb",
    "\x1b[2J",
]
ODD += ["x" * 100_000, [], {}, [1, -1], ["\u202e"], {"a": {}}, (1 << 63) - 1, -(1 << 63)]
JSON_ODD = [*ODD, 10**400, -(10**400), 1 << 64, [[[[[1]]]]], "\ud800", "ERROR: none"]
AMQP_ODD = [*ODD, ulong((1 << 64) - 1)]


class Process:
    """Collectors' records and metric values, as `inflight run` has them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.cache = MetricCache()
        self.exporter = Exporter(CONFIG, self.registry, lambda: AT_NS)
        self._accounting = InProcessAccounting(CONFIG, self.exporter)
        self.context = PollContext("here", self.cache, PollMetrics(), self.publish)

    def publish(self, topic: Topic, record: Telemetry) -> None:
        self._accounting.take_poll(topic, record)

    def shown(self) -> dict[str, Any]:
        """All of it can be written down, in numbers that there are."""
        for family in text_string_to_metric_families(self.cache.render()):
            assert all(math.isfinite(sample.value) for sample in family.samples)
        text = json.dumps(snapshot(self.exporter), allow_nan=False, ensure_ascii=False)
        state: dict[str, Any] = json.loads(text.encode())
        return state

    def left_out(self, topic: Topic) -> float:
        labels = {"topic": topic.suffix, "result": "bad"}
        return self.registry.get_sample_value("inflight_exporter_rows_total", labels) or 0


BROKER_PLACES = [
    place for place in places(BROKER_REPLIES) if "request" not in place and "timestamp" not in place
]


@settings(max_examples=150, deadline=None)
@given(changes=st.lists(st.tuples(st.sampled_from(BROKER_PLACES), st.sampled_from(JSON_ODD)), max_size=3))
@example(changes=[(next(p for p in BROKER_PLACES if p[-1] == "DiskStoreUsage"), 10**400)])
def test_a_brokers_values(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    """Any of its values, at any place: what can be used is, and each record can be read again."""
    replies = copy.deepcopy(BROKER_REPLIES)
    by_bean = {reply["request"]["mbean"]: number for number, reply in enumerate(replies)}
    for place, odd in changes:
        try:
            put(replies, place, odd)
        except (TypeError, LookupError):  # the change before took the place away
            continue
    asked = reading.requests(ARTEMIS, Queues(), QueueSelection())
    answers = [
        reply if isinstance(reply, dict) else {}
        for reply in (
            replies[by_bean[item.request.mbean]] if item.request.mbean in by_bean else {"status": 404}
            for item in asked
        )
    ]
    process, counters = Process(), BrokerCounters()
    for number in range(2):
        said = read_replies(asked, answers, ARTEMIS, Queues(), (AT_NS, number * 10**9))
        counted = counters.count(said)
        process.cache.put("b", metrics.of_broker("prod", "b", said, counted, 1000))
        for record in records.of_broker("here", "prod", "b", said, counted, (number, 10**9)):
            process.publish(BROKER, record)
    process.shown()
    assert process.left_out(BROKER) == 0


ENTITIES = ("router", "router.link", "router.address", "router.node", "connection", "connector", "allocator")


@settings(max_examples=100, deadline=None)
@given(
    changes=st.lists(
        st.tuples(
            st.sampled_from(ENTITIES), st.integers(0, 50), st.integers(0, 60), st.sampled_from(AMQP_ODD)
        ),
        max_size=4,
    )
)
def test_a_routers_values(changes: list[tuple[str, int, int, Any]]) -> None:
    """The same of a mesh in which one router tells nonsense: the others are shown as ever."""
    replay = Replay("qdrouterd")
    a, b = replay.routers[:2]
    for entity, row, column, odd in changes:
        results = replay.capture[b][entity]["body"]["results"] if entity in replay.capture[b] else []
        if results:
            cells = results[row % len(results)]
            cells[column % len(cells)] = odd
    process, tags = Process(), itertools.count()
    state = MeshState("prod", Mesh.model_validate({"urls": "amqp://r"}), process.context, lambda _: None)
    for number in range(2):
        poll = state.begin(schema.DISPATCH, tags)
        while requests := poll.take(0, 1_000):
            for tag, request in requests:
                message = Message()
                message.decode(management.encode(request, tag, "reply"))
                for answer in replay(message):
                    assert isinstance(answer, Message)
                    poll.reply(answer.encode(), 1)
        poll.expire(1)
        state.end(poll, AT_NS, number * 5 * 10**9)
    shown = process.shown()
    (first,) = (router for router in shown["routers"] if router["router"] == a)
    assert first["up"]
    assert first["version"] == "1.19.0"
    assert process.left_out(ROUTER) == 0


def test_a_record_that_cannot_be_shown_is_counted_and_ends_nothing() -> None:
    """Its collector goes on, and so do the others."""
    process = Process()
    record = Telemetry("here", "prod", "A\nB", "link", AT_NS, 1, 1, [])
    process.publish(ROUTER, record)
    assert process.left_out(ROUTER) == 1


@pytest.mark.parametrize("status", [10**30, -5, 7, True, 200_000])
def test_a_status_that_is_none_makes_no_series_of_its_own(status: int) -> None:
    """Of such there could be any number."""
    asked = reading.requests(ARTEMIS, Queues(), QueueSelection())
    said = read_replies(asked, [{"status": status}] * len(asked), ARTEMIS, Queues(), (AT_NS, 1))
    assert set(said.faults) == {"shape"}
