"""The answer in one sentence, with its sum."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from collectors.contract.attribution_rows import AttributionRow, Hop
from streaming.attribution.causes import SAYS

OTHER_RECEIVER: Final = "another receiver of its address takes messages at "
MOST_HOPS: Final = 3  # are named; the others are told as a sum
_MOST: Final = 0.9  # of a delay at one hop: the rest needs no word
_MS_NS: Final = 1_000_000


def sentence(row: AttributionRow) -> str:
    """Return what people read first: in alerts, on the page, above the table of `inflight why`."""
    if row["merged_into"] is not None:
        return f"part of the episode of {clock(row['merged_into'])} UTC"
    if row["slow"] is not None:
        return _slow(row)
    missing = row["lost"] + row["refused"]
    if not missing and not row["suspect"]:
        late = _named(row["hops"], "late", 0)
        return f"nothing is missing {_when(row)}" + (f", but late: {late}" if late else "")
    if not missing:
        named = _named(row["hops"], "late", row["suspect"])
        named = named or "where is not known yet"
        return f"{row['suspect']:,} missing for longer than usual {_when(row)}: {named}"
    sums = {of: count for of, count in (("lost", row["lost"]), ("refused", row["refused"])) if count}
    told = [f"{count:,} {of}" for of, count in sums.items()]
    told[0] = told[0].replace(" ", f" of {row['sent']:,} ", 1)
    parts = [(of, _named(row["hops"], of, count)) for of, count in sums.items()]
    unexplained = row["unexplained_lost"] + row["unexplained_refused"]
    apart = len(sums) > 1
    named = "; ".join(f"of the {of} {part}" if apart else part for of, part in parts if part)
    if not named:
        named = "where is not known"
        if row["not_exact"].startswith(OTHER_RECEIVER):
            named = row["not_exact"]
    elif unexplained:
        named += f", {unexplained:,} unexplained"
    return f"{' and '.join(told)} {_when(row)}: {named}"


def _named(hops: list[Hop], of: str, missing: int) -> str:
    shown = [hop for hop in hops if hop["of"] == of and (hop["said"] or (of == "late" and hop["upper"]))]
    if not shown:
        return ""
    parts = [_hop(hop, missing) for hop in shown[:MOST_HOPS]]
    rest = sum(hop["said"] for hop in shown[MOST_HOPS:])
    return ", ".join([*parts, *([f"{rest:,} elsewhere"] if rest else [])])


def _hop(hop: Hop, missing: int) -> str:
    count = f"{hop['said'] or hop['upper']:,}"
    if hop["lower"] < (hop["said"] or hop["upper"]):
        count = f"{hop['lower']:,} to {count}" if hop["lower"] else f"up to {count}"
    if missing and hop["said"] == missing and hop["lower"] == missing:
        count = f"all {hop['said']:,}" if missing > 1 else "it"
    if hop["cause"] == "gone":
        return f"{count} gone with {hop['hop']}"
    return f"{count} {SAYS[hop['cause']]} {_place(hop)}"


def _place(hop: Hop) -> str:
    return f"{'in' if hop['kind'] == 'queue' else 'at'} {hop['hop']}"


def _slow(row: AttributionRow) -> str:
    slow = row["slow"]
    assert slow is not None  # noqa: S101 -- for mypy
    # Without a normal it is above an objective's bound.
    usual = f"{_ms(slow['normal_ns'])} → " if slow["normal_ns"] else ""
    told = f"p{slow['percentile']} {usual}{_ms(slow['now_ns'])} {_when(row)}"
    hops = [hop for hop in row["hops"] if hop["of"] == "late"]
    if not hops:
        return f"{told}: where is not known"
    first, excess_ns = hops[0], slow["now_ns"] - slow["normal_ns"]
    part = " of it" if first["delay_ns"] < _MOST * excess_ns else ""
    delay = f"{_ms(first['delay_ns'])}{part} " if first["delay_ns"] else ""
    why = f" ({first['evidence'][0]})" if first["evidence"] else ""
    return f"{told}: {delay}{SAYS['waiting']} {_place(first)}{why}"


def _ms(ns: int) -> str:
    if ns >= 10_000 * _MS_NS:
        return f"{ns / 1e9:.0f} s"
    return f"{ns / _MS_NS:,.3g} ms" if ns < 1_000 * _MS_NS else f"{ns / 1e9:.2g} s"


def _when(row: AttributionRow) -> str:
    if row["open"]:
        return f"since {clock(row['from_ns'])} UTC"
    to = clock(row["to_ns"])
    return f"{clock(row['from_ns'])}-{to[-2:] if _same_minute(row) else to} UTC"


def _same_minute(row: AttributionRow) -> bool:
    return row["from_ns"] // 60_000_000_000 == row["to_ns"] // 60_000_000_000


def clock(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9, UTC).strftime("%H:%M:%S")
