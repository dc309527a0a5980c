"""Where collectors put what they find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import Topic
from collectors.polling.metric_cache import Board
from collectors.polling.poll_metrics import Polls

Publish = Callable[[Topic, Telemetry], None]


@dataclass(frozen=True, slots=True)
class Outlet:
    """`publish` is called from the collectors' threads, with the topic, and must not block for long."""

    site: str
    board: Board
    polls: Polls
    publish: Publish

    def excuse(self) -> Callable[[], bool]:
        """Whether this process has stood still since it was asked last: a failure then is nobody else's."""
        known = self.board.steady.still_seconds()

        def excused() -> bool:
            nonlocal known
            before, known = known, self.board.steady.still_seconds()
            return known != before

        return excused
