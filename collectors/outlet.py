"""Where collectors put what they find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from collectors.board import Board
from collectors.polls import Polls
from collectors.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class Outlet:
    """`publish` is called from the collectors' threads and must not block for long."""

    site: str
    board: Board
    polls: Polls
    publish: Callable[[Telemetry], None]
