"""Clients of kafka-python made so that nothing of them stays where they cannot be made."""

from __future__ import annotations

from typing import Any


def connect(kind: Any, **settings: Any) -> Any:
    """A client of kafka-python of this kind; where it cannot be made nothing of it stays.

    By itself it would leave its sockets to the next collection of cycles, which may be far away.
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
