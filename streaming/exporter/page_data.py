"""What the live page and the terminal show, as JSON; all durations and times are in seconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from collectors.contract.events import Event
from collectors.contract.window_rows import CLASSES, Latency, LiveRow, WindowRow
from streaming.exporter.core import Exporter
from streaming.exporter.episodes import Where
from streaming.exporter.error_budget import ErrorBudget
from streaming.exporter.event_effects import Effect
from streaming.exporter.objectives import Objective
from streaming.exporter.path import Path, Point
from streaming.states import RECENT_SECONDS, WORST_FIRST

VERSION: Final = 1
EVENTS_SHOWN: Final = 20
_STATES: Final = [
    {"word": state.word, "rule": state.rule, "rank": state.rank, "colour": state.colour}
    for state in WORST_FIRST
]
BESIDE: Final = ("late", "duplicate", "redelivered", "reordered", "foreign", "unexpected", "negative")

Json = dict[str, Any]


def snapshot(exporter: Exporter, not_ready: str | None = None) -> Json:
    """Return everything there is to show now; `not_ready` says why the counters may be behind."""
    with exporter.lock:
        now_ns = exporter.now_ns()
        effects = {event.key: effect for event, effect in exporter.effects_told()}
        return {
            "v": VERSION,
            "site": exporter.config.site,
            "now_seconds": now_ns / 1e9,
            "not_ready": not_ready,
            "classes": CLASSES,
            "states": _STATES,
            "paths": [_path(exporter, path, now_ns) for path in exporter.shown()],
            "events": [
                {
                    "at_seconds": event.at_ns / 1e9,
                    "until_seconds": _seconds(event.until_ns),
                    "kind": event.kind,
                    "paths": list(event.paths),
                    "text": event.text,
                    "do": event.do,
                    "what": event.what,
                    "effect": _effect(effects.get(event.key)),
                }
                for event in _told_once(exporter.events)[-EVENTS_SHOWN:]
            ],
            **exporter.network.as_json(now_ns),
        }


def _told_once(events: Iterable[Event]) -> list[Event]:
    """Return the events without those that were told again with their end."""
    ended = {event.key for event in events if event.until_ns is not None}
    return [e for e in events if e.until_ns is not None or e.key not in ended]


def _effect(effect: Effect | None) -> Json | None:
    """Return what the event did, or None: of maintenance, and of what is long over."""
    if effect is None:
        return None
    return {
        "detected_seconds": _seconds(effect.detected_ns),
        "recovered_seconds": _seconds(effect.recovered_ns),
        "touched_paths": effect.touched,
        "recovered_paths": effect.recovered,
        "lost": effect.lost,
    }


def _path(exporter: Exporter, path: Path, now_ns: int) -> Json:
    state, reason = exporter.diagnose(path, now_ns)
    counts, live, window = path.counters.counts, path.live, path.window
    return {
        "name": path.name,
        **path.labels._asdict(),
        "state": state.word,
        "state_rank": state.rank,
        "state_text": reason,
        "maintenance": exporter.in_maintenance(path.name, now_ns, now_ns + 1),
        "response": _response(live, window),
        "window": _window(window) if window else None,
        "rate": None if path.rate is None else round(path.rate, 1),
        "sent": counts["sent"],
        "classes": {name: counts[f"class.{name}"] for name in CLASSES},
        "reclassified": {key[6:]: n for key, n in counts.items() if key.startswith("moved.") and n},
        "beside": {name: counts[name] for name in BESIDE},
        "unsent": {key[7:]: n for key, n in counts.items() if key.startswith("unsent.")},
        "pending": live["pending"] if live else 0,
        "suspect": live["suspect"] if live else 0,
        "outage_seconds": path.outage_ns / 1e9,
        "last_received_seconds": _seconds(path.last_received_ns),
        "spark": [_spark(point) for point in path.history],
        "spark_missing": [point.sent - point.classes.get("received", 0) for point in path.history],
        "slos": [_objective(path, slo) for slo in path.objectives],
        "where": where(path, now_ns),
    }


def where(path: Path, now_ns: int) -> Json | None:
    """Return which hop is to blame for the newest trouble of the path: missing messages before slow ones."""
    found = path.episodes.newest(now_ns, "loss") or path.episodes.newest(now_ns, "slow")
    return None if found is None else _where(found, now_ns)


def _where(found: Where, now_ns: int) -> Json:
    return {
        **{name: getattr(found, name) for name in ("kind", "sentence", "hop", "hop_kind", "at", "to")},
        **{name: getattr(found, name) for name in ("cause", "said", "exact", "final", "open")},
        "from_seconds": found.from_ns / 1e9,
        "to_seconds": found.to_ns / 1e9,
        "now": found.open or found.to_ns >= now_ns - RECENT_SECONDS * 10**9,
    }


def _objective(path: Path, slo: Objective) -> Json:
    counts, budget = path.counters.counts, path.counters.budgets.get(slo.name, ErrorBudget())
    return {
        "slo": slo.name,
        "objective": slo.ratio,
        "bound_seconds": _seconds(slo.bound_ns),
        "total": counts.get(f"slo.{slo.name}.total", 0),
        "good": counts.get(f"slo.{slo.name}.good", 0),
        "budget_left": budget.left,
        "overspent_since_seconds": _seconds(budget.overspent_since_ns),
    }


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e9


def _response(live: LiveRow | None, window: WindowRow | None) -> Json | None:
    """Return the newest percentiles; `at_least` names those that messages under way may still raise."""
    if live and live["response"]:
        found: Json = {name: ns / 1e9 for name, ns in live["response"].items()}
        return {**found, "at_least": live["lower_bound"], "live": True}
    if window and window["response"]:
        return {**(_latency(window["response"]) or {}), "at_least": [], "live": False}
    return None


def _window(row: WindowRow) -> Json:
    jitter, clock = row["jitter"], row["clock"]
    return {
        "end_seconds": (row["window_start_ns"] + row["window_ns"]) / 1e9,
        "length_seconds": row["window_ns"] / 1e9,
        "revision": row["revision"],
        "complete": row["complete"],
        "flags": row["flags"],
        "sent": row["sent"],
        "classes": {name: row["classes"].get(name, 0) for name in CLASSES},
        "response": _latency(row["response"]),
        "service": _latency(row["service"]),
        "jitter": {name: ns / 1e9 for name, ns in jitter["percentiles"].items()}
        | {"max": max(abs(jitter["max_ns"]), abs(jitter["min_ns"])) / 1e9}
        if jitter and jitter["count"]
        else None,
        "clock": {"offset_seconds": clock["offset_ns"] / 1e9, "bound_seconds": clock["bound_ns"] / 1e9}
        if clock
        else None,
        "routes": row["routes"],
    }


def _latency(latency: Latency | None) -> Json | None:
    if latency is None or not latency["count"]:
        return None
    percentiles = {name: ns / 1e9 for name, ns in latency["percentiles"].items()}
    return {**percentiles, "max": latency["max_ns"] / 1e9, "mean": latency["mean_ns"] / 1e9}


def _spark(point: Point) -> float | None:
    """Return the p99, or the maximum of a window with too few messages for one, to the microsecond."""
    ns = point.p99_ns if point.p99_ns is not None else point.max_ns
    return None if ns is None else round(ns / 1e9, 6)
