"""Exact counts over the shown time or a step of it; increase() extrapolates to the edges of a range."""

from __future__ import annotations

from dashboards.promql import expand


def messages_of_class(name: str, selector: str) -> str:
    """Return how many messages of the shown time are in a class, with revisions, by mesh and path."""
    first = rise_since_start(f'path_messages_total{{{selector},class="{name}"}}')
    came = rise_since_start(f'path_reclassified_messages_total{{{selector},to="{name}"}}')
    went = rise_since_start(f'path_reclassified_messages_total{{{selector},from="{name}"}}')
    return expand(f"clamp_min({first} + {came} - {went}, 0)")


def rise_since_start(series: str, by: str = "mesh, path") -> str:
    """Return how much counters of paths rose in the shown time, by these labels.

    A counter that was reset in between counts from there: the exporter keeps its own in a file.
    """
    now = f"sum by ({by}) ({series})"
    return f"({now} - (sum by ({by}) ({series} offset $__range) <= {now} or 0 * {now}))"


def rise_per_step(series: str) -> str:
    """Return how much each counter rose in a step of a graph; the steps add up to what came.

    A counter that was reset counts from 0; one that was not there before is left out.
    """
    before = f"{series} offset $__interval"
    return f"({series} - {before} >= 0 or {series} + 0 * {before})"


def rise_over_range(series: str) -> str:
    """Return how much each counter rose in the shown time, whatever resets were in it."""
    return f"sum_over_time({rise_per_step(series)}[$__range:$__interval])"
