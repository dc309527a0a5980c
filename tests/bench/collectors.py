"""Collectors: what polling a large mesh and a large broker costs them, and those that are watched."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest

sys.path.insert(0, str(Path(__file__).parents[1]))  # what tests share
sys.path.insert(0, str(Path(__file__).parents[2]))

from collectors import amqp
from collectors.board import Board
from collectors.broker import reading
from collectors.broker import schema as broker_schema
from collectors.broker.jolokia import Jolokia, Read
from collectors.config import Broker, Mesh, Queues
from collectors.outlet import Outlet
from collectors.polls import Polls
from collectors.router import poll as poll_module
from collectors.router.mesh import MeshState
from collectors.router.schema import DISPATCH
from collectors.router.session import poll_once
from collectors.router.wire import Wire
from deploy.embedded.artemis import Artemis
from deploy.embedded.network import Network
from deploy.embedded.supervisor import Supervisor

ROUTERS, LINKS, QUEUES = 200, 100, 2_000
ROUNDS = 3
SLICES, SLICE_SECONDS = 12, 5.0
POLLS = 20  # for the CPU time of what is polled
HELPER = Path(__file__).parent / "_many_routers.py"


def run() -> dict[str, float]:
    found = _mesh()
    with tempfile.TemporaryDirectory() as directory, Supervisor(Path(directory)) as supervisor:
        network = Network(supervisor, kafka=False, artemis=_artemis(supervisor)).start()
        artemis, router = network.artemis, network.routers["A"]
        found |= _broker(artemis)
        few, all_queues = _config(artemis, "inflight.*"), _config(artemis)
        found["broker_own_cpu_seconds_per_poll"] = _broker_cpu(few)
        found["broker_2000_queues_own_cpu_seconds_per_poll"] = _broker_cpu(all_queues)
        found["router_own_cpu_seconds_per_poll"] = _router_cpu(router.process.pid, router.url)
        found["watched_throughput_ratio"] = _watched(
            router.url, "inflight/bench", lambda: _poll_mesh(router.url)
        )
        for name, config in (("broker", few), ("broker_2000_queues", all_queues)):
            found[f"watched_{name}_throughput_ratio"] = _watched(
                artemis.amqp_url, "inflight.bench", functools.partial(_poll_broker, config)
            )
    return found


# -- a mesh


def _mesh() -> dict[str, float]:
    with _helper("serve", str(ROUTERS), str(LINKS)) as process:
        url = _line(process)
        found = _polls(url)
        found |= _bytes(url)
        found["mesh_one_by_one_seconds"] = _one_by_one(url)
    return found


def _polls(url: str) -> dict[str, float]:
    """As the collector does it: poll, tally, samples, records."""
    registry, board, polls = CollectorRegistry(), Board(), Polls()
    registry.register(board)
    sizes: list[int] = []
    outlet = Outlet("bench", board, polls, lambda _topic, record: sizes.append(len(record.encode())))
    state = MeshState("bench", Mesh(urls=(url,), interval="60s"), outlet, lambda _view: None)
    wire = Wire(amqp.options(url), 10)
    tags = itertools.count()
    walls, answers, cpus = [], [], []
    for number in range(ROUNDS + 1):
        sizes.clear()
        began, cpu = time.perf_counter(), time.process_time()
        polled = poll_once(wire, state.begin(DISPATCH, tags), time.monotonic() + 60)
        answered = time.perf_counter()
        state.end(polled, time.time_ns(), time.monotonic_ns())
        if number:  # the first one has the server make its replies
            walls.append(time.perf_counter() - began)
            answers.append(answered - began)
            cpus.append(time.process_time() - cpu)
        failed = [asked.failure for asked in polled.asked.values() if asked.failure]
        if len(polled.asked) != ROUTERS or failed:
            raise RuntimeError(f"{len(polled.asked)} routers of {ROUTERS}, failures: {failed[:3]}")
    wire.close()
    began = time.perf_counter()
    text = generate_latest(registry)
    return {
        "mesh_poll_seconds": statistics.median(answers),
        "mesh_poll_and_tally_seconds": statistics.median(walls),
        "mesh_poll_cpu_seconds": statistics.median(cpus),
        "mesh_records": len(sizes),
        "mesh_records_bytes": sum(sizes),
        "mesh_scrape_seconds": time.perf_counter() - began,
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
        wire = Wire(amqp.options(url), 10)
        polled = _Counting(flavour, {}, itertools.count())
        poll_once(wire, polled, time.monotonic() + 60)
        wire.close()
        found[f"mesh_reply_bytes_{name}"] = float(polled.received_bytes)
    return found


def _one_by_one(url: str) -> float:
    """The same requests, each sent when the one before is answered."""
    window, patience = poll_module.WINDOW, poll_module.PATIENCE_NS
    poll_module.WINDOW, poll_module.PATIENCE_NS = 1, 1 << 62  # type: ignore[misc]  # for this measurement
    try:
        wire = Wire(amqp.options(url), 10)
        began = time.perf_counter()
        poll_once(wire, poll_module.Poll(DISPATCH, {}, itertools.count()), time.monotonic() + 300)
        wire.close()
        return time.perf_counter() - began
    finally:
        poll_module.WINDOW, poll_module.PATIENCE_NS = window, patience  # type: ignore[misc]  # as above


# -- a broker


def _artemis(supervisor: Supervisor) -> Artemis:
    names = ("inflight.orders", *(f"bench.{number:04}" for number in range(QUEUES)))
    return Artemis(supervisor, queues=names).start()


def _config(artemis: Artemis, queues: str = "bench.*") -> Broker:
    auth = {"user": artemis.user, "password_file": artemis.password_file}
    return Broker.model_validate(
        {
            "jolokia": artemis.jolokia_url,
            "origin": artemis.origin,
            "auth": auth,
            "queues": {"include": [queues], "limit": 10 * QUEUES},
        }
    )


def _broker(artemis: Artemis) -> dict[str, float]:
    broker = _config(artemis)
    client = Jolokia(broker)
    asked = reading.requests(broker_schema.ARTEMIS, broker.queues, reading.Choice())
    walls, cpus = [], []
    for number in range(ROUNDS + 1):
        before = client.reply_bytes
        began, cpu = time.perf_counter(), time.process_time()
        replies = client.ask([item.request for item in asked], time.monotonic() + 60)
        view = reading.read(asked, replies, broker_schema.ARTEMIS, broker.queues, (0, 0))
        if number:  # the first one warms the JVM up
            walls.append(time.perf_counter() - began)
            cpus.append(time.process_time() - cpu)
    if len(view.beans["queue"]) != QUEUES:
        raise RuntimeError(f"{len(view.beans['queue'])} queues of {QUEUES}")
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
    names = client.ask(reading.census(broker_schema.ARTEMIS), time.monotonic() + 60)
    limited = Queues(include=("bench.*",), limit=500)
    choice = reading.choose(broker_schema.ARTEMIS, limited, names)
    few = reading.requests(broker_schema.ARTEMIS, limited, choice)
    began = time.perf_counter()
    client.ask([item.request for item in few], time.monotonic() + 60)
    found["broker_capped_500_poll_seconds"] = time.perf_counter() - began
    queues = [item for item in few if item.bean is broker_schema.ARTEMIS.queue]
    began = time.perf_counter()
    for item in queues:
        client.ask([item.request], time.monotonic() + 60)
    found["broker_one_by_one_500_seconds"] = time.perf_counter() - began
    client.close()
    return found


# -- what is watched


def _broker_cpu(broker: Broker) -> float:
    """The broker's own CPU time for a poll, beside what it spends idling."""
    client = Jolokia(broker)

    def cpu_seconds() -> float:
        system = Read("java.lang:type=OperatingSystem", ("ProcessCpuTime",))
        return float(client.ask([system], time.monotonic() + 30)[0]["value"]["ProcessCpuTime"]) / 1e9

    _poll_broker(broker)
    began, first = time.monotonic(), cpu_seconds()
    for _ in range(POLLS):
        _poll_broker(broker)
    polled, spent = time.monotonic() - began, cpu_seconds() - first
    first = cpu_seconds()
    time.sleep(2)
    idle = (cpu_seconds() - first) / 2
    client.close()
    return max(0.0, spent - idle * polled) / POLLS


