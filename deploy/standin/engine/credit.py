"""How much credit an incoming link gets. Pure."""

from __future__ import annotations

CAPACITY = 250  # what the real routers give a link at most


def target(*, available: int, unsettled: int, presettled: bool, reachable: bool, held: int) -> int:
    """Return the credit that a link should have.

    Unsettled deliveries get what the consumers still have, end to end, and never more than CAPACITY open
    at once. Presettled ones flow as they do in real routers: credit as long as anybody is there, and what
    a consumer's credit does not cover is dropped, and counted, at its link.
    """
    if presettled:
        return CAPACITY if reachable and held < 40 * CAPACITY else 0
    return max(0, min(CAPACITY - unsettled, available))


def top_up(current: int, wanted: int) -> int:
    """Return how much to add now: in heaps, since each addition costs a flow frame."""
    return wanted - current if wanted > current and current <= wanted // 2 else 0
