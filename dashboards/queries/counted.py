"""Messages of a class over the shown time, exactly: with what revisions moved, and nothing stretched."""

from __future__ import annotations

from dashboards.promql import expand


def counted(name: str, selector: str) -> str:
    """By mesh and path: counters now and at the beginning; increase() stretches to the edges of a range."""
    first = _since(f'path_messages_total{{{selector},class="{name}"}}')
    came = _since(f'path_reclassified_messages_total{{{selector},to="{name}"}}')
    went = _since(f'path_reclassified_messages_total{{{selector},from="{name}"}}')
    return expand(f"clamp_min({first} + {came} - {went}, 0)")


def _since(series: str) -> str:
    """A counter that began anew in between is taken from there on: the exporter keeps its own in a file."""
    now = f"sum by (mesh, path) ({series})"
    return f"({now} - (sum by (mesh, path) ({series} offset $__range) <= {now} or 0 * {now}))"
