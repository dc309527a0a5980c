"""How much data from outside may make one path hold. A deployment never comes near these bounds."""

from __future__ import annotations

from typing import Final, Literal

SECOND_NS: Final = 1_000_000_000

AHEAD_NS: Final = 600 * SECOND_NS  # times further beyond Kafka's append time are a broken clock, or forged
ENDS: Final = 512  # of a path, those that ended within the horizon included
STREAMS: Final = 128  # of a window
NUMBERS: Final = 4_000_000  # of a stream in one second
NUMBER_RANGES: Final = 65_536  # of received numbers, of a stream in one second
ROUTES: Final = 64  # of a window; further ones are counted under `other`
SPANS: Final = 1_024  # gaps or detachments of an end; beyond, neighbours are taken together
RECORD_RANGES: Final = 1_024  # of an end's record numbers; beyond, the oldest hole is given up
ROWS: Final = 512  # that one record may make; the rest follows with the next ones

WINDOWS: Final = 4_096  # open at a time

# Why the accounting refuses a record; records.BadRecordReason tells why bytes are no record at all.
Reason = Literal["alien", "future", "times", "ends", "windows", "streams", "numbers", "runs"]
