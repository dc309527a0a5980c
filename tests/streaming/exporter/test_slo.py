"""Which objectives a path has, and by which names."""

from __future__ import annotations

from collectors.config.load import parse
from streaming.exporter.objectives import Objective, objectives

TEXT = """\
version: 1
site: here
endpoints: {east: {url: "amqp://e:5672"}, west: {url: "amqp://w:5672"}}
paths:
  orders: {from: east, to: west, address: a}
  news: {from: east, to: [east, west], address: b}
slos:
  - {paths: "*", delivered: 99.9%}
  - {paths: [news], latency: 50ms, share: 99%}
  - {paths: [news], latency: 10ms, share: 90%}
  - {paths: [news], latency: 10ms, share: 90%}
"""


def test_the_first_of_a_kind_has_the_bare_name() -> None:
    """Static rules know `delivery` and `latency`; further ones tell bound and share, repeats are one."""
    config = parse(TEXT, "test.yaml")
    delivery = Objective("delivery", "delivery", 0.999, None)
    assert objectives(config, "orders", "orders") == (delivery,)
    assert objectives(config, "news/west", "news") == (
        delivery,
        Objective("latency", "latency", 0.99, 50_000_000),
        Objective("latency-10ms-90%", "latency", 0.9, 10_000_000),
    )
    assert objectives(config, "guest", "guest") == (delivery,)
