"""Rows that name hops, for tests: an episode of five seconds in which C dropped 211 of 500, unless told."""

from __future__ import annotations

from typing import Any

from made_rows import LENGTH, SECOND, START

from collectors.contract.attribution_rows import AttributionRow, Hop, RouteStop


def hop(name: str = "C → receiver", said: int = 211, **fields: Any) -> Hop:
    """Return a hop that explains so many messages; a name like `A → B` is a link's, with `: ` a queue's."""
    queue, way = ": " in name, " → " in name
    at, _, to = name.partition(": " if queue else " → ")
    kind = "queue" if queue else "end" if to in ("receiver", "sender") else "link" if way else "router"
    made: dict[str, Any] = {
        "hop": name,
        "kind": kind,
        "at": at,
        "to": to,
        "of": "lost",
        "cause": "dropped",
        "lower": said,
        "upper": said,
        "said": said,
        "exact": False,
        "shared": False,
        "delay_ns": 0,
        "evidence": [f"droppedPresettled of {name} rose by {said}"],
    }
    row: Hop = made | fields  # type: ignore[assignment]  # the fields are those of a hop
    return row


def stop(name: str, into: int | None, out: int | None, lost: int = 0, cause: str = "") -> RouteStop:
    return {"hop": name, "into": into, "out": out, "lost": lost, "cause": cause}


def episode(path: str = "east-west", number: int = 0, **fields: Any) -> AttributionRow:
    """Return a row of the episode that begins with a path's window of this number.

    Sums are made of the hops, with `unexplained_lost` and `unexplained_refused` added.
    """
    hops: list[Hop] = fields.pop("hops", [hop()])
    unexplained_lost = fields.pop("unexplained_lost", 3)
    unexplained_refused = fields.pop("unexplained_refused", 0)
    said = {of: sum(h["said"] for h in hops if h["of"] == of) for of in ("lost", "refused")}
    start_ns = START + number * LENGTH
    made: dict[str, Any] = {
        "v": 1,
        "mesh": "prod",
        "path": path,
        "address": f"inflight/{path}",
        "kind": "loss",
        "episode_ns": start_ns,
        "revision": 0,
        "final": True,
        "open": False,
        "continued": False,
        "merged_into": None,
        "from_ns": start_ns,
        "to_ns": start_ns + LENGTH,
        "made_ns": start_ns + LENGTH + 12 * SECOND,
        "windows": [{"start_ns": start_ns, "revision": 0}],
        "sent": 500,
        "lost": said["lost"] + unexplained_lost,
        "refused": said["refused"] + unexplained_refused,
        "unobserved": 0,
        "unsent": 0,
        "suspect": 0,
        "hops": hops,
        "unexplained_lost": unexplained_lost,
        "unexplained_refused": unexplained_refused,
        "route": [
            stop("east → A", 500, 500),
            stop("A", 500, 500),
            stop("A → C", 500, 500),
            stop("C → receiver", 500, 289, 211, "dropped"),
        ],
        "not_exact": "traffic went on while the routers were asked",
        "slow": None,
        "sentence": "214 of 500 lost 22:13:20-25: 211 dropped at C → receiver, 3 unexplained",
    }
    row: AttributionRow = made | fields  # type: ignore[assignment]  # the fields are those of a row
    return row


def slow(path: str = "east-west", number: int = 0, **fields: Any) -> AttributionRow:
    """Return a row of an open slow episode: 38 of 40 ms wait in a queue, which is not final."""
    queue = hop("orders-a: inflight.orders", 0, cause="slow", of="late", delay_ns=38_000_000, upper=12_000)
    made: dict[str, Any] = {
        "kind": "slow",
        "final": False,
        "open": True,
        "hops": [queue | {"evidence": ["12,000 messages, 310,000/s out"]}],
        "unexplained_lost": 0,
        "slow": {"percentile": "95", "normal_ns": 3_000_000, "now_ns": 40_000_000},
        "sentence": "p95 3 → 40 ms: 38 ms waiting in orders-a: inflight.orders",
    }
    return episode(path, number, **(made | fields))
