"""Why a poll failed."""

from __future__ import annotations

from typing import Literal

Failure = Literal["timeout", "refused", "auth", "tls", "denied", "lost", "bad_reply"]


class PollError(Exception):
    """The target cannot be asked, or gave no usable answer; `failure` is the poll's result in the metrics."""

    def __init__(self, failure: Failure, text: str) -> None:
        super().__init__(text)
        self.failure = failure
