"""Questions to a router's management: many at once over one connection."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Mapping
from typing import Any, Final

from collectors.amqp.options import read_options
from collectors.router import management, schema
from collectors.router.client import ManagementClient
from collectors.router.management import Nodes, Request
from collectors.router.replies import BadReply

_AT_ONCE: Final = 100  # a router drops replies, once 250 of them wait
_ANSWER_SECONDS: Final = 2.0


class Asking:
    """A connection to a router's management; PollError if there is none within so many seconds."""

    def __init__(self, url: str, seconds: float) -> None:
        self._client = ManagementClient(read_options(url), seconds)
        self._tags = itertools.count()

    def close(self) -> None:
        self._client.close()

    def ask(self, questions: Mapping[str, Request], until: float) -> dict[str, Any]:
        """Return the answers that came by `until` (of time.monotonic()), no refusals; raises PollError."""
        left = [*questions.items()]
        asked: dict[str, str] = {}
        answers: dict[str, Any] = {}
        while (left or asked) and time.monotonic() < until:
            while left and len(asked) < min(self._client.credit, _AT_ONCE):
                name, request = left.pop(0)
                tag = str(next(self._tags))
                asked[tag] = name
                self._client.send(tag, management.encode(request, tag, self._client.reply_to))
            for came in self._client.pump(until):
                if not isinstance(came, bytes):
                    asked.pop(came.tag, None)  # nobody is there to take it
                    continue
                try:
                    reply = management.decode(came)
                    if name := asked.pop(reply.tag, ""):
                        answers[name] = reply.checked_body()
                except BadReply:
                    continue
        return answers


def answers(url: str) -> bool:
    """Whether the router at `url` answers its management; raises PollError where nobody is."""
    with contextlib.closing(Asking(url, _ANSWER_SECONDS)) as asking:
        return bool(asking.ask({"itself": Nodes(schema.LOCAL)}, time.monotonic() + _ANSWER_SECONDS))
