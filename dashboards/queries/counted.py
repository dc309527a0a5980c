"""Counts over the shown time or a step of it, exactly: increase() stretches to the edges of a range."""

from __future__ import annotations

from dashboards.promql import expand


def messages_of_class(name: str, selector: str) -> str:
    """Messages of a class over the shown time, by mesh and path, with what revisions moved."""
    first = rise_since_start(f'path_messages_total{{{selector},class="{name}"}}')
    came = rise_since_start(f'path_reclassified_messages_total{{{selector},to="{name}"}}')
    went = rise_since_start(f'path_reclassified_messages_total{{{selector},from="{name}"}}')
    return expand(f"clamp_min({first} + {came} - {went}, 0)")


def rise_since_start(series: str) -> str:
    """How much counters of paths rose over the shown time, by mesh and path.

    One that began anew in between is taken from there on: the exporter keeps its own in a file.
    """
    now = f"sum by (mesh, path) ({series})"
    return f"({now} - (sum by (mesh, path) ({series} offset $__range) <= {now} or 0 * {now}))"


def rise_per_step(series: str) -> str:
    """How much each counter rose in a step of a graph, so that all steps add up to what came.

    One that began anew is taken from there on; one that was not there before is left out.
    """
    before = f"{series} offset $__interval"
    return f"({series} - {before} >= 0 or {series} + 0 * {before})"


def rise_over_range(series: str) -> str:
    """How much each counter rose over the shown time, of processes whose counters begin anew with them."""
    return f"sum_over_time({rise_per_step(series)}[$__range:$__interval])"
