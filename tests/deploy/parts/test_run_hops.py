"""`inflight run` names the hop: probes, collector, accounting and attribution in one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import wait_until
from standin_clients import StandIn

from collectors.config.model import Config
from deploy.parts.run import RunPart

pytestmark = pytest.mark.slow

DROPPED = 4


def test_what_a_router_drops_is_named(
    config: Config, router: StandIn, tmp_path: Path, metric: Callable[..., float]
) -> None:
    """In metrics and the archive, with all messages; a stand-in counts them where they came in."""
    config.paths["one"] = config.paths["one"].model_copy(update={"presettled": True})
    archive = tmp_path / "archive"
    with RunPart(config, ["one"], listen="127.0.0.1:0", archive=archive) as run:
        wait_until(lambda: metric(run, "path_messages_total", path="one") > 200, 60, "messages")
        router.tell(kind="drop", address="closest/one", count=DROPPED)
        wait_until(lambda: metric(run, "path_explained_messages_total") == DROPPED, 120, "what explains them")
        named = {"path": "one", "hop": router.id, "cause": "no_route"}
        assert metric(run, "path_explained_messages_total", **named) == DROPPED
        assert metric(run, "path_messages_total", path="one", **{"class": "lost"}) == DROPPED
        assert metric(run, "path_unexplained_messages_total") == 0
    assert [*(archive / "attribution").rglob("*.parquet")]
