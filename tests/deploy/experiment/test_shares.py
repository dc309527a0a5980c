"""How ends are shared among the processes of a load."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from deploy.experiment.shares import PER_PROCESS, shared, wanted

rates = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=4), st.floats(0.1, 50_000), min_size=1, max_size=12
)


@given(rates, st.integers(1, 30))
def test_each_end_is_in_exactly_one_process(flows: dict[str, float], processes: int) -> None:
    """No process is without an end, and there are never more than were asked for."""
    shares = shared(flows, processes)
    assert Counter(name for share in shares for name in share.send) == Counter(list(flows))
    assert Counter(name for share in shares for name in share.receive) == Counter(list(flows))
    assert all(share.send or share.receive for share in shares)
    assert len(shares) == min(processes, 2 * len(flows))


@given(rates, st.integers(1, 12))
def test_ends_of_a_flow_stay_together_while_there_are_flows_enough(
    flows: dict[str, float], processes: int
) -> None:
    """A sender waits for the receivers of its own process."""
    for share in shared(flows, min(processes, len(flows))):
        assert share.send == share.receive


@given(rates, st.integers(1, 64))
def test_there_are_as_many_processes_as_the_rate_needs(flows: dict[str, float], cores: int) -> None:
    """But no more than cores, and than ends."""
    count = wanted(flows, cores)
    assert 1 <= count <= min(cores, 2 * len(flows))
    if count < min(cores, 2 * len(flows)):
        assert sum(flows.values()) <= count * PER_PROCESS
