"""An exporter with its own clock, and its values by series."""

from __future__ import annotations

from made_rows import SECOND, START
from prometheus_client import CollectorRegistry, generate_latest

from collectors.config.load import parse
from collectors.config.model import Config
from collectors.contract.window_rows import WindowRow
from streaming.exporter import Exporter

TEXT = """\
version: 1
site: here
endpoints: {east: {url: "amqp://e:5672", mesh: prod}, west: {url: "amqp://w:5672", mesh: prod}}
defaults: {horizon: 30m}
paths: {east-west: {from: east, to: west, address: inflight/east-west}}
slos:
  - {paths: "*", delivered: 99.9%}
  - {paths: east-west, latency: 5ms, share: 99%}
"""


class Made:
    """An exporter, its clock, and its values by series."""

    def __init__(self, text: str = TEXT) -> None:
        self.config: Config = parse(text, "test.yaml")
        self.now_ns = START + 60 * SECOND
        self.start()

    def start(self) -> None:
        self.registry = CollectorRegistry()
        self.exporter = Exporter(self.config, self.registry, lambda: self.now_ns)

    def feed(self, *rows: WindowRow) -> None:
        for row in rows:
            self.exporter.apply_window(row)

    def text(self) -> str:
        return generate_latest(self.registry).decode() + self.exporter.render()

    def values(self, name: str) -> dict[str, float]:
        """Return the values by the text of the labels other than mesh and path."""
        found = {}
        for line in self.text().split("\n"):  # names may have other separators of lines
            if line.startswith((f"inflight_{name}{{", f"inflight_{name} ")):
                series, _, value = line.rpartition(" ")
                _, _, labels = series.partition("{")
                rest = labels.removesuffix("}").split(",")
                found[",".join(e for e in rest if not e.startswith(("mesh=", "path=")))] = float(value)
        return found

    def value(self, name: str, labels: str = "") -> float | None:
        return self.values(name).get(labels)
