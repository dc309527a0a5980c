"""Rows of paths' addresses and links: what a reader takes."""

from __future__ import annotations

from typing import Any

import pytest

from collectors.contract import path_telemetry

ADDRESS: dict[str, Any] = {
    "key": "M0a",
    "address": "a",
    "phase": "0",
    "distribution": "closest",
    "hosts": ["B"],
    "state": "",
    **dict.fromkeys(("ingress", "egress", "transit", "to_container", "from_container", "local", "remote"), 1),
}
LINK: dict[str, Any] = {
    "identity": "1",
    "name": "n\n",
    "kind": "end",
    "direction": "in",
    "peer": "p",
    "own": True,
    "address": "a",
    "phase": "",
    "state": "gone",
    **dict.fromkeys(
        (
            *("deliveries", "presettled", "dropped_presettled", "accepted", "rejected", "released"),
            *("modified", "undelivered", "unsettled", "credit", "zero_credit_seconds"),
        ),
        0,
    ),
}


def test_rows_are_read_as_they_are() -> None:
    """Nothing is added, nothing left out."""
    assert path_telemetry.check_address(ADDRESS) is ADDRESS
    assert path_telemetry.check_link(LINK) is LINK


@pytest.mark.parametrize(
    ("row", "changes", "reason"),
    [
        (ADDRESS, {"ingress": -1}, "ingress is not a whole number"),
        (ADDRESS, {"ingress": True}, "ingress is not a whole number"),
        (ADDRESS, {"hosts": ["B"] * 513}, "hosts is not of 512 items"),
        (ADDRESS, {"hosts": ["h" * 193]}, "hosts is not a text"),
        (ADDRESS, {"key": "k" * 1_025}, "key is not a text"),
        (ADDRESS, {"state": "old"}, "state is not one of"),
        (ADDRESS, {"more": 1}, "not known: more"),
        (LINK, {"kind": "both"}, "kind is not one of"),
        (LINK, {"own": 1}, "own is not true or false"),
        (LINK, {"peer": "a\nb"}, "peer is not a text"),
        (LINK, {"name": "n" * 513}, "name is not a text"),
        (LINK, {"credit": 1 << 63}, "credit is not a whole number"),
    ],
)
def test_what_is_no_row_is_refused(row: dict[str, Any], changes: dict[str, Any], reason: str) -> None:
    """Anybody may write to the topic."""
    check = path_telemetry.check_address if row is ADDRESS else path_telemetry.check_link
    with pytest.raises(ValueError, match=reason):
        check({**row, **changes})
