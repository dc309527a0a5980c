"""Collectors: what polling a large mesh and a large broker costs them, and those that are watched."""

from __future__ import annotations

import dataclasses
import itertools
import json
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from proton import Message

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))  # what tests share
sys.path.insert(0, str(Path(__file__).parents[2]))

from _watched import (
    broker_cpu_seconds,
    broker_polls,
    helper,
    line,
    mesh_polls,
    process_cpu_seconds,
    throughput_ratio,
)

from collectors.amqp.options import read_options
from collectors.broker import poll as reading
from collectors.broker.client import JolokiaClient, Read
from collectors.broker.products import ARTEMIS
from collectors.broker.replies import read_replies
from collectors.config.model import Broker, Mesh, Queues
from collectors.polling.context import PollContext
from collectors.polling.metric_cache import MetricCache
from collectors.polling.poll_metrics import PollMetrics
from collectors.router import in_flight, management
from collectors.router import poll as poll_module
from collectors.router.client import ManagementClient
from collectors.router.exchange import poll_once
from collectors.router.mesh import MeshState
from collectors.router.schema import DISPATCH, Flavour
from deploy.demo.stories import topology
from deploy.embedded.programs.artemis import Artemis
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.lab.lab import Lab
from deploy.topology import form

ROUTERS, LINKS, QUEUES = 200, 100, 2_000
ROUNDS = 3
POLLS = 6  # in which each router has been asked once for what hardly changes


def run() -> dict[str, float]:
    found = _mesh()
    with tempfile.TemporaryDirectory() as directory, Supervisor(Path(directory)) as supervisor:
        queues = tuple(f"bench.{number:04}" for number in range(QUEUES))
        many = topology().model_copy(update={"brokers": {"artemis": form.Broker(queues=queues)}})
        lab = Lab(supervisor, many)
        lab.start()
        lab.wait_connected()
        artemis, router = lab.brokers["artemis"], lab.routers["A"]
        found |= _broker(artemis)
        found |= _watched(artemis, router)
    return found


# -- a mesh


def _mesh() -> dict[str, float]:
    with helper("serve", str(ROUTERS), str(LINKS)) as process:
        url = line(process)
        found = _polls(url)
        found |= _bytes(url)
        found["mesh_read_cpu_ratio"] = _reading(url)
        found["mesh_one_by_one_seconds"] = _one_by_one(url)
    return found


