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

_AT_ONCE: Final = 20  # on their way: more of them would keep a mesh from finding its ways
_ANSWER_SECONDS: Final = 2.0
_LOST_SECONDS: Final = 10.0  # after which a question is asked again


class Asking:
    """A connection to a router's management; PollError if there is none within so many seconds."""

    def __init__(self, url: str, seconds: float) -> None:
        self._client = ManagementClient(read_options(url), seconds)
        self._tags = itertools.count()
        self._asked: dict[str, tuple[str, float]] = {}  # by tag: the question's name, and when

    def close(self) -> None:
        self._client.close()

    def ask(self, questions: Mapping[str, Request], until: float) -> dict[str, Any]:
        """Return the answers that came by `until` (of time.monotonic()), no refusals; raises PollError.

        What was not answered is still on its way at the next call, and not asked again before long.
        """
        lost = time.monotonic() - _LOST_SECONDS
        self._asked = {tag: (name, at) for tag, (name, at) in self._asked.items() if at > lost}
        on_their_way = {name for name, _ in self._asked.values()}
        left = [name for name in questions if name not in on_their_way]
        waiting = {*questions}
        answers: dict[str, Any] = {}
        while waiting and (now := time.monotonic()) < until:
            while left and len(self._asked) < min(self._client.credit, _AT_ONCE):
                name, tag = left.pop(0), str(next(self._tags))
                self._asked[tag] = name, now
                self._client.send(tag, management.encode(questions[name], tag, self._client.reply_to))
            for came in self._client.pump(until):
                if not isinstance(came, bytes):  # nobody was there to take it
                    waiting.discard(self._asked.pop(came.tag, ("", now))[0])
                    continue
                with contextlib.suppress(BadReply):
                    reply = management.decode(came)
                    name, _ = self._asked.pop(reply.tag, ("", now))
                    waiting.discard(name)
                    answers[name] = reply.checked_body()
        return answers


def answers(url: str) -> bool:
    """Whether the router at `url` answers its management; raises PollError where nobody is."""
    with contextlib.closing(Asking(url, _ANSWER_SECONDS)) as asking:
        return bool(asking.ask({"itself": Nodes(schema.LOCAL)}, time.monotonic() + _ANSWER_SECONDS))
