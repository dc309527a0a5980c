"""The line that `inflight run` keeps up to date on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from collectors.contract.window_rows import CLASSES
from deploy.parts.run import RunPart
from deploy.ping.figures import milliseconds
from streaming.exporter.path import Path


def status_line(part: RunPart) -> str:
    """Returns counts since the start and the slowest path's latency, or what keeps ends from work."""
    problem = part.prober.not_ready()
    if problem is not None:
        return problem
    shown = part.exporter.shown()
    counts = {name: sum(path.counters.messages_in_class(name) for path in shown) for name in CLASSES}
    pending = sum(path.live["pending"] for path in shown if path.live)
    told = [f"{len(shown)} path{'s' * (len(shown) != 1)}", f"sent {sum(counts.values())}"]
    told += [f"{name} {counts[name]}" for name in CLASSES if name != "received"]
    told += [f"pending {pending}", *_slowest(shown)]
    return "  ".join(told)


def _slowest(shown: Sequence[Path]) -> Iterator[str]:
    """Yields the slowest of the newest final windows, by p99 where it has one, else by its maximum."""
    found = []
    for path in shown:
        latency = path.window and path.window["response"]
        if latency:
            p99_ns = latency["percentiles"].get("99")
            found.append(
                (latency["max_ns"], "max", path.name) if p99_ns is None else (p99_ns, "p99", path.name)
            )
    if found:
        value_ns, what, name = max(found)
        yield f"slowest {name}: {what} {milliseconds(value_ns)} ms"
