"""Prints a history's truth beside the rows of the core.

python -m tests.streaming.attribution.simulated SEED FAULT
"""

# ruff: noqa: T201 -- it is for a person to read

from __future__ import annotations

import argparse
from collections import Counter

from collectors.contract.attribution_rows import AttributionRow
from streaming.attribution import Attribution

from . import checks, drive
from .faults import FAULTS
from .history import History, simulate
from .parts import SECOND, T0
from .truth import Names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("fault", choices=FAULTS)
    parser.add_argument("--further", nargs="*", default=[], choices=FAULTS, help="faults that come later")
    parser.add_argument("--disturbed", action="store_true", help="polls are lost, other traffic is dropped")
    parser.add_argument("--all", action="store_true", help="each revision, not only what counts at the end")
    parser.add_argument("--truth", action="store_true", help="the truth alone, without the core")
    arguments = parser.parse_args()
    history = simulate(
        arguments.seed, arguments.fault, further=tuple(arguments.further), disturbed=arguments.disturbed
    )
    _tell_truth(history)
    if arguments.truth:
        return
    rows = drive.drive(history.places, history.items, Attribution)
    for row in rows if arguments.all else drive.last(rows):
        _tell_row(row)
    for text in [*checks.broken(history, rows), *checks.untold(history, rows)]:
        print("BROKEN", text)


def _tell_truth(history: History) -> None:
    plan = history.plan
    ways = " ".join(f"{one}-{other}({cost})" for one, other, cost in plan.ways)
    print(f"{plan.flavour} {plan.shape}: {ways}; a poll each {plan.poll_ns // SECOND} s")
    for path in plan.paths:
        kind = "presettled" if path.presettled else "acknowledged"
        via = f" via {path.via} at {plan.bound_at}" if path.via else ""
        marked = ", marked" if path.marking_ns else ""
        print(f"{path.name}: {path.sender} to {', '.join(path.receivers)}{via}, {kind}{marked}")
        for start, window in sorted(history.truth.paths[path.name].items()):
            for of in checks.SUMS:
                names: Counter[Names] = window.of(of)
                for each, count in names.items():
                    words = " or ".join(f"{cause} at {hop}" for hop, cause in each) or "told by no counter"
                    print(f"  {(start - T0) // SECOND:4} s {of} {count}: {words}")


def _tell_row(row: AttributionRow) -> None:
    state = "final" if row["final"] else "provisional"
    begin, end = ((row[name] - T0) // SECOND for name in ("from_ns", "to_ns"))
    print(f"ROW {row['path']} {row['kind']} {begin}-{end} s, revision {row['revision']}, {state}")
    print(f"    {row['sentence']}")
    print(
        f"    lost {row['lost']} (unexplained {row['unexplained_lost']}),"
        f" refused {row['refused']} (unexplained {row['unexplained_refused']}), not exact: {row['not_exact']}"
    )
    for hop in row["hops"]:
        marks = " exact" * hop["exact"] + " shared" * hop["shared"]
        bounds = f"[{hop['lower']}, {hop['upper']}]"
        print(f"    {hop['hop']} {hop['cause']} {hop['of']}: {hop['said']} of {bounds}{marks}")
        for text in hop["evidence"]:
            print(f"        {text}")


if __name__ == "__main__":
    main()
