"""The metric families of a path: for each name of the catalogue, where its values come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from collectors.contract.metrics import CATALOGUE
from collectors.contract.records import UNSENT_REASONS
from collectors.contract.window_rows import CLASSES, Latency
from collectors.http.metric_factory import label_text
from streaming.exporter.episodes import Key
from streaming.exporter.moves import MOVES, RARE_MOVES
from streaming.exporter.path import Path

Value = tuple[str, float | int]  # labels beside mesh and path, each with a comma before it; the value
Values = Callable[[Path], Iterable[Value]]
QUANTILES: Final = {"50": "0.5", "99": "0.99"}  # by their names in rows


@lru_cache(maxsize=4_096)
def _labels(name: str, *values: str) -> str:
    """Return a metric's labels beside mesh and path; their values come from the code or the config."""
    return "," + label_text(name, values, first=2)


def _info(path: Path) -> Iterator[Value]:
    labels = path.labels
    values = (labels.address, labels.source, labels.target, labels.via, labels.settlement)
    yield _labels("path_info", *values), 1


def _plain(key: str) -> Values:
    return lambda path: [("", path.counters.counts[key])]


def _seconds(key: str) -> Values:
    return lambda path: [("", path.counters.counts[key] / 1e9)]


def _labelled(metric: str, prefix: str, names: Sequence[str]) -> Values:
    keys = [(_labels(metric, name), f"{prefix}.{name}") for name in names]
    return lambda path: [(extra, path.counters.counts[key]) for extra, key in keys]


def _moves(path: Path) -> Iterator[Value]:
    seen = [move for move in RARE_MOVES if f"moved.{move}" in path.counters.counts]
    for move in (*MOVES, *seen):
        source, _, target = move.partition(">")
        labels = _labels("path_reclassified_messages_total", source, target)
        yield labels, path.counters.counts[f"moved.{move}"]


def _window_latency(path: Path) -> Iterator[Value]:
    if path.window is not None:
        yield from _quantiles("response", path.window["response"])
        yield from _quantiles("service", path.window["service"])


def _quantiles(basis: str, latency: Latency | None) -> Iterator[Value]:
    if latency is None or not latency["count"]:
        return
    for name, quantile in QUANTILES.items():
        if name in latency["percentiles"]:
            yield _labels("path_window_latency_seconds", basis, quantile), latency["percentiles"][name] / 1e9
    yield _labels("path_window_latency_seconds", basis, "1"), latency["max_ns"] / 1e9


def _window_jitter(path: Path) -> Iterator[Value]:
    jitter = path.window["jitter"] if path.window else None
    if jitter and jitter["count"]:
        for name, quantile in QUANTILES.items():
            if name in jitter["percentiles"]:
                yield _labels("path_window_jitter_seconds", quantile), jitter["percentiles"][name] / 1e9
        largest_ns = max(abs(jitter["max_ns"]), abs(jitter["min_ns"]))
        yield _labels("path_window_jitter_seconds", "1"), largest_ns / 1e9


def _jitter_max(path: Path) -> Iterator[Value]:
    jitter = path.window["jitter"] if path.window else None
    if jitter and jitter["count"]:
        yield "", jitter["max_ns"] / 1e9


def _jitter_min(path: Path) -> Iterator[Value]:
    jitter = path.window["jitter"] if path.window else None
    if jitter and jitter["count"]:
        yield "", jitter["min_ns"] / 1e9


def _window_messages(path: Path) -> Iterator[Value]:
    if path.window is not None:
        for name in CLASSES:
            yield _labels("path_window_messages", name), path.window["classes"].get(name, 0)


def _window_end(path: Path) -> Iterator[Value]:
    if path.window is not None:
        yield "", (path.window["window_start_ns"] + path.window["window_ns"]) / 1e9


def _last_received(path: Path) -> Iterator[Value]:
    if path.last_received_ns is not None:
        yield "", path.last_received_ns / 1e9


def _clock_offset(path: Path) -> Iterator[Value]:
    if path.window is not None and path.window["clock"] is not None:
        yield "", path.window["clock"]["offset_ns"] / 1e9


def _clock_bound(path: Path) -> Iterator[Value]:
    if path.window is not None and path.window["clock"] is not None:
        yield "", path.window["clock"]["bound_ns"] / 1e9


def _slo(metric: str, which: str) -> Values:
    def values(path: Path) -> Iterator[Value]:
        for slo in path.objectives:
            yield _labels(metric, slo.name), path.counters.counts.get(f"slo.{slo.name}.{which}", 0)

    return values


