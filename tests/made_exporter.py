"""An exporter fed with made rows and served over HTTP, as `export` and `run` serve it."""

from __future__ import annotations

import time
import urllib.request
from typing import Any

from helpers import free_port
from made_rows import LENGTH, START
from prometheus_client import CollectorRegistry

from collectors.config.load import parse
from collectors.contract.telemetry import Telemetry
from deploy.parts.results_server import serve_results
from streaming.exporter import Exporter

TEXT = """\
version: 1
site: here
endpoints: {east: {url: "amqp://e:5672", mesh: prod}, west: {url: "amqp://w:5672", mesh: prod}}
paths: {east-west: {from: east, to: west, address: inflight/east-west}}
slos:
  - {paths: "*", delivered: 99.9%}
  - {paths: "*", latency: 50ms, share: 99%}
"""


class Served:
    """An exporter and its server; feed `exporter`, and close this at the end.

    It may be served again on the same port.
    """

    def __init__(self) -> None:
        self.port = free_port()
        self.config = parse(TEXT, "test.yaml")
        self.start()

    def start(self) -> None:
        """Replace the exporter by a new one, which has counted nothing."""
        registry = CollectorRegistry()
        self.exporter = Exporter(self.config, registry)
        self._server = serve_results(self.exporter, registry, f"127.0.0.1:{self.port}")
        self.url = self._server.url

    def close(self) -> None:
        self._server.close()

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as answer:  # noqa: S310 -- of this test
            text: str = answer.read().decode()
        return text

    def metric(self, name: str, **labels: str) -> float:
        """Return the value of the one series that has these labels among its own."""
        for line in self.get("/metrics").splitlines():
            if line.startswith(f"inflight_{name}{{") and all(f'{k}="{v}"' in line for k, v in labels.items()):
                return float(line.rsplit(" ", 1)[1])
        raise AssertionError(f"no series {name} {labels}")

    def put_router(self, target: str, entity: str, rows: list[dict[str, Any]], poll: int = 1) -> None:
        self.exporter.apply_router(_record(target, entity, rows, poll))

    def put_broker(self, target: str, entity: str, rows: list[dict[str, Any]], poll: int = 1) -> None:
        self.exporter.apply_broker(_record(target, entity, rows, poll))

    def put_line(self, *, b_up: bool = True) -> None:
        """Feed a poll of routers A, B and C in a line, and of a broker with two queues and two links."""
        routers = [{"kind": "router", "router": name, "up": b_up or name != "B"} for name in "ABC"]
        routers[2]["reason"] = None if b_up else "cut off from A"
        edges = [{"kind": "edge", "source": a, "target": b, "up": b_up, "cost": 1} for a, b in ("AB", "BC")]
        self.put_router("", "mesh", routers + edges)
        for name, peer in (("A", "B"), ("B", "A"), ("C", "B")):
            who = {"router": name, "mode": "interior", "flavour": "dispatch", "version": "1.19.0"}
            self.put_router(name, "router", [who])
            link = {"peer": peer, "direction": "out", "type": "inter-router", "deliveries_added": 50}
            self.put_router(name, "link", [link | {"undelivered": 3, "unsettled": 4}])
        queues = [
            {"queue": "orders", "address": "orders", "messages": 12, "consumers": 0, "added_added": 10},
            {"queue": "audit", "address": "audit", "messages": 0, "consumers": 2, "acknowledged_added": 5},
        ]
        self.put_broker("artemis", "queue", queues)
        bridge = {
            "kind": "bridge",
            "link": "orders-to-two",
            "to": "two",
            "state": "down",
            "up": False,
        }
        mirror = {"kind": "mirror", "link": "two", "to": "two:61616", "state": "up", "up": True}
        links = [
            mirror | {"messages": 0, "delivering": 0, "acknowledged": 7, "acknowledged_added": 5},
            bridge | {"messages": 12, "delivering": None, "acknowledged": None, "acknowledged_added": 0},
        ]
        self.put_broker("artemis", "broker_link", links)


def recent() -> int:
    """Return the number of the window that ended last, whose rows are fresh."""
    return (time.time_ns() - START) // LENGTH - 1


def _record(target: str, entity: str, rows: list[dict[str, Any]], poll: int) -> Telemetry:
    return Telemetry("here", "prod", target, entity, time.time_ns(), 5_000_000_000, poll, rows)
