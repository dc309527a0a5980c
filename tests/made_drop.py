"""A window that lost five presettled messages, and polls of the router that dropped them."""

from __future__ import annotations

from typing import Any, Final

import made_rows

from collectors.contract.path_telemetry import PATH_ADDRESS, PATH_LINK, PathAddress, PathLink
from collectors.contract.telemetry import Telemetry
from collectors.contract.window_rows import LiveRow, WindowRow
from streaming.attribution.places import Place

SECOND: Final = made_rows.SECOND
PLACE: Final = Place("m", ("m",), "a/one", "a/one", presettled=True, interval_ns=2 * SECOND)
LOST: Final = 5
HOP: Final = "A → receiver"
_ABOUT: Final[dict[str, Any]] = {"mesh": "m", "address": "a/one", "presettled": True}


def polls(start_ns: int) -> list[Telemetry]:
    """Return those of 38 seconds, from 4 before the window: in its second second the router drops."""
    found = []
    for number, second in enumerate(range(-4, 34, 2), 1):
        sent = 100 + 10 * second
        rows = {
            PATH_ADDRESS: [_address(sent)],
            PATH_LINK: [_link(sent, LOST if second >= 2 else 0)],
            "node": [],
        }
        at_ns = start_ns + second * SECOND
        found += [
            Telemetry(
                site="here",
                mesh="m",
                target="A",
                entity=entity,
                at_ns=at_ns,
                interval_ns=2 * SECOND,
                poll=number,
                rows=[dict(row) for row in told],
                run="r",
                asked_ns=at_ns,
                answered_ns=at_ns + 1_000_000,
                instance=7,
            )
            for entity, told in rows.items()
        ]
    return found


def window(start_ns: int) -> WindowRow:
    return made_rows.window(
        "one",
        window_start_ns=start_ns,
        values_ns=[2_000_000] * 45,
        **_ABOUT | {"routes": {"A": 45}},
    ) | {
        "sent": 50,
        "classes": {"received": 45, "refused": 0, "lost": LOST, "unobserved": 0},
        "lost": {"accepted": 0, "presettled": LOST, "unsettled": 0},
    }  # type: ignore[return-value] # a row by construction


def live(start_ns: int) -> LiveRow:
    """Return the row that says where the ends are attached."""
    about = {"run": "00" * 8, "link": "attached", "frontier_ns": start_ns, "peer": "A"}
    ends = [{"role": role, "name": role, **about} for role in ("sender", "receiver")]
    return made_rows.live(
        "one", at_ns=start_ns, window_start_ns=start_ns, oldest_pending_ns=None, ends=ends, **_ABOUT
    )


def _address(sent: int) -> PathAddress:
    return {
        "key": "M0a/one",
        "address": "a/one",
        "phase": "",
        "distribution": "balanced",
        "ingress": sent,
        "egress": sent,
        "transit": 0,
        "to_container": 0,
        "from_container": 0,
        "local": 1,
        "remote": 0,
        "hosts": [],
        "state": "",
    }


def _link(sent: int, dropped: int) -> PathLink:
    return {
        "identity": "5",
        "name": "l5",
        "kind": "end",
        "direction": "out",
        "peer": "rx",
        "own": True,
        "address": "a/one",
        "phase": "",
        "deliveries": sent,
        "presettled": sent,
        "dropped_presettled": dropped,
        "accepted": 0,
        "rejected": 0,
        "released": 0,
        "modified": 0,
        "undelivered": 0,
        "unsettled": 0,
        "credit": 10,
        "zero_credit_seconds": 0,
        "state": "",
    }
