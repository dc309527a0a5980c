"""Which hop: faults done to a network on purpose, and whether their hop is named, with bounds that hold.

python tests/bench/stories.py [--router qdrouterd|skrouterd] [--kafka] [--poll 5s] [--only FAULT …]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

from _stories_faults import FAULTS, Expected, Fault
from _stories_run import Played, Told, play_fault
from rich.console import Console
from rich.table import Table

from deploy.topology.programs import PROGRAMS

RESULTS = Path(__file__).parents[2] / ".inflight" / "bench"
_STAND_IN = ".stand-in"  # what a stand-in's id has after its name
Json = dict[str, Any]


def main() -> None:
    """Play the faults one after the other; print the table, and write it with all rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--router", choices=("qdrouterd", "skrouterd"), help="real ones; else stand-ins")
    parser.add_argument("--kafka", action="store_true", help="with Kafka and Spark, not in one process")
    parser.add_argument("--poll", default="1s", help="the interval of routers' and brokers' collectors")
    parser.add_argument("--only", nargs="+", choices=FAULTS, default=[*FAULTS])
    parser.add_argument("--minutes", type=float, default=3.0, help="of no fault")
    asked = parser.parse_args()
    if asked.router and shutil.which(PROGRAMS[asked.router].command) is None:
        parser.error(f"{asked.router} is not on the PATH")
    os.nice(5)
    kind = f"{asked.router or 'stand-ins'}{'-kafka' if asked.kafka else ''}-{asked.poll}"
    results = RESULTS / f"stories-{kind}.json"
    results.parent.mkdir(parents=True, exist_ok=True)
    found: Json = json.loads(results.read_text()) if results.exists() else {}
    for name in asked.only:
        sys.stderr.write(f"{kind}: {FAULTS[name].says}\n")
        with tempfile.TemporaryDirectory() as folder:
            played = play_fault(
                FAULTS[name],
                Path(folder),
                program=asked.router,
                kafka=asked.kafka,
                poll=asked.poll,
                quiet_seconds=asked.minutes * 60,
            )
        found[name] = judged(FAULTS[name], played)
        results.write_text(json.dumps(found, indent=1) + "\n")
        _tell(kind, {name: found[name]})
    _tell(kind, found)


@dataclass(frozen=True)
class _Claim:
    """What the rows of a path say of one hop and cause: all of them together."""

    hop: str
    cause: str
    of: str
    lower: int
    upper: int
    said: int
    exact: bool

    def meets(self, expected: Expected) -> bool:
        return (self.hop in expected.hops or "*" in expected.hops) and self.cause in expected.causes

    def __str__(self) -> str:
        bounds = "exact" if self.exact else f"{self.lower:,} to {self.upper:,}"
        return f"{self.hop} {self.cause}: {self.said:,} ({bounds})"


def judged(fault: Fault, played: Played) -> Json:
    """Return a row of the table: what was said, what was true, and whether they agree."""
    told, ends = played.told["told"], played.ends["told"]
    claims = _claims(told)
    truths = [_truth(one, played) for one in fault.expected]
    holds = [
        _holds([claim for claim in claims if claim.meets(one)], count)
        for one, count in zip(fault.expected, truths, strict=True)
        if one.of != "late"
    ]
    sums = told.sums()
    is_whole = not (ends["lost"] or ends["refused"] or any(one.of == "late" for one in fault.expected))
    return {
        "fault": fault.says,
        "first_seconds": told.first_seconds,
        "after_suspects_seconds": _after(told.first_seconds, told.suspected_seconds, told.counted_seconds),
        "after_final_seconds": _after(told.first_seconds, told.counted_seconds),
        "exact_seconds": told.exact_seconds,
        "final_seconds": told.final_seconds,
        "not_exact": "; ".join(
            dict.fromkeys(row["not_exact"] for row in told.standing() if row["not_exact"])
        ),
        "said": [str(claim) for claim in claims],
        "sums": sums,
        "true": {"sent": ends["sent"], "lost": ends["lost"], "refused": ends["refused"]},
        "counted": dict(played.counted),
        "truth": truths,
        "right_first": any(claims[0].meets(one) for one in fault.expected) if claims else is_whole,
        "all_named": is_whole or all(any(claim.meets(one) for claim in claims) for one in fault.expected),
        "in_bounds": all(holds),
        "sums_right": sums == {of: ends[of] for of in sums},
        "sentences": [row["sentence"] for row in told.standing()],
        "other": [row["sentence"] for row in played.told["other"].standing()],
        "other_true": played.ends["other"],
        "rows": told.standing(),
        "other_rows": played.told["other"].standing(),
    }


def _after(first: float | None, *began: float | None) -> float | None:
    """Return for how long a verdict was waited for, since the first of what called for one."""
    known = [at for at in began if at is not None]
    return None if first is None or not known else max(0.0, first - min(known))


def _claims(told: Told) -> list[_Claim]:
    """Return what is said of each hop, in the order of the rows."""
    by_hop: dict[tuple[str, str, str], list[Json]] = {}
    for row in told.standing():
        for hop in row["hops"]:
            by_hop.setdefault((hop["hop"].replace(_STAND_IN, ""), hop["cause"], hop["of"]), []).append(hop)
    return [
        _Claim(
            *key,
            lower=sum(hop["lower"] for hop in hops),
            upper=sum(hop["upper"] for hop in hops),
            said=sum(hop["said"] for hop in hops),
            exact=all(hop["exact"] for hop in hops),
        )
        for key, hops in by_hop.items()
    ]


def _truth(expected: Expected, played: Played) -> int:
    """Return how many were missing there: by its counter, or by the ends less what other hops counted."""
    if expected.of == "late":
        return 0
    if expected.counted is not None:
        # A message whose settlement was lost may have been received and be counted, too.
        return min(played.counted[expected.counted], played.ends["told"][expected.of])
    return played.ends["told"][expected.of] - (played.counted["dropped"] if expected.of == "lost" else 0)


def _holds(claims: list[_Claim], count: int) -> bool:
    return sum(claim.lower for claim in claims) <= count <= sum(claim.upper for claim in claims)


def _tell(kind: str, found: Json) -> None:
    heads = ("fault", "first s", "after suspects", "after final", "exact s", "said")
    table = Table(*heads, "true", "right first", "in bounds", title=kind)
    for row in found.values():
        exact = row["exact_seconds"]
        said = "\n".join(row["said"]) or "nothing"
        true = ", ".join(f"{count:,} {of}" for of, count in row["true"].items() if of != "sent" and count)
        table.add_row(
            row["fault"],
            *(
                _seconds(row[name])
                for name in ("first_seconds", "after_suspects_seconds", "after_final_seconds")
            ),
            _seconds(exact) if exact is not None else f"– {row['not_exact']}",
            said,
            f"{true or 'none'}; there {row['truth']}",
            _yes(row["right_first"]),
            _yes(row["in_bounds"]),
        )
    Console(width=170).print(table)


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def _yes(value: bool) -> str:  # noqa: FBT001 -- a figure
    return "yes" if value else "NO"


if __name__ == "__main__":
    main()
