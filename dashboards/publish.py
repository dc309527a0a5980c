"""What `inflight dashboards publish` does: compare, write what differs, and look at the result."""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from dashboards import panel_queries
from dashboards.alerts import grafana_rules
from dashboards.grafana import Grafana, GrafanaError

Json = dict[str, Any]
Say = Callable[[str], None]

FOLDER_UID: Final = "inflight"
FOLDER_TITLE: Final = "Inflight"
SOURCE_UID: Final = "inflight-prometheus"
_OF_GRAFANA: Final = ("id", "version")  # what it adds to a dashboard
_POLL_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Change:
    """Something that differs in Grafana; `before` is None if it is not there."""

    kind: str
    name: str
    before: Json | None
    after: Json | None  # None: to be deleted
    apply: Callable[[], None]

    def __str__(self) -> str:
        verb = "make" if self.before is None else "delete" if self.after is None else "change"
        return f"{verb} {self.kind} {self.name}"

    def diff(self) -> str:
        """Return the difference as `diff -u` shows it."""
        before, after = ([] if side is None else _lines(side) for side in (self.before, self.after))
        return "\n".join(difflib.unified_diff(before, after, "Grafana", "Inflight", lineterm="", n=2))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What Grafana should hold."""

    boards: dict[str, Json]
    prometheus_url: str | None = None  # a data source of our own is made for it
    source: str | None = None  # name or uid of one that is there
    scrape_interval: str = "15s"
    runbook_url: str = "dashboards/RUNBOOK.md"


class Publisher:
    """Compares what Grafana holds with what is wanted, and publishes."""

    def __init__(self, grafana: Grafana, wanted: Wanted) -> None:
        self._grafana = grafana
        self._wanted = wanted

    def changes(self) -> Iterator[Change]:
        """Yield changes in the order in which they are to be made, each looked for after the one before."""
        yield from self._folder()
        source_uid = yield from self._source()
        yield from self._boards()
        yield from self._rules(source_uid)

    def _folder(self) -> Iterator[Change]:
        if self._grafana.folder(FOLDER_UID) is None:
            after = {"uid": FOLDER_UID, "title": FOLDER_TITLE}
            yield Change(
                "folder",
                FOLDER_TITLE,
                None,
                after,
                lambda: self._grafana.make_folder(FOLDER_UID, FOLDER_TITLE),
            )

    def _source(self) -> Any:
        """Yield the changes to the data source and return its uid."""
        wanted, found = self._wanted, self._grafana.sources()
        if wanted.prometheus_url is None:
            return self.source_uid()
        after = {
            "uid": SOURCE_UID,
            "name": "Inflight",
            "type": "prometheus",
            "access": "proxy",
            "url": wanted.prometheus_url,
            "jsonData": {"httpMethod": "POST", "timeInterval": wanted.scrape_interval},
        }
        there = next((source for source in found if source["uid"] == SOURCE_UID), None)
        before = _same_part(there, after) if there else None
        if before != after:
            number = there["id"] if there else None
            yield Change(
                "data source", "Inflight", before, after, lambda: self._grafana.put_source(after, number)
            )
        return SOURCE_UID

    def source_uid(self) -> str:
        """Return the data source for rules: our own, the one named, the default, or the only one."""
        wanted = self._wanted
        if wanted.prometheus_url is not None:
            return SOURCE_UID
        found = [s for s in self._grafana.sources() if s["type"] == "prometheus"]
        if wanted.source is not None:
            found = [s for s in found if wanted.source in {s["name"], s["uid"]}]
            if not found:
                raise GrafanaError(f"Grafana has no Prometheus data source called {wanted.source!r}")
        best = [s for s in found if s.get("isDefault")] or found
        if len(best) != 1:
            names = ", ".join(s["name"] for s in best) or "none"
            raise GrafanaError(
                f"which data source? Grafana's of type Prometheus: {names};"
                " name one with --source, or have one made with --prometheus URL"
            )
        return str(best[0]["uid"])

    def _boards(self) -> Iterator[Change]:
        for board in self._wanted.boards.values():
            there = self._grafana.dashboard(board["uid"])
            before = None
            if there is not None:
                before = {k: v for k, v in there["dashboard"].items() if k not in _OF_GRAFANA}
                if before == board and there["meta"].get("folderUid") == FOLDER_UID:
                    continue
            yield Change("dashboard", board["title"], before, board, _Put(self._grafana, board))

    def _rules(self, source_uid: str) -> Iterator[Change]:
        rules = self.wanted_rules(source_uid)
        there = {rule["uid"]: rule for rule in self._grafana.rules()}
        for rule in rules:
            before = _same_part(there[rule["uid"]], rule) if rule["uid"] in there else None
            if before != rule:
                new = before is None
                yield Change("rule", rule["title"], before, rule, _PutRule(self._grafana, rule, new=new))
        for uid in sorted(there.keys() - {rule["uid"] for rule in rules}):
            if uid.startswith(grafana_rules.UID_PREFIX) and there[uid]["folderUID"] == FOLDER_UID:
                yield Change("rule", there[uid]["title"], there[uid], None, _DeleteRule(self._grafana, uid))
        for name in dict.fromkeys(rule["ruleGroup"] for rule in rules):
            group = self._grafana.group(FOLDER_UID, name)
            if group is not None and group["interval"] != grafana_rules.INTERVAL_SECONDS:
                before, after = {"interval": group["interval"]}, {"interval": grafana_rules.INTERVAL_SECONDS}
                yield Change("rule group", name, before, after, _PutGroup(self._grafana, {**group, **after}))

    def wanted_rules(self, source_uid: str) -> list[Json]:
        return grafana_rules.rules(
            source_uid, FOLDER_UID, board_url=self._grafana.url, runbook_url=self._wanted.runbook_url
        )

    def publish(self, say: Say) -> int:
        """Make all changes, read everything back, and return how many there were."""
        count = 0
        for change in self.changes():
            change.apply()
            say(str(change))
            count += 1
        left = [str(change) for change in self.changes()] if count else []
        if left:
            raise GrafanaError(
                f"Grafana took it and holds something else, on reading back: {'; '.join(left)}"
            )
        return count

    def failing_queries(self) -> Iterator[str]:
        """Return the panels' queries that Grafana's data source refuses, with the reasons."""
        source_uid = self.source_uid()
        for board in self._wanted.boards.values():
            for query in panel_queries.queries(board):
                result = self._grafana.query(panel_queries.body(query, source_uid))
                if result.get("error"):
                    yield f"{board['title']}, {query.panel} ({query.ref}): {result['error']}"

    def unhealthy_rules(self, within_seconds: float) -> list[str]:
        """Return the rules that are not well after an evaluation, with the reasons."""
        names = {rule["title"] for rule in self.wanted_rules(self.source_uid())}
        deadline = time.monotonic() + within_seconds
        while True:
            found = {r["name"]: r for r in self._grafana.evaluated_rules() if r["folder"] == FOLDER_TITLE}
            waiting = sorted(n for n in names if not _evaluated(found.get(n, {})))
            ill = [
                f"{name}: {rule.get('lastError') or rule['health']}"
                for name, rule in sorted(found.items())
                if name in names and rule.get("health") in {"error", "err"}
            ]
            if not waiting:
                return ill
            if time.monotonic() > deadline:
                return [*ill, *(f"{name}: not evaluated in {within_seconds:g} s" for name in waiting)]
            time.sleep(_POLL_SECONDS)


@dataclass(frozen=True, slots=True)
class _Put:
    grafana: Grafana
    board: Json

    def __call__(self) -> None:
        self.grafana.put_dashboard(self.board, FOLDER_UID)


@dataclass(frozen=True, slots=True)
class _PutRule:
    grafana: Grafana
    rule: Json
    new: bool

    def __call__(self) -> None:
        self.grafana.put_rule(self.rule, new=self.new)


@dataclass(frozen=True, slots=True)
class _DeleteRule:
    grafana: Grafana
    uid: str

    def __call__(self) -> None:
        self.grafana.delete_rule(self.uid)


@dataclass(frozen=True, slots=True)
class _PutGroup:
    grafana: Grafana
    group: Json

    def __call__(self) -> None:
        self.grafana.put_group(FOLDER_UID, self.group)


def _evaluated(rule: Json) -> bool:
    return bool(rule) and not str(rule.get("lastEvaluation", "0001")).startswith("0001")


def _same_part(there: Any, wanted: Any) -> Any:
    """Return what is there without what Grafana added, to be compared with what is wanted."""
    if isinstance(there, dict) and isinstance(wanted, dict):
        return {key: _same_part(there[key], wanted[key]) for key in wanted if key in there}
    if isinstance(there, list) and isinstance(wanted, list) and len(there) == len(wanted):
        return [_same_part(a, b) for a, b in zip(there, wanted, strict=True)]
    return there


def _lines(value: Json) -> list[str]:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).splitlines()
