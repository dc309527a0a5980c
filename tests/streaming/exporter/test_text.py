"""The exposition: its golden text, what promtool says of it, and that it is the catalogue."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from attribution_rows import episode, hop, slow
from helpers import missing
from made_rows import SECOND, START, live, window
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from collectors.config.load import parse
from collectors.contract.events import Event
from collectors.contract.metrics import CATALOGUE
from deploy.parts.build_info import add_build_info
from streaming.exporter import Exporter

GOLDEN = Path(__file__).parents[2] / "fixtures" / "exposition.prom"
TEXT = """\
version: 1
site: here
endpoints: {east: {url: "amqp://e:5672", mesh: prod}, west: {url: "amqp://w:5672", mesh: prod}}
paths:
  east-west: {from: east, to: west, address: inflight/east-west}
  idle: {from: west, to: east, address: inflight/idle, presettled: true}
slos:
  - {paths: "*", delivered: 99.9%}
  - {paths: east-west, latency: 5ms, share: 99%}
  - {paths: east-west, latency: 50ms, share: 99.9%}
export: {service_histogram: true}
"""


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def exporter(registry: CollectorRegistry) -> Exporter:
    """A little of everything."""
    made = Exporter(parse(TEXT, "test.yaml"), registry, lambda: START + 30 * SECOND)
    values = [n * 50_000 for n in range(1, 201)]
    counts: dict[str, Any] = {
        "duplicate": 1,
        "redelivered": 2,
        "reordered": 3,
        "foreign": 4,
        "unexpected": 5,
        "negative": 6,
    }
    unsent = {"no_credit": 7, "no_connection": 8, "guard": 9, "stalled": 6}
    made.apply_window(
        window(number=0, values_ns=values, lost=3, refused=2, unobserved=1, outage_ns=800_000_000)
    )
    made.apply_window(window(number=1, values_ns=values, unsent=unsent, **counts))
    moved = {"lost>received": 2, "none>lost": 1}
    made.apply_window(
        window(
            number=0,
            values_ns=[*values, 1, 2],
            lost=2,
            refused=2,
            unobserved=1,
            revision=1,
            late=2,
            moves=moved,
        )
    )
    made.apply_window(window(number=2))
    made.apply_live(live(number=3, suspect=2))
    released = hop("B", 2, of="refused", cause="released")
    made.apply_attribution(episode(hops=[hop(said=2), released], unexplained_lost=1))
    made.apply_attribution(episode(revision=1, hops=[hop(said=1), released], unexplained_lost=1))
    made.apply_attribution(slow(number=2))
    made.apply_event(Event(START, START + 4 * SECOND, "fault", ("east-*",), "router B down", "kill", "B"))
    made.apply_window(window("guest/west", presettled=True, values_ns=[]))
    made.apply_event(Event(START, START + 90 * SECOND, "maintenance", ("guest/*",), "new cable"))
    return made


def test_the_exposition_is_the_golden_one(exporter: Exporter) -> None:
    """Byte for byte; UPDATE_GOLDEN=1 writes it anew, to be read before it is committed."""
    text = exporter.render()
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_promtool_finds_nothing(exporter: Exporter, registry: CollectorRegistry) -> None:
    """`promtool check metrics` is content with all that `inflight export` serves."""
    if shutil.which("promtool") is None:
        missing("promtool")
    add_build_info(registry, "exporter", exporter.config)
    text = generate_latest(registry).decode() + exporter.render()
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_holds_the_catalogue_and_nothing_else(exporter: Exporter, registry: CollectorRegistry) -> None:
    """Every family of paths and exporter is there, with its type, its help and exactly its labels."""
    add_build_info(registry, "exporter", exporter.config)
    text = generate_latest(registry).decode() + exporter.render()
    paths = ("paths, from final windows", "which hop, from rows of attribution")
    sections = ("every process", *paths, "the exporter")
    expected = {m.full_name: m for m in CATALOGUE.values() if m.section in sections}
    seen = set()
    for family in text_string_to_metric_families(text):
        name = next(n for n in (family.name, f"{family.name}_total") if n in expected and n not in seen)
        metric = expected[name]
        seen.add(name)
        kind = "gauge" if metric.kind == "info" else metric.kind
        assert (family.type, family.documentation) == (kind, metric.help)
        for sample in family.samples:
            assert sample.labels.keys() - {"le"} == {*metric.labels}, sample
    assert seen == expected.keys()
