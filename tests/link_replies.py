"""Captured replies of a real Artemis with links, by what happens to its peer."""

from __future__ import annotations

import json
from typing import Any, Final

from replay import CAPTURES

from collectors.broker import poll, products
from collectors.broker.poll import QueueSelection
from collectors.broker.replies import read_replies
from collectors.broker.snapshot import BrokerSnapshot
from collectors.config.model import Queues

STATES: Final[dict[str, list[Any]]] = json.loads((CAPTURES / "artemis-2.44.0-links.json").read_text())


def look(
    replies: list[Any], queues: Queues | None = None, feeding: tuple[str, ...] = ("orders",)
) -> BrokerSnapshot:
    """Read those of the replies that answer what would be asked; 404 for all else."""
    queues = queues or Queues()
    asked = poll.requests(products.ARTEMIS, queues, QueueSelection(), feeding)
    by_bean = {reply["request"]["mbean"]: reply for reply in replies}
    found = [by_bean.get(item.request.mbean, {"status": 404}) for item in asked]
    return read_replies(asked, found, products.ARTEMIS, queues, (1, 2))
