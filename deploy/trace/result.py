"""What a trace found: a row for each router, and what is wrong with the way. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final, Literal

from deploy.trace import route
from deploy.trace.facts import Waiting
from deploy.trace.route import Hop
from deploy.trace.traced import Traced
from deploy.trace.tracer import Trace

Row = dict[str, Any]
Role = Literal["here", "transit", "target", "broker", "edge", "interior", "equal", "left"]
RIGHTS: Final = "deploy/rights/README.md has the vhost policy it needs"


def rows(trace: Trace, now_ns: int) -> list[Row]:
    """Return the routers on the route in its order, then those that were on it before."""
    hops = trace.route.hops
    on_route = {hop.router for hop in hops}
    hops = [*hops, *(Hop(name, None) for name in sorted(trace.routers) if name not in on_route)]
    return [_row(trace, hop, now_ns, left=hop.router not in on_route) for hop in hops if _known(trace, hop)]


def findings(trace: Trace, found: list[Row]) -> list[str]:
    """Return what is wrong with the way; nothing if it is whole and every router on it answers."""
    plan, texts = trace.plan, []
    if plan.address is not None and trace.began_ns is not None and not trace.route.targets:
        lost = any(row["role"] == "left" for row in found)
        texts.append(
            f"{trace.local} no longer knows of anybody who receives from {plan.address}"
            if lost
            else f"nobody receives from {plan.address}, as far as {trace.local} knows"
            " (what is link-routed has no address of its own)"
        )
    texts += [f"{trace.local} has no way to {router}" for router in trace.route.no_way]
    denied = [row["router"] for row in found if row["denied"]]
    if denied:
        texts.append(f"no right to send to $management of {', '.join(denied)}; {RIGHTS}")
    for row in found:
        if row["silent"] and not row["denied"] and row["role"] != "equal":
            why = f" ({row['returned']})" if row["returned"] else ""
            texts.append(f"{row['router']} does not answer{why}")
    return texts


def remarks(trace: Trace, found: list[Row]) -> list[str]:
    """Return what a reader should know of the route and the figures, though nothing is wrong."""
    texts = []
    equal = [row["router"] for row in found if row["role"] == "equal"]
    if equal:
        texts.append(f"as near through {', '.join(equal)}: replies may come that way")
    texts += [
        f"{row['router']}: between {row['before']} and it may be others, which did not tell"
        for row in found
        if not row["sure"]
    ]
    texts += [
        f"{name}: has more links than were looked at" for name, traced in trace.routers.items() if traced.cut
    ]
    texts += [f"{row['router']} said: {row['note']}" for row in found if row["note"]]
    left = [row["router"] for row in found if row["role"] == "left"]
    if left:
        texts.append(f"the way has changed; on it before: {', '.join(left)}")
    if trace.route.left_out:
        texts.append(f"{trace.route.left_out} routers left out: {route.MAX_ROUTERS} are asked at the most")
    return texts


def as_json(trace: Trace, url: str, now_ns: int, *, ended: str | None = None) -> dict[str, Any]:
    """Return it all; times in ns. `ended` is why the connection was lost."""
    found = rows(trace, now_ns)
    return {
        "url": url,
        "address": trace.plan.address,
        "distribution": distribution(trace),
        "router": trace.local,
        "rounds": trace.rounds,
        "receivers_at": trace.route.targets if trace.plan.address is not None else None,
        "hops": found,
        "findings": ([ended] if ended else []) + findings(trace, found),
        "remarks": remarks(trace, found),
    }


def distribution(trace: Trace) -> str | None:
    """Return how the address's messages are spread, as the first router that knows it says."""
    if trace.plan.address is None:
        return None
    told = (traced.facts.address for traced in trace.routers.values())
    return next((row["distribution"] for row in told if row and row["distribution"]), None)


def _known(trace: Trace, hop: Hop) -> bool:
    return hop.router in trace.routers


def _row(trace: Trace, hop: Hop, now_ns: int, *, left: bool) -> Row:
    traced, before = trace.routers[hop.router], trace.routers.get(hop.before or "")
    address, flavour = trace.plan.address, traced.asked.flavour
    trips, timeout_ns = traced.trips, trace.plan.timeout_ns
    median = trips.median_ns
    step = None
    if before is not None and median is not None and before.trips.median_ns is not None:
        step = median - before.trips.median_ns
    return {
        "router": hop.router,
        "role": _role(trace, hop, traced, left=left),
        "before": hop.before,
        "sure": hop.sure,
        "cost": hop.cost,
        "branch": hop.branch,
        "sent": trips.sent,
        "answered": len(trips.times_ns),
        "missing_percent": trips.missing(now_ns, timeout_ns),
        "best_ns": trips.best_ns,
        "median_ns": median,
        "p99_ns": trips.percentile_ns(99),
        "step_ns": step,
        "link": _plain(before.facts.towards(hop.router, address, before.asked.flavour) if before else None),
        "receivers": _plain(traced.facts.receivers(address, flavour)),
        "silent": trips.silent(now_ns, timeout_ns),
        "denied": traced.denied,
        "returned": traced.returned,
        "note": traced.note,
    }


def _role(trace: Trace, hop: Hop, traced: Traced, *, left: bool) -> Role:
    address, flavour = trace.plan.address, traced.asked.flavour
    rules: tuple[tuple[bool, Role], ...] = (
        (left, "left"),
        (hop.before is None, "here"),
        (hop.equal, "equal"),
        (hop.edge, "edge"),
        (address is None, "interior"),
        (not hop.target, "transit"),
        (traced.facts.only_brokers(address, flavour), "broker"),
    )
    return next((role for applies, role in rules if applies), "target")


def _plain(waiting: Waiting | None) -> Row | None:
    return asdict(waiting) if waiting is not None else None
