"""Window and live rows for tests: a quiet five-second window unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hdrh.histogram import HdrHistogram

from collectors.contract.window_rows import Latency, LiveRow, WindowRow

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
LENGTH = 5 * SECOND


def latency(values_ns: Sequence[int]) -> Latency | None:
    """Return the latency of these values, computed by the hdrhistogram package."""
    if not values_ns:
        return None
    histogram = HdrHistogram(1, 3_600 * SECOND, 3)
    for value in values_ns:
        histogram.record_value(max(value, 0))
    ordered, n = sorted(values_ns), len(values_ns)
    shares = {"50": 0.5, "90": 0.9, "95": 0.95, "99": 0.99, "99.9": 0.999, "99.99": 0.9999}
    return {
        "count": n,
        "min_ns": ordered[0],
        "max_ns": ordered[-1],
        "mean_ns": sum(ordered) // n,
        "std_ns": 0,
        "percentiles": {
            name: ordered[min(n - 1, int(n * q))] for name, q in shares.items() if n * (1 - q) >= 0.999
        },
        "hdr": histogram.encode().decode(),
    }


def _about(path: str) -> dict[str, Any]:
    """Return the fields that rows of both kinds begin with."""
    return {
        "v": 1,
        "mesh": "prod",
        "path": path,
        "address": f"inflight/{path}",
        "source": "east",
        "target": "west",
        "presettled": False,
    }


def window(path: str = "east-west", number: int = 0, **fields: Any) -> WindowRow:
    """Return the row of a path's window by number; `values_ns` are latencies of received messages.

    `lost`, `refused` and `unobserved` are counts; any field of the row may be given as it is.
    """
    values_ns = fields.pop("values_ns", [2_000_000] * 50)
    lost, refused = fields.pop("lost", 0), fields.pop("refused", 0)
    unobserved = fields.pop("unobserved", 0)
    received = len(values_ns)
    sent = received + lost + refused + unobserved
    row: dict[str, Any] = _about(path) | {
        "window_start_ns": START + number * LENGTH,
        "window_ns": LENGTH,
        "rules": "0a1b2c3d",
        "revision": 0,
        "complete": not unobserved,
        "flags": [],
        "sent": sent,
        "classes": {"received": received, "refused": refused, "lost": lost, "unobserved": unobserved},
        "refused": {"rejected": 0, "released": refused, "modified": 0},
        "lost": {"accepted": lost, "presettled": 0, "unsettled": 0},
        "lost_detached": 0,
        "received_though_refused": 0,
        "moves": {},
        "late": 0,
        "duplicate": 0,
        "redelivered": 0,
        "reordered": 0,
        "foreign": 0,
        "unexpected": 0,
        "negative": 0,
        "due": sent,
        "unsent": {"no_credit": 0, "no_connection": 0, "guard": 0, "stalled": 0},
        "sent_bytes": sent * 256,
        "received_bytes": received * 256,
        "response": latency(values_ns),
        "service": latency(values_ns),
        "jitter": {
            "count": received,
            "percentiles": {"50": 100_000, "90": 300_000},
            "max_ns": 400_000,
            "min_ns": -500_000,
            "rfc3550_ns": 120_000,
        }
        if received
        else None,
        "outage_ns": 0,
        "outage_since_ns": None,
        "stalled_ns": 0,
        "clock": {"offset_ns": -1_000, "bound_ns": 20_000},
        "slowest": None,
        "routes": {},
        "members": [{"role": "sender", "name": "east-1", "run": "00" * 8}],
    }
    unknown = fields.keys() - row.keys()
    assert not unknown, unknown
    return row | fields  # type: ignore[return-value] # a row by construction


def live(path: str = "east-west", number: int = 0, **fields: Any) -> LiveRow:
    """Return the live row three seconds after the begin of the window of this number."""
    start_ns = START + number * LENGTH
    row: dict[str, Any] = _about(path) | {
        "at_ns": start_ns + 3 * SECOND,
        "appended_ns": start_ns + 3 * SECOND + SECOND // 10,
        "window_start_ns": start_ns,
        "window_ns": LENGTH,
        "sent": 30,
        "received": 29,
        "pending": 130,
        "suspect": 0,
        "oldest_pending_ns": start_ns - 10 * SECOND,
        "behind_ns": 0,
        "last_received_ns": start_ns + 2_900_000_000,
        "outage_since_ns": None,
        "duplicate": 0,
        "response": {"50": 2_000_000, "90": 3_000_000, "max": 4_000_000, "mean": 2_100_000},
        "lower_bound": ["90"],
        "ends": [
            {
                "role": "sender",
                "name": "east-1",
                "run": "00" * 8,
                "link": "attached",
                "peer": "A",
                "frontier_ns": start_ns,
            }
        ],
    }
    unknown = fields.keys() - row.keys()
    assert not unknown, unknown
    return row | fields  # type: ignore[return-value] # a row by construction
