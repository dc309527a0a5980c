"""A ping's live line and its summary, as text for people."""

from __future__ import annotations

from typing import Any, Final

from collectors.contract.records import SECOND_NS
from collectors.contract.window_rows import LiveRow
from deploy.ping.figures import Latencies, milliseconds

_HEADINGS: Final = ("", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "mean", "std", "min")
_WIDTH: Final = 9
_NO_ROUTE: Final = "route: not told; routers, not edge ones, tell it on listeners with `stripAnnotations: no`"


def live_line(row: LiveRow, sent: int, received: int, seconds: float) -> str:
    """Returns the line of the moment."""
    response = row["response"]
    bound = {"max" if name == "max" else f"p{name}" for name in row["lower_bound"]}
    shown = [
        f"{name} {'≥' if name in bound else ''}{milliseconds(response[key])} ms"
        for name, key in (("p50", "50"), ("p99", "99"), ("max", "max"))
        if key in response
    ]
    suspect = f"  suspect {row['suspect']}" if row["suspect"] else ""
    behind = f"  behind {row['behind_ns'] / 1e9:.1f} s" if row["behind_ns"] > SECOND_NS else ""
    figures = f"  {'  '.join(shown)}" if shown else ""
    return f"{seconds:5.0f} s  sent {sent}  received {received}{suspect}{figures}{behind}"


def table(found: dict[str, Any], *, ping_pong: bool) -> list[str]:
    """Returns the lines of the summary."""
    lines = ["", _counts(found)]
    lines += _beside(found)
    if found["stood_still_seconds"]:
        lines.append(
            f"this process stood still for {found['stood_still_seconds']:.1f} s: what was due meanwhile"
            " was not sent (stalled), what is missing was not observed, and what waited came late"
        )
    if found["classes"]["lost"]:
        lines.append(f"lost: not there when nothing had come for {found['settle_seconds']:g} s (--settle)")
    if found["service"]:
        unit = "round trips, ms" if ping_pong else "latency, ms"
        lines += ["", unit.ljust(18) + "".join(name.rjust(_WIDTH) for name in _HEADINGS[1:])]
        lines += [_latencies("service", found["service"]), _latencies("response", found["response"])]
    if found["jitter"]:
        lines.append(_jitter(found["jitter"]))
    if "one_way" in found:
        half = "  ".join(f"p{n} {milliseconds(v)}" for n, v in found["one_way"]["service"].items())
        lines.append(f"half a round trip, ms: {half}")
    lines.append("")
    if found["rate"]:
        lines.append(_rate(found["rate"]))
    lines.append(_clock(found["clock"], ping_pong=ping_pong))
    lines += [f"route: {route} ({count})" for route, count in found["routes"].items()]
    if not found["routes"] and found["classes"]["received"]:
        lines.append(_NO_ROUTE)
    if found["cannot_see"]:
        unseen = found["cannot_see"]
        lines.append(
            f"cannot see: a loss below {100 * unseen['loss_ratio']:.2g} % of messages (with 95 % confidence),"
            f" nor an interruption shorter than {milliseconds(unseen['gap_seconds'] * 1e9)} ms"
        )
    return lines


def _counts(found: dict[str, Any]) -> str:
    parts = [f"sent {found['sent']}"]
    for name, count in found["classes"].items():
        reasons = {k: v for k, v in found.get(name, {}).items() if v} if name in {"refused", "lost"} else {}
        detail = f" ({', '.join(f'{k} {v}' for k, v in reasons.items())})" if reasons else ""
        parts.append(f"{name} {count}{detail}")
    return "  ".join(parts)


def _beside(found: dict[str, Any]) -> list[str]:
    names = ("duplicate", "redelivered", "reordered", "foreign", "unexpected", "negative", "late")
    parts = [f"{name} {found[name]}" for name in names if found[name]]
    parts += [f"unsent ({reason}) {count}" for reason, count in found["unsent"].items() if count]
    parts += [f"flags: {', '.join(found['flags'])}"] if found["flags"] else []
    return ["  ".join(parts)] if parts else []


def _rate(rate: dict[str, Any]) -> str:
    asked = "" if rate["asked"] is None else f"asked {_figures(rate['asked'])}/s, "
    return f"rate: {asked}got {_figures(rate['got'])}/s, from first to last in {rate['seconds']:g} s"


def _figures(value: float) -> str:
    """Returns the value with three significant digits."""
    return f"{float(f'{value:.3g}'):,.10g}"


def _latencies(name: str, found: Latencies) -> str:
    cells = [found["percentiles"].get(heading[1:]) for heading in _HEADINGS[1:7]]
    cells += [found["max_ns"], found["mean_ns"], found["std_ns"], found["min_ns"]]
    return name.ljust(18) + "".join(
        ("-" if cell is None else milliseconds(cell)).rjust(_WIDTH) for cell in cells
    )


def _jitter(found: dict[str, Any]) -> str:
    cells = [found["percentiles"].get(heading[1:]) for heading in _HEADINGS[1:7]]
    shown = "".join(("-" if cell is None else milliseconds(cell)).rjust(_WIDTH) for cell in cells)
    return "jitter".ljust(18) + shown + milliseconds(found["max_ns"]).rjust(_WIDTH)


def _clock(clock: dict[str, int] | None, *, ping_pong: bool) -> str:
    if ping_pong:
        return "clock: one, both ends are here"
    if clock is None:
        return "clock: the offset between the two ends is not known"
    return (
        f"clock: offset {milliseconds(clock['offset_ns'])} ms, known to ±{milliseconds(clock['bound_ns'])} ms"
    )
