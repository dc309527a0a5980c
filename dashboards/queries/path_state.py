"""Queries about the states of paths, which the exporter evaluates."""

from __future__ import annotations

from dashboards.promql import expand
from streaming.states import BY_WORD


def state(selector: str) -> str:
    """Return each path's rank; `style.PATH_STATES` has the words and colours."""
    return expand(f"max by (mesh, path) (path_state{{{selector}}})")


def in_state(word: str, selector: str) -> str:
    """Return how many paths are in this state."""
    return expand(f"sum(path_state{{{selector}}} == bool {BY_WORD[word].rank})")
