"""The attribution against networks whose truth is known: what streaming/attribution.md promises."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random

import pytest
from attribution.simulated import checks, drive
from attribution.simulated.faults import FAULTS
from attribution.simulated.history import History, Item, simulate

from collectors.contract import attribution_rows
from collectors.contract.attribution_rows import AttributionRow
from streaming.attribution import Attribution

MIXED = ("released", "no_route", "no_credit", "middle_killed", "receivers_router_killed", "link_cut")
# What an operator removes is told by no counter; what a way loses without counting it, only by marking.
LOSING = [name for name, fault in FAULTS.items() if fault.loses and name not in {"purged", "lossy_way"}]


@lru_cache(maxsize=16)  # a history takes megabytes
def played(seed: int, fault: str, *, disturbed: bool = False) -> tuple[History, tuple[AttributionRow, ...]]:
    history = simulate(seed, fault, disturbed=disturbed)
    return history, tuple(drive.drive(history.places, history.items, Attribution))


def mixed(seed: int) -> History:
    """Return a history of faults one after another, with lost polls and drops of other traffic."""
    rng = Random(f"{seed} mixed")  # noqa: S311 -- chance here is to be repeatable
    first, *further = rng.choices(MIXED, k=3)
    further = [fault for fault in further if not FAULTS[fault].needs.shape]
    return simulate(seed, first, further=tuple(further), disturbed=True)


def encoded(rows: Sequence[AttributionRow]) -> list[bytes]:
    return [attribution_rows.encode(row) for row in rows]


def whole_and_true(history: History, rows: Sequence[AttributionRow]) -> None:
    assert checks.broken(history, rows) == []
    assert checks.untold(history, rows) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_truth_is_within_bounds_and_sums_add_up(fault: str) -> None:
    """One history of each fault; many more are slow."""
    whole_and_true(*played(1, fault))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_truth_is_within_bounds_in_any_network(fault: str) -> None:
    """Where polls are lost, collectors restart and other traffic is dropped, too."""
    for seed in range(4):
        whole_and_true(*played(seed, fault))
        whole_and_true(*played(seed, fault, disturbed=True))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_truth_is_within_bounds_after_several_faults(seed: int) -> None:
    """One fault may end while the next one begins."""
    history = mixed(seed)
    whole_and_true(history, drive.drive(history.places, history.items, Attribution))


@pytest.mark.slow
@pytest.mark.parametrize("fault", LOSING)
def test_the_right_hop_is_first(fault: str) -> None:
    """With one fault and all polls: what took most, or what died and so was the reason for it."""
    for seed in range(4):
        history, rows = played(seed, fault)
        for path in history.truth.paths:
            right = history.truth.worst(path) | history.truth.died(path)
            names = checks.first_names(rows, path)
            assert set(names) <= right, (seed, path)
            assert bool(names) == bool(right), (seed, path)


@pytest.mark.slow
def test_marking_tells_exactly_what_a_way_lost() -> None:
    """Nobody counts such a loss: what one router sent and the next one got differs by it, by colour."""
    for seed in (0, 2, 7):
        history, rows = played(seed, "lossy_way")
        assert history.places["east-west"].marking_ns
        (row,) = [row for row in drive.last(rows) if row["path"] == "east-west" and row["lost"]]
        (hop,) = [hop for hop in row["hops"] if hop["exact"]]
        assert (hop["hop"], hop["cause"]) in history.truth.worst("east-west"), seed
        assert hop["lower"] == hop["upper"] == row["lost"], seed


@pytest.mark.slow
def test_what_no_counter_tells_of_is_not_explained() -> None:
    """An operator who removes messages is counted as a receiver that acknowledges them."""
    for seed in range(4):
        _, rows = played(seed, "purged")
        for row in drive.last(rows):
            assert all(hop["lower"] == 0 for hop in row["hops"] if hop["of"] != "late"), seed
    assert rows


@pytest.mark.slow
@pytest.mark.parametrize("disturbed", [False, True])
def test_no_fault_no_finding(disturbed: bool) -> None:  # noqa: FBT001 -- a case
    """Nearly seven minutes of any network in which nothing is lost and nothing late."""
    for seed in range(10):
        _, rows = played(seed, "none", disturbed=disturbed)
        assert list(rows) == [], seed


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["stalled_link", "slow_consumer"])
def test_what_is_late_is_not_lost(fault: str) -> None:
    """A stalled link and a slow receiver: rows are of kind slow, or say that something waits."""
    for seed in range(4):
        _, rows = played(seed, fault)
        for row in drive.last(rows):
            assert not row["lost"], seed
            assert not row["refused"], seed


@pytest.mark.parametrize("fault", ["no_credit", "no_consumer", "link_cut", "released"])
def test_rows_are_the_same_after_restarts(fault: str) -> None:
    """State goes to bytes and back before any turn: nothing that matters lives beside it."""
    history, rows = played(1, fault)
    restarts = range(0, 10_000, 7)
    again = drive.drive(history.places, history.items, Attribution, restarts=restarts)
    assert encoded(again) == encoded(rows)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_truth_is_within_bounds_in_any_order(fault: str) -> None:
    """Partitions are read at their own pace: only what is of one target or path keeps its order."""
    for seed in range(2):
        history = simulate(seed, fault, disturbed=bool(seed % 2))
        items = drive.delayed(history.items, seed)
        whole_and_true(history, drive.drive(history.places, items, Attribution))


@pytest.mark.slow
def test_records_that_come_twice_change_nothing() -> None:
    """A consumer that was restarted reads some records again."""
    history, rows = played(1, "no_credit")
    items: list[Item] = [item for item in history.items for _ in range(2)]
    assert encoded(drive.drive(history.places, items, Attribution)) == encoded(rows)
