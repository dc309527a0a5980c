"""How much one path may hold: what data from outside must not exceed. A deployment never comes near them."""

from __future__ import annotations

from typing import Final, Literal

SECOND_NS: Final = 1_000_000_000

AHEAD_NS: Final = 600 * SECOND_NS  # times beyond Kafka's append time by more are a broken clock, or forged
ENDS: Final = 512  # of a path, those that ended within the horizon included
STREAMS: Final = 128  # of a window
NUMBERS: Final = 4_000_000  # of a stream in one second
RUNS: Final = 65_536  # of received numbers, of a stream in one second
ROUTES: Final = 64  # of a window; further ones are counted under `other`
SPANS: Final = 1_024  # gaps or detachments of an end; beyond, neighbours are taken together
RANGES: Final = 1_024  # of an end's record numbers; beyond, the oldest hole is given up
ROWS: Final = 512  # that one record may bring forth; the rest follows with the next ones

WINDOWS: Final = 4_096  # open at a time

# Why a record is refused by the accounting; records.BadRecordReason are those of bytes that are no record.
Reason = Literal["alien", "future", "times", "ends", "windows", "streams", "numbers", "runs"]