def _polls(url: str) -> dict[str, float]:
    """As the collector does it: poll, count, metrics, records."""
    registry, cache = CollectorRegistry(), MetricCache()
    registry.register(cache)
    sizes: list[int] = []
    context = PollContext(
        "bench", cache, PollMetrics(), lambda _topic, record: sizes.append(len(record.encode()))
    )
    state = MeshState("bench", Mesh(urls=(url,), interval="60s"), context, lambda _view: None)
    client = ManagementClient(read_options(url), 10)
    tags = itertools.count()
    walls, answers, cpus = [], [], []
    for number in range(POLLS + 1):
        sizes.clear()
        began, cpu = time.perf_counter(), time.process_time()
        polled = poll_once(client, state.begin(DISPATCH, tags), time.monotonic() + 60)
        answered = time.perf_counter()
        state.end(polled, time.time_ns(), time.monotonic_ns())
        if number:  # the first one has the server make its replies
            walls.append(time.perf_counter() - began)
            answers.append(answered - began)
            cpus.append(time.process_time() - cpu)
        failed = [asked.failure for asked in polled.asked.values() if asked.failure]
        if len(polled.asked) != ROUTERS or failed:
            raise RuntimeError(f"{len(polled.asked)} routers of {ROUTERS}, failures: {failed[:3]}")
    client.close()
    began, cpu = time.perf_counter(), time.process_time()
    text = cache.render()
    scrape, scrape_cpu = time.perf_counter() - began, time.process_time() - cpu
    cpu = time.process_time()
    generate_latest(registry)
    library_cpu = time.process_time() - cpu
    return {
        "mesh_poll_seconds": statistics.median(answers),
        "mesh_poll_and_tally_seconds": statistics.median(walls),
        "mesh_poll_cpu_seconds": statistics.median(cpus),
        "mesh_records": len(sizes),
        "mesh_records_bytes": sum(sizes),
        "mesh_scrape_seconds": scrape,
        "mesh_scrape_cpu_ratio": library_cpu / scrape_cpu,
        "mesh_scrape_bytes": len(text),
        "mesh_resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


class _Counting(poll_module.Poll):
    """A poll that counts what it is answered."""

    received_bytes = 0

    def reply(self, data: bytes, now_ns: int) -> None:
        self.received_bytes += len(data)
        super().reply(data, now_ns)


def _bytes(url: str) -> dict[str, float]:
    """Named attributes against all of them."""
    everything = dataclasses.replace(
        DISPATCH, entities=tuple(dataclasses.replace(e, ask_all=True) for e in DISPATCH.entities)
    )
    found = {}
    for name, flavour in (("named", DISPATCH), ("all", everything)):
        client = ManagementClient(read_options(url), 10)
        polled = _Counting(flavour, {}, itertools.count())
        poll_once(client, polled, time.monotonic() + 60)
        client.close()
        found[f"mesh_reply_bytes_{name}"] = float(polled.received_bytes)
    return found


class _Keeping(poll_module.Poll):
    """A poll that keeps what it is answered."""

    def __init__(self, flavour: Flavour) -> None:
        super().__init__(flavour, {}, itertools.count())
        self.replies: list[bytes] = []

    def reply(self, data: bytes, now_ns: int) -> None:
        self.replies.append(data)
        super().reply(data, now_ns)


def _reading(url: str) -> float:
    """CPU time of reading a whole poll's replies: proton's messages against ours."""
    client = ManagementClient(read_options(url), 10)
    polled = _Keeping(DISPATCH)
    poll_once(client, polled, time.monotonic() + 60)
    client.close()
    ratios = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for data in polled.replies:
            message = Message()
            message.decode(data)
            _ = message.body
        between = time.process_time()
        for data in polled.replies:
            management.decode(data).checked_body()
        ratios.append((between - began) / (time.process_time() - between))
    return statistics.median(ratios)


def _one_by_one(url: str) -> float:
    """The same requests, each sent when the one before is answered."""
    waiting, patience = in_flight.MAX_WAITING, in_flight.PATIENCE_NS
    in_flight.MAX_WAITING, in_flight.PATIENCE_NS = 1, 1 << 62  # type: ignore[misc]  # for this measurement
    try:
        client = ManagementClient(read_options(url), 10)
        began = time.perf_counter()
        poll_once(client, poll_module.Poll(DISPATCH, {}, itertools.count()), time.monotonic() + 300)
        client.close()
        return time.perf_counter() - began
    finally:
        in_flight.MAX_WAITING, in_flight.PATIENCE_NS = waiting, patience  # type: ignore[misc]  # as above


# -- a broker


def _config(artemis: Artemis, queues: str = "bench.*", limit: int = 10 * QUEUES) -> Broker:
    auth = {"user": artemis.user, "password_file": artemis.password_file}
    return Broker.model_validate(
        {
            "jolokia": artemis.jolokia_url,
            "origin": artemis.origin,
            "auth": auth,
            "queues": {"include": [queues], "limit": limit},
        }
    )


def _broker(artemis: Artemis) -> dict[str, float]:
    broker = _config(artemis)
    client = JolokiaClient(broker)
    asked = reading.requests(ARTEMIS, broker.queues, reading.QueueSelection())
    walls, cpus = [], []
    for number in range(ROUNDS + 1):
        before = client.reply_bytes
        began, cpu = time.perf_counter(), time.process_time()
        replies = client.ask([item.request for item in asked], time.monotonic() + 60)
        snapshot = read_replies(asked, replies, ARTEMIS, broker.queues, (0, 0))
        if number:  # the first one warms the JVM up
            walls.append(time.perf_counter() - began)
            cpus.append(time.process_time() - cpu)
    if len(snapshot.beans["queue"]) != QUEUES:
        raise RuntimeError(f"{len(snapshot.beans['queue'])} queues of {QUEUES}")
    named = client.reply_bytes - before
    found = {
        "broker_poll_seconds": statistics.median(walls),
        "broker_poll_cpu_seconds": statistics.median(cpus),
        "broker_reply_bytes_named": float(named),
    }
    before = client.reply_bytes
    began = time.perf_counter()
    client.ask([Read(item.request.mbean, ()) for item in asked], time.monotonic() + 120)
    found["broker_all_attributes_seconds"] = time.perf_counter() - began
    found["broker_reply_bytes_all"] = float(client.reply_bytes - before)
    names = client.ask(reading.name_searches(ARTEMIS), time.monotonic() + 60)
    limited = Queues(include=("bench.*",), limit=500)
    selection = reading.select_queues(ARTEMIS, limited, names)
    few = reading.requests(ARTEMIS, limited, selection)
    began = time.perf_counter()
    client.ask([item.request for item in few], time.monotonic() + 60)
    found["broker_capped_500_poll_seconds"] = time.perf_counter() - began
    queues = [item for item in few if item.bean is ARTEMIS.queue]
    began = time.perf_counter()
    for item in queues:
        client.ask([item.request], time.monotonic() + 60)
    found["broker_one_by_one_500_seconds"] = time.perf_counter() - began
    client.close()
    return found


# -- what is watched


def _watched(artemis: Artemis, router: Any) -> dict[str, float]:
    """Few queues, 2,000 of them with the limit that configs have unless told otherwise, and all of them."""
    found = {}
    brokers = {
        "broker": _config(artemis, "inflight.*"),
        "broker_default_limit": _config(artemis, limit=Queues().limit),
        "broker_2000_queues": _config(artemis),
    }
    with mesh_polls(router.url) as poll:
        found["router_own_cpu_seconds_per_poll"] = process_cpu_seconds(router.process.pid, poll)
        polled, found["watched_throughput_ratio"] = throughput_ratio(router.url, "inflight/bench", poll)
        found["watched_throughput_ratio_polled_each_second"] = polled
    for name, config in brokers.items():
        found[f"{name}_own_cpu_seconds_per_poll"] = broker_cpu_seconds(config)
        with broker_polls(config) as poll:
            polled, ratio = throughput_ratio(artemis.amqp_url, "inflight.bench", poll)
        found[f"watched_{name}_throughput_ratio"] = ratio
        found[f"watched_{name}_throughput_ratio_polled_each_second"] = polled
    return found


def _print(found: dict[str, Any]) -> None:
    for name, value in found.items():
        print(f"{name:32} {value:,.6g}")  # noqa: T201 -- a benchmark's table


if __name__ == "__main__":
    figures = run()
    _print(figures)
    target = Path(".inflight/bench/collectors.json")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(figures, indent=2) + "\n")
