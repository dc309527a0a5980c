"""The table of what is monitored says neither less nor other than the code."""

from __future__ import annotations

import re
from pathlib import Path

from collectors.broker import schema as broker
from collectors.broker.products import PRODUCTS
from collectors.contract.metrics import CATALOGUE
from collectors.router import schema as router

TEXT = (Path(__file__).parents[2] / "collectors" / "MONITORING.md").read_text()
WORDS = {*re.findall(r"`([^`]+)`", TEXT)}


def test_every_attribute_asked_for_is_told() -> None:
    """A newcomer finds each by the name the router or broker has for it."""
    routers = {
        c.remote_name
        for f in router.FLAVOURS.values()
        for e in f.entities
        for c in e.attributes
        if c.remote_name
    }
    beans = [*broker.JVM, *(b for p in PRODUCTS for b in (*p.beans, *p.links.beans))]
    brokers = {attribute.remote_name for bean in beans for attribute in bean.attributes}
    assert (routers | brokers) - WORDS == set()


def test_the_tables_name_metrics_of_the_catalogue() -> None:
    """A count is a counter, all else a gauge; counts are of routers, links, addresses and allocators."""
    entities = {entity for flavour in router.FLAVOURS.values() for entity in flavour.entities}
    beans = [*broker.JVM, broker.LINK, *(bean for product in PRODUCTS for bean in product.beans)]
    tables = [*(e.attributes for e in entities), *(bean.attributes for bean in beans)]
    for attribute in [a for table in tables for a in table if a.metric]:
        assert CATALOGUE[attribute.metric].kind == ("counter" if attribute.type == "count" else "gauge")
    summed = {router.ROUTER, router.METRICS, router.LINK, router.ADDRESS, router.ALLOCATOR}
    assert not [a.remote_name for entity in entities - summed for a in entity.counts]


def test_every_metric_named_there_exists() -> None:
    """And each one of routers, meshes, brokers and collectors is named there."""
    prefixes = ("router_", "mesh_", "broker_", "collector_")
    named = {word for word in WORDS if word.startswith(prefixes) and not word.endswith("…")}
    there = {name for name in CATALOGUE if name.startswith(prefixes)}
    assert named - there == set()
    assert there - named <= {"mesh_up"}
