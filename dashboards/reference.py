"""The reference of metrics and states, which `python -m dashboards.reference` writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from collectors.contract.metrics import CATALOGUE, LATENCY_BUCKETS_SECONDS, Metric
from streaming.states import WORST_FIRST

FILE: Final = Path(__file__).with_name("METRICS.md")
RUNBOOK: Final = Path(__file__).with_name("RUNBOOK.md")
_STATES_IN_TEXT: Final = re.compile(r"\| value \| state \|[^\n]*\n(?:\|[^\n]*\n)*")
_UNITS: Final = ("seconds", "bytes", "messages", "ratio", "deliveries", "objects", "records", "rows")
_HEAD: Final = """\
# Metrics

Made from `collectors/contract/metrics.py`, the truth: change that, and run `python -m dashboards.reference`.

- A **counter** only rises. One that counts messages of a path does so when a window is final: its length and
  the settle time after they were sent. Rates of the moment are in the `path_window_…` gauges.
- An **info** metric is a gauge that is always 1 and is there for its labels.
- A **summary** here is the quantiles of one window, with neither sum nor count; quantile 1 is the maximum.
  A quantile is left out where fewer than one message would be above it.
- Every class and reason is there from 0 on; only moves from or to `none`, numbers of which no ledger had
  told, come when there are any.
- Series of what has vanished vanish; those of a path that nobody configures or tells of any more do so after
  five minutes.
- An objective counts the messages sent, less those that nobody observed and those of maintenance windows.
  Good are those received, or received within the bound: one that never came did not come in time either.
- Buckets of latencies, in seconds: {buckets}.
"""
_STATES: Final = """
## States of a path

The values of `inflight_path_state`, the worst first; the live page, `inflight top` and the dashboards show
the words. A path is in the first state that holds; only maintenance, waiting and silent (in this order) come
before all others.

"""
_EVENTS: Final = """
## Events and their effect

The series of an event have what it did (`do`), to which part or link (`what`), and when it began (`at`). They
are there until an hour after its end. Nothing detected is no series, not 0. The exact definitions stand in
[accounting.md](../streaming/accounting.md#events-and-their-effect); in short:

- *Detected*: from the event's begin, by the clock of who wrote it, until the exporter first showed trouble of
  a path that the event concerns, by the exporter's clock.
- *First alert*: from the event's begin until one of Prometheus' rules of paths, routers or brokers began to
  fire: the least of `inflight:event_alerted:seconds` over the time.
- *Recovered*: from the event's end until the first clean window of the last path that it touched begins, by
  the senders' clocks. In a clean window all that was sent was received, and all that was due was sent.
- Trouble counts for each event that goes on at its time, and for 30 s after.
"""
_TABLE: Final = """
## {title}

| name | type | unit | labels | help |
|---|---|---|---|---|
"""


def page() -> str:
    """Return the whole page."""
    buckets = ", ".join(f"{bound:g}" for bound in LATENCY_BUCKETS_SECONDS)
    return _HEAD.format(buckets=buckets) + "".join(_sections()) + _EVENTS + _STATES + states()


def states() -> str:
    """Return the table of states, which the runbook has, too."""
    lines = (f"| {state.rank} | {state.word} | {state.rule} |\n" for state in WORST_FIRST)
    return "| value | state | holds where |\n|---|---|---|\n" + "".join(lines)


def unit(metric: Metric) -> str:
    """Return the unit in a metric's name, or an empty text."""
    words = metric.name.removesuffix("_total").split("_")
    if "timestamp" in words or metric.name.endswith("_start_time_seconds"):
        return "seconds since 1970"
    return next((word for word in reversed(words) if word in _UNITS), "")


def _sections() -> Iterator[str]:
    for section in dict.fromkeys(metric.section for metric in CATALOGUE.values()):
        yield _TABLE.format(title=section[0].upper() + section[1:])
        for metric in CATALOGUE.values():
            if metric.section == section:
                labels = ", ".join(f"`{label}`" for label in metric.labels)
                cells = (f"`{metric.full_name}`", metric.kind, unit(metric), labels, metric.help)
                yield f"| {' | '.join(cells)} |\n"


def runbook() -> str:
    """Return the runbook with the table of states as it is now."""
    return _STATES_IN_TEXT.sub(lambda _: states(), RUNBOOK.read_text(encoding="utf-8"))


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
    RUNBOOK.write_text(runbook(), encoding="utf-8")
