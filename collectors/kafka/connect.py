"""Makes clients of kafka-python that leave no sockets behind when they cannot be made."""

from __future__ import annotations

from typing import Any


def connect(kind: Any, **settings: Any) -> Any:
    """Makes a client of this class; raises what its constructor raises, after closing its sockets.

    By itself it leaves them open until the next garbage collection, which may be far away.
    """
    made: list[Any] = []

    def network(**of_kind: Any) -> Any:
        made.append(kind.DEFAULT_CONFIG["kafka_client"](**of_kind))
        return made[0]

    try:
        return kind(kafka_client=network, **settings)
    except BaseException:
        for client in made:
            client.close()
        raise
