"""The rules as Prometheus' files, which are committed: made from data, reviewed as a diff."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any, Final

import yaml

import dashboards
from dashboards.alerts import brokers, budgets, events, info, monitor, paths, routers
from dashboards.alerts.rules import Alert, Group, Recording

FOLDER: Final = Path(dashboards.__file__).with_name("rules")
_WIDTH: Final = 118
_MADE: Final = "Made from dashboards/alerts by `inflight dashboards build`: change it there."

ALERTS: Final = (
    Group("inflight-paths", paths.ALERTS),
    Group(
        "inflight-budgets",
        budgets.ALERTS,
        "Objectives with a bound are of latency, the others of delivery. At 14.4 times the even rate a"
        " month's budget is gone in two days, at 6 times in five; the short range ends the alert soon after"
        " the trouble does. For a minute: the first messages after a start are slow, and then they are all"
        " that is known of six hours.",
    ),
    Group("inflight-routers", routers.ALERTS),
    Group("inflight-brokers", brokers.ALERTS),
    Group("inflight-monitor", monitor.ALERTS),
)
RECORDING: Final = (
    Group("inflight-slo", budgets.RECORDINGS, interval="30s"),
    Group("inflight-events", events.RECORDINGS, interval=events.INTERVAL),
)
INFO: Final = (Group("inflight-info", info.ALERTS),)


def texts() -> dict[str, str]:
    """Return the files' texts by their names in the folder."""
    return {
        "alerts.rules.yml": _file(
            "Severity `page` wakes somebody: PathSilent, AcceptedMessagesLost, the fast burns,"
            " BrokerNearLimit. `ticket` can wait for the morning. Objectives, bounds and maintenance are"
            " metrics of the config and of `inflight.events`: nothing here has to be changed for one's own"
            " paths. What each means and what to do: the runbook, which the exporter serves at the address"
            " where Prometheus scrapes it. `dashboard` is a path under Grafana's address.",
            ALERTS,
        ),
        "recording.rules.yml": _file(
            "How fast error budgets burn: bad messages over all messages, by path and objective, over the"
            " four ranges that the burn alerts compare. Counters rise only when windows are final, in steps:"
            " ratios stay right whatever lands at once. Messages of maintenance windows and unobserved ones"
            " are in neither counter.",
            RECORDING,
        ),
        "optional/info.rules.yml": _file(
            "Off by default: worth a look, never a ticket. To have them, name this file in Prometheus'"
            " `rule_files`, too.",
            INFO,
        ),
    }


def write() -> list[Path]:
    """Write all files; return those that changed."""
    changed = stale()
    for file in changed:
        file.write_text(texts()[file.relative_to(FOLDER).as_posix()], encoding="utf-8")
    return changed


def stale() -> list[Path]:
    """Return the files that are not as the data makes them."""
    return [
        FOLDER / name
        for name, text in texts().items()
        if not (FOLDER / name).exists() or (FOLDER / name).read_text(encoding="utf-8") != text
    ]


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as such."""


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent)


def _file(about: str, groups: tuple[Group, ...]) -> str:
    return _comment(_MADE) + _comment(about) + "groups:\n" + "\n".join(map(_group, groups))


def _group(group: Group) -> str:
    head = f"  - name: {group.name}\n"
    if group.interval:
        head += f"    interval: {group.interval}\n"
    return (
        head
        + textwrap.indent(_comment(group.about), "    ")
        + "    rules:\n"
        + "".join(map(_rule, group.rules))
    )


def _rule(rule: Alert | Recording) -> str:
    return textwrap.indent(_comment(rule.about) + _dump([rule.rule()]), "      ")


def _dump(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)
    return text


def _comment(text: str) -> str:
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, _WIDTH))
