from __future__ import annotations

import random

import pytest

from deploy.standin.faults.kinds import Action, FaultError, Hold
from deploy.standin.faults.rules import Fault, Rules, read


def _decisions(fault: Fault, keys: list[str], *, presettled: bool = False) -> list[bool]:
    rules = Rules()
    rules.add(fault)
    return [rules.take(key, presettled=presettled, now_ns=0) is not None for key in keys]


def _seeded() -> random.Random:
    return random.Random(7)  # noqa: S311 -- the same bad luck each time


def test_count_is_exact() -> None:
    """Told to drop three, it drops three."""
    assert _decisions(Fault("drop", count=3), ["M0x"] * 5) == [True, True, True, False, False]


def test_ratio_is_by_chance_with_a_seed() -> None:
    """About a tenth of many, and the same ones for the same seed."""
    runs = [_decisions(Fault("drop", ratio=0.1, rng=_seeded()), ["M0x"] * 2000) for _ in range(2)]
    assert runs[0] == runs[1]
    assert 140 < sum(runs[0]) < 260


def test_a_fault_is_for_its_addresses() -> None:
    """A prefix ends at a token; the star leaves management and temporary reply addresses alone."""
    assert _decisions(Fault("drop", "inflight"), ["M0inflight/x", "M1inflight", "M0inflights"]) == [
        True,
        True,
        False,
    ]
    assert _decisions(Fault("drop"), ["M0x", "M0$management", "L$management", "Ltemp.x"]) == [
        True,
        False,
        False,
        False,
    ]
    assert _decisions(Fault("delay", "temp"), ["Ltemp.x"]) == [True]


def test_refusals_mean_nothing_to_presettled_messages() -> None:
    """There is nobody to tell; such a message passes and is not counted."""
    assert _decisions(Fault("release"), ["M0x"], presettled=True) == [False]
    assert _decisions(Fault("drop", settlement="presettled"), ["M0x"], presettled=False) == [False]
    assert _decisions(Fault("drop", settlement="presettled"), ["M0x"], presettled=True) == [True]


def test_a_fault_with_seconds_ends() -> None:
    """From its end on it decides nothing, and stalls nobody."""
    rules = Rules()
    rules.add(read({"kind": "stall", "address": "x", "seconds": 2}, 1_000_000_000))
    assert rules.stalls("M0x", 2_999_999_999)
    assert not rules.stalls("M0y", 2_999_999_999)
    assert not rules.stalls("M0x", 3_000_000_000)


def _delay_ns(fault: Fault) -> int:
    action: Action = fault.act(100, 0)
    assert isinstance(action, Hold)
    assert action.until_ns is not None
    return action.until_ns


def test_delays_have_the_shape_asked_for() -> None:
    """Fixed is exact; uniform stays inside its width; exponential has its mean."""
    assert read({"kind": "delay", "ms": 20}, 0).act(100, 7) == Hold(20_000_007)
    uniform = [_delay_ns(read({"kind": "delay", "ms": 5, "jitter_ms": 2, "seed": n}, 0)) for n in range(200)]
    assert min(uniform) >= 5_000_000
    assert max(uniform) < 7_000_000
    assert max(uniform) - min(uniform) > 1_000_000
    exponential = read({"kind": "delay", "jitter_ms": 10, "distribution": "exponential", "seed": 1}, 0)
    mean_ns = sum(_delay_ns(exponential) for _ in range(5000)) / 5000
    assert 9_000_000 < mean_ns < 11_000_000


def test_bandwidth_lets_one_message_pass_after_the_other() -> None:
    """At 1,000 bytes a second 500 take half a second, from the end of those before or from now."""
    rules = Rules()
    number = rules.add(read({"kind": "bandwidth", "bytes_per_second": 1000}, 0))
    fault = rules.take("M0x", presettled=False, now_ns=0)
    assert fault
    arrivals_ns = [0, 100_000_000, 3_000_000_000]
    holds = [fault.act(500, now_ns) for now_ns in arrivals_ns]
    assert holds == [
        Hold(until_ns, ends_with_fault=True) for until_ns in (500_000_000, 1_000_000_000, 3_500_000_000)
    ]
    assert not fault.ended(0)
    rules.clear(number)
    assert fault.ended(0)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ({}, "no kind; it is one of delay, drop, release, reject, modify, duplicate, stall, bandwidth"),
        (
            {"kind": "explode"},
            "kind is one of delay, drop, release, reject, modify, duplicate, stall, bandwidth, not 'explode'",
        ),
        ({"kind": "drop", "count": -1}, "count is a number from 0, not -1"),
        ({"kind": "drop", "ratio": "all"}, "ratio is a number from 0, not 'all'"),
        ({"kind": "delay", "ms": float("inf")}, "ms is a number from 0, not inf"),
        ({"kind": "bandwidth"}, "bandwidth needs bytes_per_second, more than 0"),
        ({"kind": "drop", "settlement": "no"}, "settlement is one of any, presettled, unsettled, not 'no'"),
        (
            {"kind": "drop", "adress": "x"},
            (
                "unknown: adress; known are kind, address, settlement, count, ratio, seconds, seed, ms,"
                " jitter_ms, distribution, reorder, bytes_per_second"
            ),
        ),
    ],
)
def test_mistakes_are_explained(command: dict[str, object], text: str) -> None:
    """A command that cannot be done is refused with what is wrong."""
    with pytest.raises(FaultError) as caught:
        read(command, 0)
    assert str(caught.value) == text
