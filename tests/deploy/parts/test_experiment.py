"""An experiment: parts at work, something is changed, and rows give the verdict. No command, no process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest
from helpers import wait_until
from standin_clients import StandIn

from collectors.config.model import Config
from collectors.contract.window_rows import WindowRow, decode_window
from deploy.parts.collect import CollectPart
from deploy.parts.probe import ProbePart
from deploy.parts.run import RunPart

pytestmark = pytest.mark.slow

ANY_PORT = "127.0.0.1:0"
SETTLED = 3  # windows that have to be final before the change, and after it


def experiment(config: Config, change: Callable[[], object]) -> tuple[list[WindowRow], list[WindowRow]]:
    """Returns the final rows of windows that were over before the change, and of those after it."""
    rows: list[WindowRow] = []

    def keep(row: bytes) -> None:
        rows.append(decode_window(row))

    with ExitStack() as running:
        for part in (
            CollectPart(config, listen=ANY_PORT),
            ProbePart(config, ["two"], listen=ANY_PORT),
            RunPart(config, ["one"], listen=ANY_PORT, on_row=keep),
        ):
            running.enter_context(part)
            wait_until(lambda part=part: part.not_ready() is None, 30, f"{part} to be ready")
        wait_until(lambda: len(rows) >= SETTLED, 60, "windows before the change")
        before = len(rows)
        change()
        wait_until(lambda: len(rows) >= before + SETTLED + 2, 60, "windows after it")
    return rows[:before], rows[before:]


@pytest.mark.parametrize("count", [0, 4])
def test_messages_that_a_router_drops(config: Config, router: StandIn, count: int) -> None:
    """Are lost, exactly so many and no other; where none is dropped none is lost."""
    config.paths["one"] = config.paths["one"].model_copy(update={"presettled": True})
    before, after = experiment(
        config, lambda: count and router.tell(kind="drop", address="closest/one", count=count)
    )
    assert [row["classes"]["lost"] for row in before] == [0] * len(before)
    assert sum(row["classes"]["lost"] for row in after) == count
