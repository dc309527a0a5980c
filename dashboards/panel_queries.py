"""Every query of a dashboard as Grafana's `/api/ds/query` takes it, with all variables filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

Json = dict[str, Any]

# What Grafana's page would fill in; the server itself fills in $__rate_interval and its kin.
VARIABLES: Final = {"$mesh": ".*", "$path": ".*", "$router": ".*", "$broker": ".*"}


class PanelQuery(NamedTuple):
    """A query, and the panel that it is of."""

    panel: str
    ref: str
    expression: str
    target: Json


def queries(board: Json) -> Iterator[PanelQuery]:
    """Return the queries of all panels and annotations."""
    for panel in board["panels"]:
        for target in panel.get("targets") or []:
            yield PanelQuery(panel["title"], target["refId"], target["expr"], target)
    for annotation in board["annotations"]["list"]:
        if "expr" in annotation:
            target = {"expr": annotation["expr"], "range": True, "instant": False, "refId": "Anno"}
            yield PanelQuery(f"annotation {annotation['name']}", "Anno", annotation["expr"], target)


def fill(expression: str, variables: Mapping[str, str] = VARIABLES) -> str:
    """Return the expression for all meshes, paths and so on."""
    for name, value in variables.items():
        # One path is chosen by `=`: all of them are asked for instead.
        expression = re.sub(rf'=~?"{re.escape(name)}"', f'=~"{value}"', expression)
    return expression


def body(query: PanelQuery, source_uid: str, *, minutes: int = 30) -> Json:
    """Return a request for one query."""
    asked = {
        **query.target,
        "refId": query.ref,
        "expr": fill(query.expression),
        "datasource": {"type": "prometheus", "uid": source_uid},
        "intervalMs": 15_000,
        "maxDataPoints": 300,
    }
    return {"queries": [asked], "from": f"now-{minutes}m", "to": "now"}
