"""Two collectors that poll the same mesh and brokers at once, as after a failover: one is listened to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from attribution.simulated import drive
from attribution.simulated.history import Item, simulate
from attribution.simulated.parts import MS

from collectors.contract.attribution_rows import AttributionRow
from collectors.contract.telemetry import Telemetry
from streaming.attribution import Attribution
from streaming.attribution.mesh_history import MOST_SPANS, MeshHistory


def twice(items: Sequence[Item], *, blind: bool) -> Iterator[Item]:
    """Yield each poll again as of another collector; a blind one sees no router at all."""
    for item in items:
        yield item
        value = item.value
        if isinstance(value, Telemetry):
            rows = (
                [{**row, "up": False} if "up" in row else row for row in value.rows] if blind else value.rows
            )
            stamps = {name: getattr(value, name) + 5 * MS for name in ("at_ns", "asked_ns", "answered_ns")}
            other = replace(value, run="another", poll=value.poll + 1_000, rows=rows, **stamps)
            yield replace(item, value=other)


def sums(rows: Sequence[AttributionRow]) -> list[tuple[str, int, list[tuple[str, str, int]]]]:
    return [
        (row["path"], row["lost"], [(hop["hop"], hop["cause"], hop["said"]) for hop in row["hops"]])
        for row in drive.last(rows)
    ]


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("fault", ["no_consumer", "no_credit", "middle_killed"])
def test_a_second_collector_makes_no_difference(fault: str, *, blind: bool) -> None:
    """Sums of a broker's queues are of one collector's run, and what one cannot reach is not down."""
    history = simulate(2, fault)
    alone = sums(drive.drive(history.places, history.items, Attribution))
    both = sums(drive.drive(history.places, list(twice(history.items, blind=blind)), Attribution))
    assert both == alone
    assert any(hops for _, _, hops in alone)


def test_a_router_that_goes_and_comes_is_kept_within_bounds() -> None:
    """The newest outages are kept, however often it does."""
    mesh = MeshHistory("prod")
    for poll in range(1, 3 * MOST_SPANS):
        rows = [{"kind": "router", "router": "B", "up": bool(poll % 2)}]
        at_ns = 1_700_000_000 * 1_000 * MS + poll * MS
        stamps = {"at_ns": at_ns, "asked_ns": at_ns, "answered_ns": at_ns}
        mesh.take(Telemetry("east", "prod", "", "mesh", interval_ns=MS, poll=poll, rows=rows, **stamps))
    assert len(mesh.routers["B"].spans) == MOST_SPANS
