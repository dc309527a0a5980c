"""Which of several ways a message takes. Pure arithmetic on credit, load and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from deploy.standin.routing.addresses import CLOSEST

if TYPE_CHECKING:
    from collections.abc import Sequence


class Way(Protocol):
    """A consumer's link, or a link to the neighbour on the way to one."""

    @property
    def spare_credit(self) -> int: ...  # credit, less what waits for it

    @property
    def open_deliveries(self) -> int: ...  # waiting, or sent and not settled

    @property
    def assigned(self) -> int: ...  # messages that ever went this way


T = TypeVar("T")
W = TypeVar("W", bound=Way)


def candidates(places: Sequence[tuple[T, int]], distribution: str) -> list[tuple[T, int]]:
    """Return the (place, cost) pairs that may be used: the cheapest ones for `closest`, else all."""
    if distribution != CLOSEST or not places:
        return list(places)
    cheapest = min(cost for _, cost in places)
    return [(place, cost) for place, cost in places if cost == cheapest]


def best(ways: Sequence[tuple[W, int]]) -> W | None:
    """Return a way with spare credit if there is one, of those the one with the least load plus cost."""
    if len(ways) == 1:
        return ways[0][0]
    with_credit = [(way, cost) for way, cost in ways if way.spare_credit > 0]
    pool = with_credit or ways
    if not pool:
        return None
    return min(pool, key=lambda pair: (pair[0].open_deliveries + pair[1], pair[0].assigned))[0]
