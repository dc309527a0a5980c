"""The wirings that there are, by the names that people give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from deploy.embedded.supervise.supervisor import Supervisor
from deploy.lab.namespaces.namespaces import Namespaces
from deploy.lab.relay.wiring import Relayed
from deploy.lab.wiring import Direct, Wiring

WIRINGS: Final[dict[str, Callable[[Supervisor], Wiring]]] = {
    "direct": lambda _supervisor: Direct(),
    "relay": Relayed,
    "namespaces": Namespaces,
}
DEFAULT: Final = "direct"


def made(name: str, supervisor: Supervisor) -> Wiring:
    return WIRINGS[name](supervisor)