def _slo_ratio(path: Path) -> Iterator[Value]:
    for slo in path.objectives:
        yield _labels("path_slo_objective_ratio", slo.name), slo.ratio


def _slo_bound(path: Path) -> Iterator[Value]:
    for slo in path.objectives:
        if slo.bound_ns is not None:
            yield _labels("path_slo_bound_seconds", slo.name), slo.bound_ns / 1e9


def _budget_left(path: Path) -> Iterator[Value]:
    for slo in path.objectives:
        budget = path.counters.budgets.get(slo.name)
        if budget is not None and budget.left is not None:
            yield _labels("path_slo_budget_left_ratio", slo.name), budget.left


def _overspent_since(path: Path) -> Iterator[Value]:
    for slo in path.objectives:
        budget = path.counters.budgets.get(slo.name)
        since_ns = (budget and budget.overspent_since_ns) or 0
        labels = _labels("path_slo_overspent_since_timestamp_seconds", slo.name)
        yield labels, since_ns / 1e9 if since_ns else 0


def _of_hops(metric: str, found: Mapping[Key, int], *more: str) -> Iterator[Value]:
    for key, count in found.items():
        yield "," + label_text(metric, (*key, *more), first=2), count


def _unexplained(path: Path) -> Iterator[Value]:
    for of, count in path.episodes.unexplained.items():
        yield _labels("path_unexplained_messages_total", of), count


def _reexplained(path: Path) -> Iterator[Value]:
    name = "path_reexplained_messages_total"
    yield from _of_hops(name, path.episodes.added, "added")
    yield from _of_hops(name, path.episodes.removed, "removed")


VALUES: Final[dict[str, Values]] = {
    "path_info": _info,
    "path_sent_messages_total": _plain("sent"),
    "path_messages_total": _labelled("path_messages_total", "class", CLASSES),
    "path_reclassified_messages_total": _moves,
    "path_late_messages_total": _plain("late"),
    "path_duplicate_messages_total": _plain("duplicate"),
    "path_redelivered_messages_total": _plain("redelivered"),
    "path_reordered_messages_total": _plain("reordered"),
    "path_foreign_messages_total": _plain("foreign"),
    "path_unexpected_messages_total": _plain("unexpected"),
    "path_negative_latency_messages_total": _plain("negative"),
    "path_unsent_messages_total": _labelled("path_unsent_messages_total", "unsent", UNSENT_REASONS),
    "path_sent_bytes_total": _plain("sent_bytes"),
    "path_received_bytes_total": _plain("received_bytes"),
    "path_response_latency_seconds": lambda _: [],  # histograms are written from `PathCounters.histograms`
    "path_service_latency_seconds": lambda _: [],
    "path_window_latency_seconds": _window_latency,
    "path_window_jitter_seconds": _window_jitter,
    "path_window_jitter_max_seconds": _jitter_max,
    "path_window_jitter_min_seconds": _jitter_min,
    "path_window_messages": _window_messages,
    "path_window_end_timestamp_seconds": _window_end,
    "path_last_received_timestamp_seconds": _last_received,
    "path_suspect_messages": lambda path: [("", path.live["suspect"] if path.live else 0)],
    "path_pending_messages": lambda path: [("", path.live["pending"] if path.live else 0)],
    "path_outage_seconds": lambda path: [("", path.outage_ns / 1e9)],
    "path_outage_seconds_total": _seconds("outage_ns"),
    "path_windows_total": _labelled("path_windows_total", "windows", ("complete", "incomplete")),
    "path_clock_offset_seconds": _clock_offset,
    "path_clock_error_bound_seconds": _clock_bound,
    "path_slo_messages_total": _slo("path_slo_messages_total", "total"),
    "path_slo_good_messages_total": _slo("path_slo_good_messages_total", "good"),
    "path_slo_objective_ratio": _slo_ratio,
    "path_slo_bound_seconds": _slo_bound,
    "path_slo_budget_left_ratio": _budget_left,
    "path_slo_overspent_since_timestamp_seconds": _overspent_since,
    "path_explained_messages_total": lambda path: _of_hops(
        "path_explained_messages_total", path.episodes.explained
    ),
    "path_unexplained_messages_total": _unexplained,
    "path_reexplained_messages_total": _reexplained,
}
FAMILIES: Final = tuple(CATALOGUE[name] for name in VALUES)
