"""What routers' collectors tell one by one, for attribution: addresses of paths, and the links around them.

Rows of the entities `path_address` and `path_link` on `inflight.router`. Their counters are raw, as the
router said them: two polls differ by what happened between them only where `state` is empty in all polls
of the collector's run from the first, exclusive, to the second.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypedDict, cast

from collectors.contract import type_check
from collectors.contract.type_check import Count, MaxItems, Name, PathOrAddress, Word

PATH_ADDRESS: Final = "path_address"
PATH_LINK: Final = "path_link"

# new: not in the poll before, of the same instance (the first poll of a collector's run tells none new).
# gone: it was in the poll before and is no more; told once, with the counters that it had then.
# reset: a counter is lower than in the poll before.
State = Literal["", "new", "gone", "reset"]


class PathAddress(TypedDict):
    """An address of a configured path at one router; with phases, one row for each."""

    key: PathOrAddress  # as the router says it, the row's identity: M0inflight/x
    address: PathOrAddress
    phase: Word  # "0" to "9" where the router has phases, else ""
    distribution: Name
    ingress: Count
    egress: Count
    transit: Count
    to_container: Count
    from_container: Count
    local: Count  # subscribers here
    remote: Count  # routers with subscribers
    hosts: Annotated[list[Name], MaxItems(512)]  # those routers, where it tells them
    state: State


class PathLink(TypedDict):
    """A link of such an address to an end point, or any link between routers that ever carried a message.

    Those of the routers' own protocol are left out.
    """

    identity: Name
    name: Annotated[str, type_check.MaxLength(512, printable=False)]
    kind: Literal["end", "router"]
    direction: Literal["in", "out"]
    peer: Name  # the neighbour's id; of an end point the connector's name, else the container's
    own: bool  # of an end point: a probe of ours
    address: PathOrAddress  # between routers only where a link has one: with an edge, and of a link route
    phase: Word
    deliveries: Count
    presettled: Count
    dropped_presettled: Count
    accepted: Count
    rejected: Count
    released: Count
    modified: Count
    undelivered: Count
    unsettled: Count
    credit: Count
    zero_credit_seconds: Count
    state: State


_ADDRESS: Final = type_check.checker(PathAddress)
_LINK: Final = type_check.checker(PathLink)


def check_address(row: Any) -> PathAddress:
    """Returns the same row. Raises ValueError where any of its fields is wrong, missing or unknown."""
    _ADDRESS(row, "path_address")
    return cast("PathAddress", row)


def check_link(row: Any) -> PathLink:
    """Does the same for a link."""
    _LINK(row, "path_link")
    return cast("PathLink", row)
