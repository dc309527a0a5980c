"""Outcomes of deliveries: their names, and how they pass from one delivery to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import proton
from cproton_ffi import lib

if TYPE_CHECKING:
    from deploy.standin.engine.counters import DeliveryCounters

OUTCOME_STATES: dict[str, int] = {
    "accepted": lib.PN_ACCEPTED,
    "rejected": lib.PN_REJECTED,
    "released": lib.PN_RELEASED,
    "modified": lib.PN_MODIFIED,
}
OUTCOME_NAMES = {state: name for name, state in OUTCOME_STATES.items()}


def count(state: int, *several: DeliveryCounters) -> None:
    name = OUTCOME_NAMES.get(state)
    if name:
        for counters in several:
            setattr(counters, name, getattr(counters, name) + 1)


def copy(source: Any, target: Any) -> None:
    """Give a delivery the state that the peer gave the other, with its reason or details."""
    state = lib.pn_delivery_remote_state(source)
    if state in (lib.PN_REJECTED, lib.PN_MODIFIED):
        there, here = proton.Delivery.wrap(source).remote, proton.Delivery.wrap(target)
        here.local.condition = there.condition
        here.local.failed = there.failed
        here.local.undeliverable = there.undeliverable
        here.local.annotations = there.annotations
        here.update(state)
    else:
        lib.pn_delivery_update(target, state)


def fail(delivery: Any) -> None:
    """Settle a delivery whose way is lost: whoever sent it may try again."""
    lib.pn_disposition_set_failed(lib.pn_delivery_local(delivery), True)
    lib.pn_delivery_update(delivery, lib.PN_MODIFIED)
    lib.pn_delivery_settle(delivery)
