"""Links for questions about clocks: what is told of them when a router takes them away."""

from __future__ import annotations

import logging
from typing import Any
from unittest import mock

import pytest

from collectors.probe.engine.side_links import AmqpListener, AmqpNoteSender

REFUSED = "amqp:unauthorized-access: link disallowed by local policy"


@pytest.mark.parametrize(
    "make", [lambda it: AmqpNoteSender(it, "clock"), lambda it: AmqpListener(it, "clock", lambda _: None)]
)
def test_a_refusal_is_told_once(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    """With where the right stands; it is tried again each second, and other ends are no news."""
    caplog.set_level(logging.DEBUG, "inflight.probe")
    link = make(mock.Mock())
    for reason in ("connection lost", REFUSED, REFUSED, "connection lost", REFUSED):
        link.on_lost(reason)
    aloud = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert aloud == [f"clock: gone: {REFUSED}; see deploy/rights/README.md"]
    assert len(caplog.records) == 5
