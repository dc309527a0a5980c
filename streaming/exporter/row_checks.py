"""What must hold for the figures of each row, whatever happened in the network."""

from __future__ import annotations

from collectors.contract.records import UNSENT_REASONS
from collectors.contract.window_rows import NO_CLASS, WindowRow
from streaming.exporter.decoded_histogram import cumulative
from streaming.exporter.moves import MOVES, RARE_MOVES
from streaming.exporter.path_counters import PLAIN


def faults(row: WindowRow) -> list[str]:
    """Return what does not add up in this row, in words; a list with entries is a fault of the accounting.

    Raises ValueError if a histogram cannot be read.
    """
    classes = row["classes"]
    received = classes.get("received", 0)
    found = []

    def equal(what: str, left: int, right: int) -> None:
        if left != right:
            found.append(f"{what}: {left} against {right}")

    equal("classes against sent", sum(classes.values()), row["sent"])
    equal("refused by outcome against refused", sum(row["refused"].values()), classes.get("refused", 0))
    equal("lost by outcome against lost", sum(row["lost"].values()), classes.get("lost", 0))
    for basis, latency in (("response", row["response"]), ("service", row["service"])):
        equal(f"{basis} latencies against received", latency["count"] if latency else 0, received)
        if latency and latency["count"]:
            equal(f"{basis} histogram against its count", cumulative(latency["hdr"]).total, latency["count"])
    found += [f"{name} is negative: {value}" for name, value in _counts(row).items() if value < 0]
    if row["lost_detached"] > classes.get("lost", 0):
        found.append(f"lost while detached {row['lost_detached']} of {classes.get('lost', 0)} lost")
    if row["revision"] == 0 and row["moves"]:
        found.append("moves in revision 0")
    found += [f"unknown move {move}" for move in row["moves"] if move not in {*MOVES, *RARE_MOVES}]
    found += [
        f"unknown reason {reason} for unsent" for reason in row["unsent"] if reason not in UNSENT_REASONS
    ]
    found += _before_moves(row)
    return found


def _counts(row: WindowRow) -> dict[str, int]:
    """Return all counts of the row by name."""
    plain: dict[str, int] = {name: row[name] for name in PLAIN}
    return plain | {str(name): n for name, n in row["classes"].items()} | row["unsent"]


def _before_moves(row: WindowRow) -> list[str]:
    """Return the classes of revision 0 that the moves would make negative."""
    before = {str(name): count for name, count in row["classes"].items()}
    for move, count in row["moves"].items():
        source, _, target = move.partition(">")
        before[source] = before.get(source, 0) + count
        before[target] = before.get(target, 0) - count
    return [
        f"moves make {name} {value} in revision 0"
        for name, value in before.items()
        if value < 0 and name != NO_CLASS
    ]
