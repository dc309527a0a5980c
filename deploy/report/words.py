"""The answer in a sentence, and the figures in words, as text and HTML have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from collectors.contract.untrusted_text import shown
from deploy.report.choose import clock, name_of
from deploy.report.model import Figures, PathPrice, Report
from streaming.wording import UNKNOWN, latency, seconds

_HAS_LENGTH: Final = re.compile(r"\bfor \d")


def answer(report: Report) -> str:
    """Return what the change cost."""
    name = name_of(report.event)
    if not _HAS_LENGTH.search(name) and report.long_ns:
        name += f" ({seconds(report.long_ns)})"
    during = report.total_during
    if during is None:
        return f"What {name} cost is not known: there are no windows of that time."
    if not report.touched:
        return f"{name} cost nothing that was seen: {_all_came(during)} on {_paths(len(report.paths))}."
    cost = [
        f"{count:,} {word}"
        for count, word in (
            (during.lost, "lost"),
            (during.refused, "refused"),
            (during.unobserved, "unobserved"),
            (during.unsent, "never sent"),
        )
        if count
    ]
    due = during.sent + during.unsent + during.stood_still
    said = [f"{name} touched {len(report.touched)} of {_paths(len(report.paths))}"]
    said.append(f"{_listed(cost)} of {due:,} messages due" if cost else f"all {due:,} messages came")
    said += _more(report, during)
    return "; ".join(said) + "."


def _more(report: Report, during: Figures) -> Iterator[str]:
    if during.down_ns:
        worst = max(report.paths, key=lambda price: price.during.down_ns if price.during else 0)
        yield f"down for {seconds(during.down_ns)} at the worst, on {shown(worst.path)}"
    before = report.total_before
    if before is not None and before.p99_ns is not None and during.p99_ns is not None:
        yield f"p99 {latency(before.p99_ns)} before, {latency(during.p99_ns)} during"
    if report.ended_ns is None:
        yield "its end was not told"
    elif report.recovered_ns is not None:
        yield f"all clean again {seconds(report.recovered_ns)} after its end"
    elif any(set(price.what) & {"lost", "refused", "held back"} for price in report.paths):
        yield "not all clean again in what is known"


def _all_came(during: Figures) -> str:
    unseen = f", {during.unobserved:,} were not observed" if during.unobserved else ""
    return f"{during.received:,} of {during.sent:,} messages came{unseen}"


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _paths(count: int) -> str:
    return f"{count} path{'s' * (count != 1)}"


def facts(report: Report) -> list[tuple[str, str]]:
    """Return what is told of the event as a whole."""
    went_on = f"for {seconds(report.long_ns)}" if report.ended_ns is not None else "its end was not told"
    if report.event.until_ns is None and report.ended_ns is not None:
        went_on = "a moment"
    found = [("begun", f"{clock(report.event.at_ns)} UTC, {went_on}")]
    if report.event.do:
        found.append(("action", shown(f"{report.event.do} {report.event.what}".strip())))
    found.append(
        ("detected", UNKNOWN if report.detected_ns is None else f"after {seconds(report.detected_ns)}")
    )
    if report.alert is not None:
        alert = f"after {seconds(report.alert.after_ns)}: {shown(report.alert.name)}"
    else:
        alert = "none fired" if report.alerts_asked else "not asked for: --prometheus URL"
    found.append(("first alert", alert))
    found.append(("recovered", _recovered(report)))
    long = [seconds(span.length_ns) for span in (report.before, report.during, report.after)]
    found.append(("compared", f"{long[0]} before, {long[1]} during, {long[2]} after it was over"))
    return found


def _recovered(report: Report) -> str:
    if report.ended_ns is None:
        return UNKNOWN
    if report.recovered_ns is not None:
        return f"{seconds(report.recovered_ns)} after its end"
    bad = any(set(price.what) & {"lost", "refused", "held back"} for price in report.paths)
    return "not in what is known" if bad else UNKNOWN


ROWS: Final = (
    *("sent", "received", "refused", "lost", "unobserved", "never sent"),
    *("down at the worst", "p50", "p99", "max"),
)


def column(figures: Figures | None) -> list[str]:
    """Return the texts of `ROWS`."""
    if figures is None:
        return [UNKNOWN] * len(ROWS)
    counts = (figures.sent, figures.received, figures.refused, figures.lost, figures.unobserved)
    latencies = map(latency, (figures.p50_ns, figures.p99_ns, figures.max_ns))
    return [*(f"{count:,}" for count in (*counts, figures.unsent)), seconds(figures.down_ns), *latencies]


PATH_COLUMNS: Final = (
    *("path", "down", "lost", "refused", "unobs.", "unsent", "p99 before", "during", "touched"),
)


def path_cells(price: PathPrice) -> list[str]:
    """Return the texts of `PATH_COLUMNS`."""
    during, before = price.during, price.before
    if during is None:
        return [shown(price.path), *[UNKNOWN] * 7, "not seen"]
    counts = (during.lost, during.refused, during.unobserved, during.unsent)
    return [
        shown(price.path),
        seconds(during.down_ns),
        *(f"{count:,}" for count in counts),
        latency(before.p99_ns if before else None),
        latency(during.p99_ns),
        ", ".join(price.what) or "no",
    ]


def rerouted(report: Report) -> Iterator[tuple[str, dict[str, int], dict[str, int]]]:
    """Yield the paths that took other ways, with their routes before and during."""
    for price in report.paths:
        if price.before and price.during and set(price.before.routes) ^ set(price.during.routes):
            yield shown(price.path), dict(price.before.routes), dict(price.during.routes)


def remarks(report: Report) -> Iterator[str]:
    """Yield what a reader has to know of the figures."""
    yield from map(shown, report.notes)
    for other in report.others:
        yield f"another event went on near it, and its trouble is in these figures: {name_of(other)}"
    for reason, count in report.left_out.items():
        yield f"left out: {count:,} {reason}"


LEGEND: Final = (
    "before: whole windows before the event, for as long as it and its recovery took, at least 30 s, at most"
    " 10 min. during: all windows that meet the event or its recovery, and those in which what it had held"
    " back was sent. after: for as long as before. down: outage, and time in which nothing was taken that was"
    " due. never sent: due and given up, not among those sent. Percentiles are of response latency, from"
    " merged histograms. slower: the median during is above the p99 of before. rerouted: a way was taken that"
    " was not taken before."
)
