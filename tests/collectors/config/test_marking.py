"""How long a colour has to be sent, and what a marked path's addresses are."""

from __future__ import annotations

import pytest

from collectors.config import load, marking, paths
from collectors.polling import schedule

_SECOND = 1_000_000_000


def _paths(mesh_interval: str, broker_interval: str, settings: str) -> dict[str, paths.Path]:
    text = f"""
version: 1
site: east
meshes:
  near: {{urls: "amqp://a:5672", interval: 1s}}
  far: {{urls: "amqp://b:5672", interval: {mesh_interval}}}
brokers: {{store: {{jolokia: "http://c:8161/", mesh: far, interval: {broker_interval}}}}}
endpoints: {{a: {{url: "amqp://a:5672", mesh: near}}, b: {{url: "amqp://b:5672", mesh: far}}}}
paths: {{p: {{from: a, to: b, address: inflight/p, {settings}}}}}
"""
    return paths.resolve(load.parse(text, "test"))


@pytest.mark.parametrize(
    ("mesh_interval", "broker_interval", "via", "least"),
    [
        # Three intervals, four fifths of one for a poll, 2 s for two clocks.
        ("5s", "100s", False, 21),
        ("5s", "10s", True, 40),
        ("20s", "10s", True, 78),
        # A poll is given up after 30 s.
        ("100s", "10s", False, 332),
    ],
)
def test_the_least_is_of_the_slowest_poll_on_the_way(
    mesh_interval: str, broker_interval: str, *, via: bool, least: int
) -> None:
    """Meshes of both ends count, and the broker where there is one."""
    route = "window: 1s, " + ("via: store, settle: 60s, " if via else "")
    found = _paths(mesh_interval, broker_interval, f"{route}marking: {least}s")
    assert found["p"].marking_ns == least * _SECOND
    with pytest.raises(load.ConfigError, match=rf"is {least - 1}s, and needs {least}s or more"):
        _paths(mesh_interval, broker_interval, f"{route}marking: {least - 1}s")


def test_a_poll_takes_what_its_schedule_allows() -> None:
    """The two rooms may not import each other, and agree."""
    assert marking.POLL_SHARE_PERCENT == schedule.DEADLINE_SHARE * 100
    assert marking.POLL_MOST_NS == schedule.MAX_DEADLINE_SECONDS * _SECOND


def test_a_marked_path_has_two_colours() -> None:
    """Each is the path with an address of its own at both ends; a path that is not marked is its only one."""
    path = _paths("5s", "10s", "marking: 30s")["p"]
    assert [(one.name, one.address, one.receive_address) for one in path.colours] == [
        ("p", "inflight/p/0", "inflight/p/0"),
        ("p", "inflight/p/1", "inflight/p/1"),
    ]
    assert path.address == "inflight/p"
    for off in ("marking: off", "credit: 7"):
        plain = _paths("5s", "10s", off)["p"]
        assert (plain.marking_ns, plain.colours) == (0, (plain,))
