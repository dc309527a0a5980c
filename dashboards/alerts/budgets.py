"""Alerts and recordings of how fast error budgets burn, over a long and a short range for each pace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from dashboards.alerts.rules import Alert, Recording, Severity, Where


class Pace(NamedTuple):
    """How many times the even rate the budget burns, over which ranges, and who hears of it."""

    name: str
    times: float
    long: str
    short: str
    severity: Severity
    words: str


class _Kind(NamedTuple):
    """What alerts of delivery and of latency differ in."""

    alert: str
    bound: str  # how the expression goes on
    summary: str
    details: str
    where: Where


PACES: Final = (
    Pace("fast", 14.4, "1h", "5m", "page", "an hour"),
    Pace("slow", 6, "6h", "30m", "ticket", "six hours"),
)
_DETAILS: Final = (
    '{{ with printf "histogram_quantile(0.99, sum by (le)'
    ' (rate(inflight_path_response_latency_seconds_bucket{mesh=%q,path=%q}[RANGE])))"'
    " $labels.mesh $labels.path | query }}p99 {{ . | first | value | humanizeDuration }}{{ end }}"
    ' {{- with printf "inflight_path_slo_bound_seconds{mesh=%q,path=%q,slo=%q}"'
    " $labels.mesh $labels.path $labels.slo | query }}, bound"
    " {{ . | first | value | humanizeDuration }}{{ end }}"
)
_KINDS: Final = (
    _Kind("DeliveryBudgetBurn", "unless", "not delivered", "", "missing"),
    _Kind("LatencyBudgetBurn", "and", "missed the bound of {{ $labels.slo }}", _DETAILS, "slow"),
)


def _burn(kind: _Kind, pace: Pace) -> Alert:
    def burns(over: str) -> str:
        allowed = f"{pace.times:g} * (1 - max by (mesh, path, slo) (inflight_path_slo_objective_ratio))"
        return f"inflight:path_slo_errors:ratio_rate{over}\n  > {allowed}\n"

    counted = f"sum by (mesh, path, slo) (increase(inflight_path_slo_messages_total[{pace.long}])) >= 100"
    return Alert(
        kind.alert,
        expr=f"{burns(pace.long)}and {burns(pace.short)}and {counted}\n"
        f"{kind.bound} on (mesh, path, slo) inflight_path_slo_bound_seconds\n",
        hold="1m",
        severity=pace.severity,
        labels={"pace": pace.name},
        summary=(
            f"Path {{{{ $labels.path }}}}: {{{{ $value | humanizePercentage }}}} {kind.summary} over"
            f" {pace.words}"
        ),
        details=kind.details.replace("RANGE", pace.long),
        where=kind.where,
        board="path",
    )


def _recordings() -> Iterator[Recording]:
    for over in ("5m", "30m", "1h", "6h"):
        yield Recording(
            f"inflight:path_slo_errors:ratio_rate{over}",
            f"1 - sum by (mesh, path, slo) (rate(inflight_path_slo_good_messages_total[{over}]))\n"
            f"  / (sum by (mesh, path, slo) (rate(inflight_path_slo_messages_total[{over}])) > 0)\n",
        )


ALERTS: Final = tuple(_burn(kind, pace) for kind in _KINDS for pace in PACES)
RECORDINGS: Final = tuple(_recordings())
