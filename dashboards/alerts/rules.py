"""Rules as data, and what is the same in all of them: the links to dashboard and runbook."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Where = Literal["", "missing", "slow"]
Severity = Literal["page", "ticket", "info", "none"]
Json = dict[str, Any]

# By dashboard: its variables that alerts have as labels.
_VARIABLES: Final = {
    "path": ("mesh", "path"),
    "routers": ("mesh", "router"),
    "brokers": ("mesh", "broker"),
    "pipeline": (),
}
# The exporter serves the runbook where Prometheus scrapes it.
_RUNBOOK: Final = (
    '{{ with query "inflight_build_info{part=~\\"exporter|run\\"}" }}'
    'http://{{ . | first | label "instance" }}/runbook'
    "{{ else }}dashboards/RUNBOOK.md{{ end }}"
)
# Asked for when the text is made: as labels of the alert, hop and cause would make a new one of it.
_BLAMED: Final[dict[Where, tuple[str, str]]] = {
    "missing": ("inflight_path_blamed_hop", '{{ . | first | value | printf "%.0f" }}'),
    "slow": ("inflight_path_delay_explained_seconds", "{{ . | first | value | humanizeDuration }}"),
}


@dataclass(frozen=True, kw_only=True)
class Alert:
    """An alert; `board` is the dashboard to look at."""

    name: str = field(kw_only=False)
    expr: str
    severity: Severity
    summary: str
    board: str
    about: str = ""  # a comment in the file
    hold: str = ""  # for how long it has to be so
    details: str = ""
    where: Where = ""  # tells the hop to blame for what is missing, or slow
    labels: dict[str, str] = field(default_factory=dict)
    link_labels: tuple[str, ...] | None = None  # those of the dashboard's variables that the alert has
    section: str = ""  # of the runbook, where it is not that of the alert's name

    def rule(self) -> Json:
        """Return the rule as Prometheus reads it."""
        annotations = {"summary": self.summary} | ({"details": self.details} if self.details else {})
        annotations |= {"where": self._where(*_BLAMED[self.where])} if self.where else {}
        return {
            "alert": self.name,
            "expr": _text(self.expr),
            **({"for": self.hold} if self.hold else {}),
            "labels": {"severity": self.severity, **self.labels},
            "annotations": {
                **annotations,
                "dashboard": self._dashboard(),
                "runbook_url": f"{_RUNBOOK}#{self.section or self.name.lower()}",
            },
        }

    def _where(self, metric: str, value: str) -> str:
        """Return the template of the hop that explains most now."""
        return (
            f'{{{{ with printf "topk(1, {metric}{{mesh=%q,path=%q}})" $labels.mesh $labels.path | query }}}}'
            f'{value} {{{{ . | first | label "cause" }}}} at {{{{ . | first | label "hop" }}}}'
            "{{ else }}no hop is to blame so far; `inflight why {{ $labels.path }}` asks again{{ end }}"
        )

    def _dashboard(self) -> str:
        """Return a path under Grafana's address."""
        names = _VARIABLES[self.board] if self.link_labels is None else self.link_labels
        variables = "&".join(f"var-{name}={{{{ $labels.{name} }}}}" for name in names)
        return f"/d/inflight-{self.board}" + (f"?{variables}" if variables else "")


@dataclass(frozen=True)
class Recording:
    """A series that other rules read by its name."""

    name: str
    expr: str
    about: str = ""

    def rule(self) -> Json:
        """Return the rule as Prometheus reads it."""
        return {"record": self.name, "expr": _text(self.expr)}


@dataclass(frozen=True)
class Group:
    """Rules that Prometheus evaluates one after another."""

    name: str
    rules: tuple[Alert | Recording, ...]
    about: str = ""
    interval: str = ""


def _text(expr: str) -> str:
    """Return it without the indentation that it has in the source."""
    return textwrap.dedent(expr).lstrip("\n").rstrip(" ")
