"""Candidates weighed against each other: bounds that hold together, sums that add up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streaming.attribution.bounds import joined, say_the_rest, weigh
from streaming.attribution.candidate import Candidate, How


def candidate(
    at: str, how: How, lower: int, upper: int | None, *, likely: int | None = None, exact: bool = False
) -> Candidate:
    return Candidate("router", at, "", "lost", "dropped", lower, upper, how, likely=likely, exact=exact)


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    lower = draw(st.integers(0, 50))
    upper = draw(st.none() | st.integers(lower, 100))
    likely = draw(st.none() | st.integers(0, 100))
    how: How = draw(st.sampled_from(("counted", "absent", "shared", "suspected")))
    return candidate(draw(st.sampled_from("ABCDEFGH")), how, lower, upper, likely=likely)


@given(st.lists(candidates(), max_size=8), st.integers(1, 120))
def test_what_is_said_is_within_bounds_and_never_more_than_is_missing(
    found: list[Candidate], missing: int
) -> None:
    """Whatever is claimed by however many."""
    weighed = weigh(joined(found), missing)
    assert sum(one.said for one in weighed) <= missing
    for one in weighed:
        assert 0 <= one.lower <= one.said <= one.upper <= missing
    names = [one.candidate.hop for one in weighed]
    assert len(set(names)) == len(names)


@given(st.integers(1, 100), st.integers(0, 100), st.integers(0, 100))
def test_what_is_proven_elsewhere_is_no_longer_possible_here(missing: int, here: int, there: int) -> None:
    """One hop's lower bound takes from the others' upper bounds, where they fit together."""
    proven = min(here, missing)
    weighed = weigh([candidate("A", "counted", proven, proven), candidate("B", "absent", 0, there)], missing)
    of_b = [one for one in weighed if one.candidate.at == "B"]
    assert all(one.upper == min(there, missing - proven) for one in of_b)


def test_what_is_counted_goes_before_who_was_absent_and_that_before_counters_of_all() -> None:
    """10 are missing: 4 counted, then the absent one takes the rest."""
    found = [
        candidate("shared", "shared", 0, 10),
        candidate("absent", "absent", 0, None),
        candidate("counted", "counted", 0, 4),
    ]
    assert [(one.candidate.at, one.said) for one in weigh(found, 10)] == [
        ("absent", 6),
        ("counted", 4),
        ("shared", 0),
    ]


def test_what_only_waited_somewhere_is_not_said_before_who_was_absent() -> None:
    """A link that dropped nothing, with two messages that waited when it was asked last."""
    found = [candidate("waited", "counted", 0, 2, likely=0), candidate("absent", "absent", 0, None)]
    assert [(one.candidate.at, one.said) for one in weigh(found, 10)] == [("absent", 10), ("waited", 0)]


def test_what_a_share_leaves_over_is_said_of_what_was_counted_here() -> None:
    """302 were given back at A, 104 of them by who is further down, for two paths: 52 are this path's."""
    found = [candidate("A", "counted", 198, 302, likely=198), candidate("C", "shared", 0, 104)]
    weighed = weigh(found, 302)
    of_a, of_c = sorted(weighed, key=lambda one: one.candidate.at)
    assert (of_a.said, of_c.said) == (198, 104)
    of_c.said = 52
    say_the_rest(weighed, 302)
    assert (of_a.said, of_c.said) == (250, 52)


def test_contradicting_proofs_prove_nothing() -> None:
    """Two hops that both prove 8 of 10: neither bound can be relied upon."""
    found = [candidate("A", "counted", 8, 8, exact=True), candidate("B", "counted", 8, 8, exact=True)]
    weighed = weigh(found, 10)
    assert [one.lower for one in weighed] == [0, 0]
    assert not any(one.exact for one in weighed)


def test_links_of_one_hop_are_one_candidate() -> None:
    """Two receivers at a router, or two colours of a marked path."""
    (one,) = weigh(joined([candidate("A", "counted", 2, 3), candidate("A", "counted", 4, 5)]), 20)
    assert (one.lower, one.upper, one.said) == (6, 8, 8)
