"""Brings together what a report needs, from where it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from collectors.config.model import Config
from collectors.contract.events import Event
from deploy.errors import Problem
from deploy.report import prometheus as asked
from deploy.report import sources
from deploy.report.choose import choose, told_once
from deploy.report.model import Report
from deploy.report.price import MOST_NS, RECOVERY_NS, price
from deploy.report.windows import Windows
from streaming.archive import detected
from streaming.exporter.event_effects import end_ns


def make(
    config: Config,
    recorded: Sequence[Event],
    wanted: str,
    now_ns: int,
    archive: str | None,
    prometheus: str | None,
    left_out: Counter[str],
    paths: Sequence[str] = (),
) -> Report:
    """Return the report of the event that is meant, of paths that match; raises Problem."""
    events = told_once(recorded)
    event, note = choose(events, wanted, now_ns)
    ended_ns = end_ns(event)
    until_ns = now_ns if ended_ns is None else ended_ns
    from_ns, to_ns = event.at_ns - 2 * MOST_NS, until_ns + RECOVERY_NS + MOST_NS
    if archive is None:
        rows = sources.kafka_rows(config, from_ns, to_ns)
    else:
        rows = sources.archived_rows(archive, from_ns, to_ns)
    windows = Windows(from_ns, to_ns, left_out, paths)
    for row in rows:
        windows.add(row)
        if len(windows) > sources.MAX_ROWS:
            raise Problem(
                f"there are more than {sources.MAX_ROWS:,} windows of that time, too many for one report:"
                " take some of the paths by --path"
            )
    seen_ns = detected.read(Path(archive)).get(event.key) if archive and "://" not in archive else None
    alert = None
    if prometheus is not None:
        alert = asked.first_alert(prometheus, event, until_ns)
        if seen_ns is None:
            seen_ns = asked.detected(prometheus, event, until_ns)
    return price(
        windows.by_path(),
        event,
        others=events,
        detected_ns=seen_ns,
        alert=alert,
        alerts_asked=prometheus is not None,
        left_out=left_out,
        notes=[note] if note else [],
    )
