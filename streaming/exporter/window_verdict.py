"""What a final window says of the network: that all went well, that not, or nothing."""

from __future__ import annotations

from typing import Final, Literal

from collectors.contract.window_rows import WindowRow

Verdict = Literal["clean", "bad", "blind"]

_HELD_BACK: Final = ("no_connection", "no_credit", "guard")  # why the network's side kept messages from going


def verdict(row: WindowRow) -> Verdict:
    """Return `bad` where messages were lost, refused, given up unsent or not taken for a second or longer.

    `blind` says neither: nothing was sent, something was not observed, or the sender's process stood still.
    """
    classes, unsent = row["classes"], row["unsent"]
    stood_still = unsent.get("stalled", 0) > 0
    if classes.get("lost", 0) or classes.get("refused", 0) or held_back(row):
        return "bad"
    if row["stalled_ns"] and not stood_still:
        return "bad"
    if not row["sent"] or classes.get("unobserved", 0) or stood_still:
        return "blind"
    return "clean"


def held_back(row: WindowRow) -> int:
    """Return how many messages were due and given up, as the network took none."""
    return sum(row["unsent"].get(reason, 0) for reason in _HELD_BACK)
