"""Links that share a connection, put on connections of their own where it ends again and again.

A peer ends the whole connection for what one link did, and does not say which. Apart, only the one that is to
blame goes on failing.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterable
from typing import Final
from weakref import WeakKeyDictionary

from collectors.probe.engine.connection import Connection

_log: Final = logging.getLogger("inflight.probe")
_AGAIN_SECONDS: Final = 600.0
_PARTS: Final = 32  # as many at a time: a thousand links are alone after two rounds


class Parting:
    """Told of each connection that was ended for what came over it; nothing is put together again."""

    def __init__(self) -> None:
        self._ended_at: WeakKeyDictionary[Connection, float] = WeakKeyDictionary()
        self._made: list[Connection] = []
        self._names = itertools.count()

    def and_parts(self, connections: Iterable[Connection]) -> list[Connection]:
        """Those, and all that were made of them."""
        self._made = [part for part in self._made if not part.closed]
        return [*connections, *self._made]

    def ended(self, connection: Connection) -> None:
        """The second time within a while its links get connections of their own."""
        now = time.monotonic()
        again = now - self._ended_at.get(connection, -_AGAIN_SECONDS) < _AGAIN_SECONDS
        self._ended_at[connection] = now
        links = connection.measuring
        if not again or len(links) < 2:  # noqa: PLR2004 -- it is alone
            return
        _log.warning("%s: ended again: its %d ends get connections of their own", connection.url, len(links))
        for number in range(min(_PARTS, len(links))):
            part = connection.part(str(next(self._names)), links[number::_PARTS])
            self._ended_at[part] = now
            self._made.append(part)
            part.start()
