"""Replays a capture with rows added to the tables of routers; prints what became of them as JSON."""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # what tests share

import collectors.router
from collectors.contract.metrics import CATALOGUE

ROWS = {
    "ingressHistogram        ingress_histogram    counts": (
        "redeliveredCount redelivered count router_link_redelivered_total",
        "slowestNs slowest number router_link_slowest_seconds /1000000000 max",
    ),
    "cost              cost     number": ("priority priority number router_connector_priority",),
}
METRICS = {
    "router_link_redelivered_total": "router_link_deliveries_total",
    "router_single_link_redelivered_total": "router_single_link_deliveries_total",
    "router_link_slowest_seconds": "router_link_credit",
    "router_connector_priority": "router_connector_up",
}


def main() -> None:
    for name, like in METRICS.items():
        CATALOGUE[name] = dataclasses.replace(CATALOGUE[like], name=name)
    _load_schema()
    from replay import Replay, play  # noqa: PLC0415 -- the schema has to be there first

    from collectors.polling.metric_cache import MetricCache  # noqa: PLC0415
    from collectors.router import metrics, records, schema  # noqa: PLC0415
    from collectors.router.counters import RouterCounters  # noqa: PLC0415
    from collectors.router.mesh_status import MeshStatus  # noqa: PLC0415
    from collectors.router.poll import Poll  # noqa: PLC0415
    from collectors.router.snapshot import take_snapshot  # noqa: PLC0415

    replay, counters, asked = Replay("qdrouterd"), RouterCounters(("*",)), set()
    for number in range(2):
        for entity, added in (
            ("router.link", {"redeliveredCount": 7 + 5 * number, "slowestNs": 2_500_000_000}),
            ("connector", {"priority": 4}),
        ):
            rows = [row | added for row in replay.rows("QDR.C", entity)]
            replay.capture["QDR.C"][entity]["body"]["attributeNames"] = [*rows[0]]
            replay.replace("QDR.C", entity, rows)
        poll = Poll(schema.DISPATCH, {}, itertools.count())
        play(
            replay,
            poll,
            lambda request, answer: (
                asked.update(request.body["attributeNames"] if request.body else ()),
                [answer],
            )[1],
            now_ns=1 + number * 5_000_000_000,
        )
        seen = take_snapshot(poll.asked["QDR.C"], 1_800_000_000_000_000_000, 0)
        counted = counters.count(seen)
    cache = MetricCache()
    cache.put("m", metrics.of_router("m", seen, counted, ("*",)))
    status = MeshStatus("m", 0, 1, {"QDR.C": seen}, {"QDR.C": counted}, {"QDR.C"})
    rows = [
        row for record in records.of_poll("here", status, 1) if record.entity == "link" for row in record.rows
    ]
    shown = [
        line for line in cache.render().splitlines() if any(f"inflight_{name}{{" in line for name in METRICS)
    ]
    sys.stdout.write(json.dumps({"asked": sorted(asked), "shown": shown, "links": rows}))


def _load_schema() -> None:
    """As the project's own, with the rows of `ROWS` below others."""
    spec = importlib.util.find_spec("collectors.router.schema")
    assert spec
    assert spec.origin
    text = Path(spec.origin).read_text()
    for row, added in ROWS.items():
        assert row in text, f"no row {row!r}"
        text = text.replace(row, "\n".join((row, *added)))
    module = importlib.util.module_from_spec(spec)
    sys.modules["collectors.router.schema"] = module
    exec(compile(text, spec.origin, "exec"), module.__dict__)  # noqa: S102 -- our own file
    collectors.router.schema = module  # type: ignore[attr-defined]


main()
