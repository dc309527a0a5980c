from __future__ import annotations

import pytest

from deploy.standin.routing import addresses
from deploy.standin.routing.addresses import Address


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("inflight/east-west", Address("M0inflight/east-west")),
        ("/inflight/x", Address("M0inflight/x")),
        ("$management", Address("M0$management")),
        ("amqp:/_topo/0/QDR.B/$management", Address("L$management", router="QDR.B")),
        ("_topo/0/QDR.B/temp.a/b", Address("Ltemp.a/b", router="QDR.B")),
        ("amqp:/_edge/QDR.E/$management", Address("L$management", edge="QDR.E")),
        ("_local/temp.x", Address("Ltemp.x")),
    ],
)
def test_addresses_lead_to_places(text: str, place: Address) -> None:
    """Mobile, topological, edge and local addresses are told apart as routers do."""
    assert addresses.parse(text) == place


@pytest.mark.parametrize(
    ("prefix", "name", "expected"),
    [
        ("multicast", "multicast", True),
        ("multicast", "multicast/x", True),
        ("multicast", "multicast.x", True),
        ("multicast", "multicasting", False),
        ("orders.eu", "orders", False),
        ("*", "anything/at.all", True),
    ],
)
def test_prefixes_end_at_tokens(prefix: str, name: str, *, expected: bool) -> None:
    """A prefix covers whole tokens only."""
    assert addresses.matches(prefix, name) is expected


def test_distribution_is_that_of_the_captured_configuration() -> None:
    """Multicast and closest are prefixes; everything else is balanced."""
    keys = ["M0multicast/x", "M0closest/x", "M1orders", "M0$management", "RQDR.B", "Ltemp.x"]
    kinds = ["multicast", "closest", "balanced", "closest", "closest", "balanced"]
    assert [addresses.distribution(key) for key in keys] == kinds


def test_phase_is_written_into_mobile_keys_only() -> None:
    """Behind a waypoint the key changes its digit; a local key has none."""
    assert addresses.phased("M0orders", 1) == "M1orders"
    assert addresses.phased("Ltemp.x", 1) == "Ltemp.x"
