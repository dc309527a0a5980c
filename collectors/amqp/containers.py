"""How this project's connections are named: peers tell by it whose they are."""

from __future__ import annotations

from typing import Final

_BEGIN: Final = "inflight-"
COLLECTOR: Final = f"{_BEGIN}collect-"  # how those begin that ask for management
_PROBES: Final = (f"{_BEGIN}sender-", f"{_BEGIN}receiver-")


def of_probe(role: str, site: str, endpoint: str, own: str) -> str:
    """Returns the container id of the ends of a role at an endpoint; `own` tells it from others."""
    return f"{_BEGIN}{role}-{site}-{endpoint}-{own}"


def is_probe(container: str) -> bool:
    """Returns whether a container calls itself a probe of ours. Anybody may."""
    return container.startswith(_PROBES)