def _router_cpu(pid: int, url: str) -> float:
    """The same of a router, as the system counts it."""

    def cpu_seconds() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    _poll_mesh(url)
    first = cpu_seconds()
    for _ in range(POLLS):
        _poll_mesh(url)
    return (cpu_seconds() - first) / POLLS


def _poll_mesh(url: str) -> None:
    wire = Wire(amqp.options(url), 10)
    poll_once(wire, poll_module.Poll(DISPATCH, {}, itertools.count()), time.monotonic() + 10)
    wire.close()


def _poll_broker(broker: Broker) -> None:
    client = Jolokia(broker)
    asked = reading.requests(broker_schema.ARTEMIS, broker.queues, reading.Choice())
    client.ask([item.request for item in asked], time.monotonic() + 10)
    client.close()


def _watched(url: str, address: str, poll: Callable[[], None]) -> float:
    """Messages a second in slices of an interval with one poll, against slices without, by turns."""
    rates: dict[bool, list[float]] = {True: [], False: []}
    with _helper("load", url, address) as process:
        time.sleep(3)
        for number in range(SLICES):
            polled = number % 2 == 1
            count, began = _count(process)
            if polled:
                poll()
            time.sleep(max(0.0, began + SLICE_SECONDS - time.monotonic()))
            now_count, now = _count(process)
            rates[polled].append((now_count - count) / (now - began))
    return statistics.mean(rates[True]) / statistics.mean(rates[False])


def _count(process: subprocess.Popen[str]) -> tuple[int, float]:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    count, at = _line(process).split()
    return int(count), float(at)


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def _helper(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, str(HELPER), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()


def _print(found: dict[str, Any]) -> None:
    for name, value in found.items():
        print(f"{name:32} {value:,.6g}")  # noqa: T201 -- a benchmark's table


if __name__ == "__main__":
    figures = run()
    _print(figures)
    target = Path(".inflight/bench/collectors.json")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(figures, indent=2) + "\n")
