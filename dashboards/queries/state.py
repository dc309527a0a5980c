# ruff: noqa: E501 -- PromQL is read best in few lines
"""The worst that is true of a path, as a number; style.PATH_STATES has the words."""

from __future__ import annotations

from dashboards.promql import expand


def slow(select: str) -> str:
    """1 where a latency objective was not kept over a minute.

    By the objective itself: few messages have no p99, but each of them met the bound or did not.
    """
    return expand(
        "max by (mesh, path) ("
        f"(rate(path_slo_good_messages_total{{{select}}}[1m]) / (rate(path_slo_messages_total{{{select}}}[1m]) > 0)"
        f" < bool path_slo_objective_ratio{{{select}}}) and path_slo_bound_seconds{{{select}}})"
    )


def state(select: str) -> str:
    """By mesh and path.

    Losses are those of a minute, by counters: the gauges tell the newest window, and scrapes miss others.
    Each condition has a label of its own, so that `or` keeps them all for the highest.
    """
    conditions = {
        "fine": f"path_window_end_timestamp_seconds{{{select}}} * 0",
        "slow": slow(select),
        "blind": f'2 * (increase(path_messages_total{{{select},class="unobserved"}}[1m]) > bool 0)',
        "losing": f'3 * (increase(path_messages_total{{{select},class="lost"}}[1m]) > bool 0)',
        "missing": f"3 * (path_suspect_messages{{{select}}} > bool 0)",
        "outage": f"4 * (path_outage_seconds{{{select}}} > bool 1)",
        "maintenance": f"5 * path_maintenance{{{select}}}",
    }
    each = (f'label_replace({what}, "is", "{name}", "", "")' for name, what in conditions.items())
    return expand(f"max by (mesh, path) ({' or '.join(each)})")
