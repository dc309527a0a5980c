"""What a description may say, and what it is told where it says something else."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from deploy.loads.model import Description
from deploy.loads.phases import longest_pause_ns

PING_PONG: dict[str, Any] = {
    "kind": "ping-pong",
    "from": "a",
    "to": "a",
    "address": "inflight/x",
    "count": 10,
}


def description(load: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "endpoints": {"a": {"url": "amqp://a:5672"}, "s": {"url": "stomp://s:61613"}},
        "loads": {"one": load},
        **more,
    }


def test_a_load_is_bounded_unless_it_says_otherwise() -> None:
    load = {name: value for name, value in PING_PONG.items() if name != "count"}
    with pytest.raises(ValidationError, match="a load ends: it needs `count`"):
        Description.model_validate(description(load))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"from": "b"}, "load one: there is no end point 'b'"),
        ({"to": "s"}, "one of its end points speaks STOMP and another AMQP"),
        ({"from": "s", "to": "s"}, "over STOMP there are `stream` and `public`"),
        ({"size": "1B"}, "a message has 64B to 100MB"),
        ({"kind": "flood"}, "'ping-pong'"),
        ({"speed": 3}, "Extra inputs are not permitted"),
        ({"kind": "stream", "headers": {"a": "b"}}, "`headers` are of STOMP"),
        ({"kind": "bandwidth", "window": 0}, "greater than 0"),
        ({"kind": "relay", "from": None, "to": None, "at": ["a"]}, "Extra inputs"),
    ],
)
def test_a_mistake_is_told(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError) as error:
        Description.model_validate(description(PING_PONG | change))
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tokens": 5, "count": 4}, "at least one for each of `tokens`"),
        ({"size": "64B"}, "a token takes 80B"),
        ({"clients": 1}, "greater than or equal to 2"),
    ],
)
def test_a_mistake_in_a_relay_is_told(change: dict[str, Any], says: str) -> None:
    relay = {"kind": "relay", "at": "a", "address": "inflight/r", "count": 10}
    with pytest.raises(ValidationError) as error:
        Description.model_validate(description(relay | change))
    assert says in str(error.value)


def test_a_login_stands_in_no_url() -> None:
    """As for AMQP: a password in a URL is refused before it is repeated anywhere."""
    load = PING_PONG | {"kind": "stream", "from": "s", "to": "s"}
    found = description(load)
    found["endpoints"]["s"]["url"] = "stomp://me:secret@s:61613"
    with pytest.raises(ValidationError) as error:
        Description.model_validate(found)
    assert "secret" not in str(error.value)


def test_a_pause_of_a_slow_load_is_no_standstill() -> None:
    """One message in a minute, a consumer that reads one in two, a token that is held for ten seconds."""
    slow = {"from": "a", "to": "a", "address": "x", "count": 1}
    loads = {
        "stream": {"kind": "stream", "rate": "1/m", **slow},
        "public": {"kind": "public", "rate": "1/s", "reads": ["1/s", "0.5/m"], **slow},
        "relay": {"kind": "relay", "at": ["a"], "address": "y", "count": 1, "hold": "10s"},
    }
    found = Description.model_validate(description(PING_PONG) | {"loads": loads})
    assert longest_pause_ns(found) == 120 * 1_000_000_000
