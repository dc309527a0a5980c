"""From probe to /metrics, through real Kafka, Artemis and Spark: exactly what was sent is what is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import wait_until
from prometheus_client.parser import text_string_to_metric_families

from deploy.demo import audit
from deploy.demo.stack import Stack
from deploy.embedded import http
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.lab.lab import PREFIX
from deploy.lab.routers import StandIn

pytestmark = pytest.mark.e2e

COUNTS = {"direct": 400, "orders": 150, "presettled": 700, "fanout": 150}
SENT = {"direct": 400, "orders": 150, "presettled": 700, "fanout/B": 150, "fanout/C": 150}
DROPPED = 37
BOUND_SECONDS = 120


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The demonstration's stack with known numbers of messages, some of which the middle router drops."""
    with Supervisor(tmp_path_factory.mktemp("end-to-end")) as supervisor:
        stack = Stack(supervisor, lambda _: None, stand_ins=True, counts=COUNTS)
        stack.start_network()
        middle = stack.lab.routers["B"]
        assert isinstance(middle, StandIn)
        rule = {
            "kind": "drop",
            "address": "inflight/presettled",
            "settlement": "presettled",
            "count": DROPPED,
        }
        middle.tell(rule)
        stack.start_parts()
        wait_until(
            lambda: _by_path(stack, "inflight_path_sent_messages_total") == SENT,
            BOUND_SECONDS,
            f"path_sent_messages_total to be {SENT}",
            every_seconds=0.5,
        )
        yield stack


def _by_path(stack: Stack, name: str, **labels: str) -> dict[str, float]:
    text = http.get(f"{stack.url('export')}/metrics")
    return {
        sample.labels["path"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    }


def test_what_the_network_dropped_is_lost_and_nothing_else(stack: Stack) -> None:
    """Presettled messages that a router dropped are missing by their exact number, on their path alone.

    That all were sent, and no more, was waited for.
    """
    lost = _by_path(stack, "inflight_path_messages_total", **{"class": "lost"})
    assert lost == {path: DROPPED if path == "presettled" else 0 for path in SENT}
    received = _by_path(stack, "inflight_path_messages_total", **{"class": "received"})
    assert received == {path: count - lost[path] for path, count in SENT.items()}


def test_the_books_of_both_topics_agree(stack: Stack) -> None:
    """Ledgers and final rows, read from Kafka by themselves, hold the same numbers."""
    found = audit.read(stack.lab.kafka.bootstrap, PREFIX)
    assert {path: totals.ledger_sent for path, totals in found.paths.items()} == SENT
    assert {path: totals.sent for path, totals in found.paths.items()} == SENT
    assert sum(totals.unaccounted for totals in found.paths.values()) == 0
    assert found.junk == 0


def test_every_part_ends_when_asked(stack: Stack) -> None:
    """SIGTERM ends each of Inflight's own parts by itself, with status 0; after that there is no test."""
    supervisor = stack._supervisor  # noqa: SLF001 -- the test asks of processes, not of the stack
    for name in ("probe", "collect", "stream", "export"):
        process = next(found for found in supervisor.processes if found.spec.name == name)
        process._popen.terminate()  # noqa: SLF001 -- without the kill that `stop` falls back to
        assert process._popen.wait(timeout=10) == 0, f"{name}: {Path(process.log).read_text()[-500:]}"  # noqa: SLF001
