"""A shared line of stand-ins, more of them on demand, and clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from standin_clients import Clients, Requester, StandIn


@pytest.fixture
def clients() -> Iterator[Clients]:
    made = Clients()
    yield made
    made.close()


@pytest.fixture
def standin(tmp_path: Path) -> Iterator[Callable[..., StandIn]]:
    """Start stand-ins that live as long as the test."""
    running: list[StandIn] = []

    def start(name: str, *options: str) -> StandIn:
        running.append(StandIn(tmp_path, name, *options))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture(scope="package")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[StandIn]]:
    """A - B - C, shared: tests use addresses of their own and clear the faults they set."""
    directory = tmp_path_factory.mktemp("line")
    a = StandIn(directory, "A")
    b = StandIn(directory, "B", "--connect", f"127.0.0.1:{a.port}")
    c = StandIn(directory, "C", "--connect", f"127.0.0.1:{b.port}")
    yield [a, b, c]
    codes = [one.stop() for one in (a, b, c)]
    assert codes == [0, 0, 0]


@pytest.fixture
def address(request: pytest.FixtureRequest) -> str:
    return f"closest/{request.node.name}"


@pytest.fixture
def requester(clients: Clients) -> Callable[[int], Requester]:
    return lambda port: Requester(clients, port)
