"""The loop notices when it stood still, wherever that catches it, and reads before it does anything else."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from collectors.probe.engine import loop as loops
from collectors.probe.engine.loop import Loop

_SECOND = 1_000_000_000


class _World:
    """A clock that only goes on when something waits, or when told; and a socket."""

    def __init__(self, loop: Loop) -> None:
        self.now_ns = 1_000 * _SECOND
        self.loop = loop
        self.inlet, self.outlet = os.pipe()
        self.stops: dict[str, int] = {}  # where the process stands still next, and for how long
        self.done: list[str] = []
        self.stood: list[tuple[int, int]] = []

    def stop_at(self, place: str) -> None:
        if place in self.stops:
            self.now_ns += self.stops.pop(place)
            self.done.append("stop")
            os.write(self.outlet, b"xxx")

    def wait(self, _a: Any, _b: Any, _c: Any, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)
        self.stop_at("wait")

    def ready(self, *, readable: bool, writable: bool) -> None:  # noqa: ARG002 -- the interface
        self.stop_at("socket")
        os.read(self.inlet, 1)
        self.done.append("read")

    def tick(self) -> None:
        self.done.append("timer")
        self.stop_at("timer")
        self.loop.call_at(self.now_ns + _SECOND // 10, self.tick)

    def posted(self) -> None:
        self.stop_at("posted")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[_World]:
    """At work for some rounds."""
    loop = Loop()
    made = _World(loop)
    monkeypatch.setattr(loops, "time", SimpleNamespace(monotonic_ns=lambda: made.now_ns))
    fake = SimpleNamespace(**{**vars(select), "select": made.wait})
    monkeypatch.setattr(loops, "select", fake)
    loop.read_ns = loop._stepped_ns = made.now_ns  # noqa: SLF001 -- as `run` begins
    loop.on_stood_still = lambda from_ns, to_ns: made.stood.append((from_ns, to_ns))
    loop.watch(made.inlet, made, writable=False)
    loop.call_at(made.now_ns, made.tick)
    for _ in range(5):
        loop.round()
    yield made
    loop.close()


@pytest.mark.parametrize("place", ["wait", "socket", "posted", "timer"])
@pytest.mark.parametrize("seconds", [1, 2, 20, 60])
def test_it_notices_when_it_stood_still(world: _World, place: str, seconds: int) -> None:
    """Once, from when sockets had been read before; then all that came is read before a timer is called."""
    before_ns = world.loop.read_ns
    os.write(world.outlet, b"x")
    world.stops[place] = seconds * _SECOND
    world.loop.post(world.posted)
    for _ in range(20):
        world.loop.round()
    ((from_ns, to_ns),) = world.stood
    assert from_ns >= before_ns
    assert to_ns - from_ns >= seconds * _SECOND
    assert world.loop.read_ns > to_ns
    after = world.done[world.done.index("stop") + 1 :]
    unread = 4 - world.done[: world.done.index("stop")].count("read")
    assert after[: unread + 1] == ["read"] * unread + ["timer"]


def test_what_is_read_last_before_it_stood_still_is_the_bound(world: _World) -> None:
    """A round that stood still among its sockets has not read them all: the round before it counts."""
    before_ns = world.loop.read_ns
    os.write(world.outlet, b"x")
    world.stops["socket"] = 2 * _SECOND
    world.loop.round()
    ((from_ns, _),) = world.stood
    assert from_ns == before_ns


@pytest.mark.parametrize("place", ["wait", "socket", "posted", "timer"])
def test_a_short_delay_is_none(world: _World, place: str) -> None:
    """A busy machine holds a process up for some tenths of a second: that stays a matter of latency."""
    for _ in range(10):
        os.write(world.outlet, b"x")
        world.stops[place] = 4 * _SECOND // 10
        world.loop.post(world.posted)
        world.loop.round()
    assert world.stood == []


def test_waiting_is_not_standing_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop without timers waits for as long as it may."""
    loop = Loop()
    world = _World(loop)
    monkeypatch.setattr(loops, "time", SimpleNamespace(monotonic_ns=lambda: world.now_ns))
    monkeypatch.setattr(loops, "select", SimpleNamespace(**{**vars(select), "select": world.wait}))
    loop.read_ns = loop._stepped_ns = world.now_ns  # noqa: SLF001 -- as `run` begins
    loop.on_stood_still = lambda from_ns, to_ns: world.stood.append((from_ns, to_ns))
    for _ in range(20):
        loop.round()
    assert world.stood == []
    loop.close()
