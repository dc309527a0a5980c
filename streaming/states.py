"""The states of a path: the one table that exporter, live page, terminal and Grafana share.

A path is in the first state of `STATES` whose rule holds. Lists are sorted by rank, the worst first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collectors.contract.window_rows import Class

Colour = Literal["red", "orange", "yellow", "purple", "blue", "grey", "green"]

SILENT_SECONDS: Final = 30
OUTAGE_SECONDS: Final = 1
BEHIND_SECONDS: Final = 1
RECENT_SECONDS: Final = 60

_RECENT: Final = f"in the final windows of the last {RECENT_SECONDS} s"


class State(NamedTuple):
    """A state in a word, and when a path is in it; each display has its own shade of the colour."""

    word: str
    rank: int  # the higher, the worse; the value of the metric, with gaps so that others fit in between
    colour: Colour
    rule: str
    counts: Class | None = None  # messages of this class in the recent windows make the state


class Diagnosis(NamedTuple):
    """The state that a path is in, and why."""

    state: State
    reason: str


# Maintenance and missing data come first: what else is known of the path is then expected, or of the past.
STATES: Final = (
    State("maintenance", 20, "blue", "An event of maintenance that concerns the path is going on."),
    State("waiting", 10, "grey", "No row of the path has come yet."),
    State("silent", 80, "purple", f"No row of the path has come for more than {SILENT_SECONDS} s."),
    State("outage", 100, "red", f"Nothing of what was sent was delivered for {OUTAGE_SECONDS} s or longer."),
    State("losing", 90, "orange", f"Messages were lost {_RECENT}.", "lost"),
    State("behind", 70, "yellow", f"Messages due more than {BEHIND_SECONDS} s ago are not sent yet."),
    State("suspect", 60, "yellow", "Messages are missing for longer than usual; they may still come."),
    State("refused", 50, "yellow", f"Messages were refused {_RECENT}.", "refused"),
    State("blind", 40, "purple", f"Messages were not observed {_RECENT}.", "unobserved"),
    State(
        "slow",
        30,
        "yellow",
        f"Of the messages received {_RECENT} more missed the bound of a latency objective than it allows,"
        " rounded up to whole messages.",
    ),
    State("ok", 0, "green", "None of the others holds."),
)
BY_WORD: Final = {state.word: state for state in STATES}
WORST_FIRST: Final = tuple(sorted(STATES, key=lambda state: -state.rank))
