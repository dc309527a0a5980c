"""Gives links that share a connection connections of their own, where it is ended again and again.

A peer ends the whole connection for what one link did, and does not say which. Once they are apart, only the
link that is to blame goes on failing.
"""

from __future__ import annotations

import itertools
import logging
import time
from typing import Final
from weakref import WeakKeyDictionary

from collectors.probe.engine.connection import AmqpConnection

_log: Final = logging.getLogger("inflight.probe")
_AGAIN_SECONDS: Final = 600.0
_MOST_AT_ONCE: Final = 32  # connections from one; a thousand links are alone after two rounds


class Splitter:
    """Decides when a connection is split; nothing is put together again."""

    def __init__(self) -> None:
        self._rejected_at: WeakKeyDictionary[AmqpConnection, float] = WeakKeyDictionary()
        self._made: list[AmqpConnection] = []
        self._names = itertools.count()

    def made(self) -> list[AmqpConnection]:
        """Returns the connections that it made and that are not closed."""
        self._made = [connection for connection in self._made if not connection.closed]
        return self._made

    def rejected(self, connection: AmqpConnection) -> None:
        """A peer ended the connection for what came over it; the second time within a while it is split."""
        now = time.monotonic()
        again = now - self._rejected_at.get(connection, -_AGAIN_SECONDS) < _AGAIN_SECONDS
        self._rejected_at[connection] = now
        links = connection.measuring
        if not again or len(links) < 2:  # noqa: PLR2004 -- it is alone
            return
        _log.warning("%s: ended again: its %d ends get connections of their own", connection.url, len(links))
        for number in range(min(_MOST_AT_ONCE, len(links))):
            new = connection.split_off(str(next(self._names)), links[number::_MOST_AT_ONCE])
            self._rejected_at[new] = now
            self._made.append(new)
            new.start()
