"""Counters of other systems made to rise only."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from collectors.polling.monotonic_counters import FORGET_ROUNDS, CounterDeltas, MonotonicSums


def test_the_first_round_adds_nothing() -> None:
    """What was counted before we looked is not ours; what comes later is, from its beginning."""
    deltas = CounterDeltas()
    deltas.start_round()
    assert deltas.increase("a", (100, 7)) == (0, 0)
    deltas.end_round()
    deltas.start_round()
    assert deltas.increase("a", (103, 7)) == (3, 0)
    assert deltas.increase("new", (5, 1)) == (5, 1)


def test_a_restart_counts_from_zero() -> None:
    """Told of it, or seeing a counter fall, all of the new reading is added."""
    deltas = CounterDeltas()
    deltas.start_round()
    deltas.increase("a", (100, 7))
    deltas.end_round()
    deltas.start_round(restarted=True)
    assert deltas.increase("a", (200, 1)) == (200, 1)
    deltas.end_round()
    deltas.start_round()
    assert deltas.increase("a", (3, 900)) == (3, 900)
    assert deltas.resets == 2


def test_a_source_missing_for_a_while_is_not_counted_twice() -> None:
    """A page boundary may hide a link for a poll; after long it is another one."""
    deltas = CounterDeltas()
    for _ in range(2):
        deltas.start_round()
        deltas.increase("a", (100,))
        deltas.end_round()
    for _ in range(FORGET_ROUNDS):
        deltas.start_round()
        deltas.end_round()
    deltas.start_round()
    assert deltas.increase("a", (101,)) == (1,)
    deltas.end_round()
    for _ in range(FORGET_ROUNDS + 1):
        deltas.start_round()
        deltas.end_round()
    deltas.start_round()
    assert deltas.increase("a", (101,)) == (101,)


def test_idle_groups_are_forgotten() -> None:
    """A group that nothing feeds for longer than the time given is gone, the others stay."""
    sums = MonotonicSums(1, forget_ns=10)
    sums.add("a", (1,), 0)
    sums.add("b", (2,), 5)
    sums.forget_idle(11)
    assert sums.groups() == ["b"]
    assert sums.get("b") == (2,)


@dataclass
class Link:
    """A thing that counts, as the world has it."""

    counted: int = 0


@dataclass
class World:
    """Links come, go, count and restart; `truth` is what happened since the first look."""

    links: dict[int, Link] = field(default_factory=dict)
    truth: int = 0
    next_id: int = 0


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("attach"), st.integers(0, 50)),
        st.tuples(st.just("count"), st.integers(1, 50)),
        st.tuples(st.just("look"), st.just(0)),
        st.tuples(st.just("restart"), st.integers(0, 50)),
    ),
    max_size=60,
)


@given(steps=STEPS)
def test_sums_are_what_happened(steps: list[tuple[str, int]]) -> None:
    """Over attaching, counting and restarts, each seen at the next look, nothing is lost or doubled."""
    world, deltas, seen, looked, restarted = World(), CounterDeltas(), 0, False, False
    for what, amount in [*steps, ("look", 0)]:
        if what == "attach":
            world.links[world.next_id] = Link(amount)
            world.next_id += 1
            world.truth += amount
        elif what == "count":
            for link in world.links.values():
                link.counted += amount
                world.truth += amount
        elif what == "restart":
            if not looked:
                continue
            # Counts since the last look are lost with the process: so they are in the truth, too.
            world.truth = seen + amount
            world.links = {0: Link(amount)}
            world.next_id = 1
            restarted = True
        else:
            deltas.start_round(restarted=restarted)
            for identity, link in world.links.items():
                seen += deltas.increase(identity, (link.counted,))[0]
            deltas.end_round()
            if not looked:
                world.truth = 0
            looked, restarted = True, False
            assert seen == world.truth
