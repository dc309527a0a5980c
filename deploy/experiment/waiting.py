"""How many messages wait in brokers' queues for a receiver, as the polls of a run tell."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

from collectors.contract.telemetry import Telemetry

_QUEUE: Final = "queue"


class Waiting:
    """A number for each broker and poll; for one thread at a time, of as many polls as a run has."""

    def __init__(self) -> None:
        self._found: dict[str, dict[int, int]] = {}  # by broker and time

    def take(self, record: Telemetry) -> None:
        """Take what was told of queues: those on their way to a receiver wait no more."""
        if record.entity != _QUEUE:
            return
        waiting = sum(_number(row.get("messages")) - _number(row.get("delivering")) for row in record.rows)
        polls = self._found.setdefault(record.target, {})
        polls[record.at_ns] = polls.get(record.at_ns, 0) + max(0, waiting)  # it may come in parts

    def means(self, spans: Sequence[tuple[int, int]]) -> dict[str, float]:
        """Return the mean of the polls of these times, for each broker of which there is one."""
        found = {
            target: [
                number
                for at_ns, number in polls.items()
                if any(from_ns <= at_ns < to_ns for from_ns, to_ns in spans)
            ]
            for target, polls in self._found.items()
        }
        return {target: fmean(numbers) for target, numbers in found.items() if numbers}


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
