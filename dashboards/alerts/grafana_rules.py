"""The alerts as Grafana's own alert rules: the same expressions, labels and texts."""

from __future__ import annotations

import re
from typing import Any, Final

from dashboards.alerts.files import ALERTS, RECORDING

UID_PREFIX: Final = "inflight-"
INTERVAL_SECONDS: Final = 30
_RECORDED: Final = re.compile(r"\binflight:[\w:]+")
_ASKS: Final = re.compile(r"\| query|with query")
_LOOK_BACK_SECONDS: Final = 600  # Grafana wants a range even for an instant query

Json = dict[str, Any]


def recorded() -> dict[str, str]:
    """Return what each recorded series stands for."""
    return {rule.name: _line(rule.expr) for group in RECORDING for rule in group.rules}


def rules(source_uid: str, folder_uid: str, *, board_url: str, runbook_url: str) -> list[Json]:
    """Return all alert rules as `/api/v1/provisioning/alert-rules` takes them.

    Who publishes to Grafana may not have Prometheus evaluate the recording rules: they are written out.
    """
    names = recorded()
    return [
        _rule(group.name, rule.rule(), names, (source_uid, folder_uid), (board_url, runbook_url))
        for group in ALERTS
        for rule in group.rules
    ]


def _line(expression: str) -> str:
    return " ".join(expression.split())


def _rule(
    group: str, rule: Json, names: dict[str, str], uids: tuple[str, str], urls: tuple[str, str]
) -> Json:
    source_uid, folder_uid = uids
    pace = rule["labels"].get("pace")
    expression = _RECORDED.sub(lambda match: f"({names[match[0]]})", _line(rule["expr"]))
    return {
        "uid": UID_PREFIX + rule["alert"].lower() + (f"-{pace}" if pace else ""),
        "title": rule["alert"] + (f" ({pace})" if pace else ""),  # unique within a folder
        "ruleGroup": group,
        "folderUID": folder_uid,
        "orgID": 1,
        "condition": "B",
        "data": [
            _query("A", source_uid, {"expr": expression, "instant": True, "range": False}),
            # Prometheus fires for whatever an expression gives, Grafana only for what is not 0.
            _query("B", "__expr__", {"type": "math", "expression": "is_number($A)"}),
        ],
        # An expression that gives nothing is content.
        "noDataState": "OK",
        "execErrState": "Error",
        "for": rule.get("for", "0s"),
        "labels": rule["labels"],
        "annotations": _texts(rule["annotations"], *urls),
        "isPaused": False,
    }


def _query(ref: str, source_uid: str, model: Json) -> Json:
    return {
        "refId": ref,
        "datasourceUid": source_uid,
        "queryType": "",
        "relativeTimeRange": {"from": _LOOK_BACK_SECONDS, "to": 0},
        "model": {"refId": ref, "intervalMs": 1_000, "maxDataPoints": 43_200, **model},
    }


def _texts(annotations: dict[str, str], board_url: str, runbook_url: str) -> dict[str, str]:
    """Return the texts for Grafana, whose templates name the value by its query and cannot query more."""
    texts = {name: text for name, text in annotations.items() if not _ASKS.search(text)}
    texts = {name: re.sub(r"\$value\b", "$values.A.Value", text) for name, text in texts.items()}
    if "dashboard" in texts:
        texts["dashboard"] = board_url + texts["dashboard"]
    if "runbook_url" in annotations:
        texts["runbook_url"] = f"{runbook_url}#{annotations['runbook_url'].rpartition('#')[2]}"
    return texts
