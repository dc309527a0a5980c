"""What being polled does to a router or a broker: its throughput against that without, its own CPU time."""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from collectors.amqp.options import read_options
from collectors.broker import poll as reading
from collectors.broker.client import JolokiaClient, Read
from collectors.broker.products import ARTEMIS
from collectors.broker.replies import read_replies
from collectors.config.model import Broker, Mesh
from collectors.polling.context import PollContext
from collectors.polling.metric_cache import MetricCache
from collectors.polling.poll_metrics import PollMetrics
from collectors.router.client import ManagementClient
from collectors.router.exchange import poll_once
from collectors.router.mesh import MeshState

INTERVAL_SECONDS = 5.0  # what the ratios are told for
PHASE_SECONDS = 1.0
BLOCKS = 10  # of four phases each
CPU_POLLS = 50
HELPER = Path(__file__).parent / "_many_routers.py"

Poll = Callable[[], None]


@contextmanager
def mesh_polls(url: str) -> Iterator[Poll]:
    """Polls as the collector does them, over one connection."""
    context = PollContext("bench", MetricCache(), PollMetrics(), lambda _topic, record: record.encode())
    state = MeshState("bench", Mesh(urls=(url,), interval="5s"), context, lambda _view: None)
    client, tags = ManagementClient(read_options(url), 10), itertools.count()

    def poll() -> None:
        polled = poll_once(client, state.begin(client.guess, tags), time.monotonic() + 10)
        state.end(polled, time.time_ns(), time.monotonic_ns())

    poll()
    yield poll
    client.close()


@contextmanager
def broker_polls(broker: Broker) -> Iterator[Poll]:
    """The same of a broker: over one connection, its queues chosen once."""
    client, product, queues = JolokiaClient(broker), ARTEMIS, broker.queues
    names = client.ask(reading.name_searches(product), time.monotonic() + 30)
    asked = reading.requests(product, queues, reading.select_queues(product, queues, names))

    def poll() -> None:
        replies = client.ask([item.request for item in asked], time.monotonic() + 10)
        read_replies(asked, replies, product, queues, (0, 0))

    poll()
    yield poll
    client.close()


def throughput_ratio(url: str, address: str, poll: Poll) -> tuple[float, float]:
    """Messages a second while polled, by those while not: at a poll each phase, and told for the interval.

    Phases go by off, on, on, off, then the other way round, so that neither drift nor order favours one; each
    block of four is compared with itself, and of the blocks the median counts. Polls come more often than
    they would, so that their effect stands out of the noise; it is in proportion to their number.
    """
    ratios = []
    with helper("load", url, address) as process:
        time.sleep(3)
        for number in range(BLOCKS):
            rates: dict[bool, list[float]] = {True: [], False: []}
            order = (False, True, True, False) if number % 2 else (True, False, False, True)
            for polled in order:
                rates[polled].append(_rate(process, poll if polled else None))
            ratios.append(sum(rates[True]) / sum(rates[False]))
    measured = statistics.median(ratios)
    return measured, 1 - (1 - measured) * PHASE_SECONDS / INTERVAL_SECONDS


def _rate(process: subprocess.Popen[str], poll: Poll | None) -> float:
    count, began = _count(process)
    if poll:
        poll()
    time.sleep(max(0.0, began + PHASE_SECONDS - time.monotonic()))
    now_count, now = _count(process)
    return (now_count - count) / (now - began)


def broker_cpu_seconds(broker: Broker) -> float:
    """The broker's own CPU time for a poll, beside what it spends idling."""
    client = JolokiaClient(broker)
    system = Read("java.lang:type=OperatingSystem", ("ProcessCpuTime",))

    def spent() -> float:
        return float(client.ask([system], time.monotonic() + 30)[0]["value"]["ProcessCpuTime"]) / 1e9

    with broker_polls(broker) as poll:
        found = _cpu_for_a_poll(poll, spent)
    client.close()
    return found


def process_cpu_seconds(pid: int, poll: Poll) -> float:
    """Return the CPU seconds of a process so far."""

    def spent() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    return _cpu_for_a_poll(poll, spent)


def _cpu_for_a_poll(poll: Poll, spent: Callable[[], float]) -> float:
    for _ in range(5):  # the JVM warms up
        poll()
    began, first = time.monotonic(), spent()
    for _ in range(CPU_POLLS):
        poll()
    polled_seconds, used = time.monotonic() - began, spent() - first
    first = spent()
    time.sleep(2)
    idle = (spent() - first) / 2
    return max(0.0, used - idle * polled_seconds) / CPU_POLLS


def _count(process: subprocess.Popen[str]) -> tuple[int, float]:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    count, at = line(process).split()
    return int(count), float(at)


def line(process: subprocess.Popen[str]) -> str:
    """Return the next line that a helper process prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def helper(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start _many_routers.py as a process."""
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
