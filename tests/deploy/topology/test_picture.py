"""The picture and the text: everything is on them, and nothing stands on anything else."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

import pytest

from deploy.topology import load, shapes
from deploy.topology.mistakes import Source
from deploy.topology.plan import Plan
from deploy.topology.show import picture, text

SVG = "{http://www.w3.org/2000/svg}"


def plan(shape: str, count: int) -> Plan:
    names = shapes.names(count)
    stores = [("store", None), ("ledger", names[0]), ("third", names[0])]
    return load.from_shape(shape, names, stores).plan


def centres(root: ET.Element) -> list[tuple[float, float]]:
    routers = [e for e in root.iter(f"{SVG}circle") if e.get("class") in {"interior", "edge"}]
    found = [(float(e.get("cx", "")), float(e.get("cy", ""))) for e in routers]
    brokers = (e for e in root.iter(f"{SVG}rect") if e.get("class") == "broker")
    return found + [
        (float(e.get("x", "")) + float(e.get("width", "")) / 2, float(e.get("y", "")) + 13) for e in brokers
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 12, 50])
@pytest.mark.parametrize("shape", sorted(shapes.SHAPES))
def test_a_picture_is_readable(shape: str, count: int) -> None:
    """All names and links are there, parts keep their distance, and all lies within the frame."""
    drawn = plan(shape, count)
    root = ET.fromstring(picture.svg(drawn))  # noqa: S314 -- our own
    texts = [e.text for e in root.iter(f"{SVG}text")]
    assert {*drawn.routers, *drawn.brokers} <= {*texts}
    assert len([*root.iter(f"{SVG}line")]) == len({frozenset(link[:2]) for link in drawn.links()})
    points = centres(root)
    assert len(points) == count + 3
    for number, one in enumerate(points):
        for other in points[:number]:
            assert math.dist(one, other) > 40, (one, other)
    left, top, width, height = map(float, root.get("viewBox", "").split())
    for x, y in points:
        assert left + 30 < x < left + width - 30
        assert top + 20 < y < top + height - 60


def test_costs_edges_and_several_connections() -> None:
    value = {
        "version": 1,
        "routers": {"A": {}, "B": {}, "E": {"mode": "edge"}},
        "links": [{"from": "B", "to": "A", "cost": 7, "redundancy": 3}, {"from": "E", "to": "A"}],
    }
    drawn = picture.svg(load.made(value, Source("t")).plan)
    assert re.findall(r'class="cost"[^>]*>(\d+)<', drawn) == ["7"]
    assert re.findall(r'<line class="([^"]*)"', drawn) == ["link several", "link edge-link"]
    legend = "circle: router · dashed: edge · number: cost, where not 1 · thick: several connections"
    assert legend in drawn


def test_the_text() -> None:
    assert [*text.lines(plan("line", 3))] == [
        "line: 3 routers (qdrouterd), 3 brokers, 5 links",
        "",
        "router  mode      clients         listens to          dials",
        "A       interior  127.0.0.1:5672  inter-router 55672  ledger:61617, third:61618",
        "B       interior  127.0.0.1:5673  inter-router 55673  A:55672",
        "C       interior  127.0.0.1:5674  –                   B:55673, store:61616",
        "",
        "broker  AMQP             queues           sends to",
        "store   127.0.0.1:61616  inflight.store   –",
        "ledger  127.0.0.1:61617  inflight.ledger  –",
        "third   127.0.0.1:61618  inflight.third   –",
        "",
        "longest way: A to store, cost 3",
        "others are cut off without: A, B, C",
        "the only way between its ends: A – ledger, A – third, A – B, B – C, C – store",
    ]
