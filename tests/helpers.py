"""Helpers for tests of all parts: `from helpers import free_port, wait_until`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

from deploy.embedded.supervise.ports import free_port

__all__ = ["free_port", "missing", "optional", "wait_until"]

T = TypeVar("T")


def wait_until(condition: Callable[[], T], seconds: float, what: str, *, every_seconds: float = 0.05) -> T:
    """Return the first true value of the condition; fail the test, naming `what`, after `seconds`.

    A condition that raises counts as not met; the last exception is told with the failure.
    """
    deadline = time.monotonic() + seconds
    last: object = None
    while True:
        try:
            last = value = condition()
            if value:
                return value
        except Exception as e:  # noqa: BLE001 -- what is not there yet may raise anything
            last = e
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds:g} s in vain for {what}; at last it was {last!r}")
        time.sleep(every_seconds)


def missing(program: str) -> None:
    """Skip a test whose program is missing; fail it if INFLIGHT_REQUIRE_ALL=1."""
    text = f"needs {program}, which is not on this machine"
    if os.environ.get("INFLIGHT_REQUIRE_ALL") == "1":
        pytest.fail(text)
    pytest.skip(text)


OPTIONAL = "optional: "


def optional(program: str) -> None:
    """Skip a test whose program is missing and in no package, even if INFLIGHT_REQUIRE_ALL=1."""
    pytest.skip(f"{OPTIONAL}{program} is not on this machine")
