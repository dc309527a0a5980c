"""Where a slow path's messages waited: by what was seen most of the times that one looked."""

from __future__ import annotations

import pytest

from streaming.attribution.episodes import Episode, regroup
from streaming.attribution.network import Network
from streaming.attribution.path_windows import PathWindows, Window
from streaming.attribution.places import Place
from streaming.attribution.slow import Slowness

S, MS = 1_000_000_000, 1_000_000
PLACE = Place("prod", ("prod",), "inflight/x", "inflight/x", settle_ns=4 * S)
QUEUE, LINK = "queue\0store\0x", "link\0A\0B"


def slow(starts: list[int], length: int) -> list[Episode]:
    """Episodes of a path whose windows of these numbers were slow."""
    windows = {length * S * n: Window(0, 100, slow=n in starts) for n in range(20)}
    path = PathWindows(window_ns=length * S, windows=windows)
    return regroup([], "slow", [length * S * n for n in starts], path, ended=False)


@pytest.mark.parametrize(
    ("length", "starts", "told"),
    [(5, [3], 0), (5, [3, 4], 1), (2, [3, 4], 0), (2, [3, 4, 5, 6, 7], 1), (2, [3, 5, 7], 1), (30, [3], 0)],
)
def test_it_takes_two_windows_and_ten_seconds(length: int, starts: list[int], told: int) -> None:
    """What is over sooner is a hiccup, as of a busy host."""
    assert len(slow(starts, length)) == told


def delays(seen: list[dict[str, int]]) -> dict[str, int]:
    """What an episode is told of hops, in ms, where one looked once a second."""
    path = PathWindows(
        window_ns=5 * S, windows={0: Window(0, 100, slow=True), 5 * S: Window(0, 100, slow=True)}
    )
    path.waits = [
        (n * S, {hop: (f"{ms} ms", ms * MS) for hop, ms in found.items()}) for n, found in enumerate(seen, 1)
    ]
    episode = Episode("slow", 0, [0, 5 * S])
    (told,) = Slowness(Network()).group([episode], path, PLACE, now_ns=12 * S, changed=False, ended=False)
    return {hop: delay_ns // MS for hop, (_, delay_ns) in told.delays.items()}


def test_what_waited_once_is_not_to_blame() -> None:
    """A busy host lets a few messages wait somewhere now and then."""
    assert delays([{QUEUE: 30}, {QUEUE: 50, LINK: 400}, {QUEUE: 40}, {QUEUE: 45}]) == {QUEUE: 45}


def test_what_waited_at_no_hop_most_of_the_time_is_not_known() -> None:
    """A link once, a queue once: neither explains ten seconds."""
    assert delays([{QUEUE: 30}, {}, {LINK: 400}, {}, {}]) == {}
