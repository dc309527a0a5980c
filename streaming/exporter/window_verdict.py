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
    classes = row["classes"]
    if classes.get("lost", 0) or classes.get("refused", 0) or unsent(row) or not_taken_ns(row):
        return "bad"
    if not row["sent"] or classes.get("unobserved", 0) or stood_still(row):
        return "blind"
    return "clean"


def unsent(row: WindowRow) -> int:
    """Return how many messages were due and given up, as the network took none."""
    given_up = row["unsent"]
    return sum(given_up.get(reason, 0) for reason in _HELD_BACK) if given_up else 0


def stood_still(row: WindowRow) -> int:
    """Return how many messages were due and given up, as the sender's process stood still."""
    return row["unsent"].get("stalled", 0)


def not_taken_ns(row: WindowRow) -> int:
    """Return for how long the network took nothing that was due; not known where the sender stood still."""
    return 0 if stood_still(row) else row["stalled_ns"]
