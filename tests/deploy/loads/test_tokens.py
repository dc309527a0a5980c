"""Tokens that clients pass on to each other, in a network that a test plays."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from collectors.probe.message import Body, encode_body
from deploy.loads.tokens import Token, Tokens, hops_of

SECOND = 1_000_000_000


class Ring:
    """Processes that share the tokens; what is sent reaches any of them, by chance, and in any order."""

    def __init__(self, seed: int, *, processes: int, tokens: int, count: int | None) -> None:
        self.random = random.Random(seed)  # noqa: S311 -- no secret
        self.count = count
        self.all = [
            Tokens(tokens, range(number, tokens, processes), count, SECOND) for number in range(processes)
        ]
        self.on_its_way = [token for each in self.all for token in each.begin(0)]
        self.sent = len(self.on_its_way)
        self.seen: Counter[tuple[int, int]] = Counter()
        self.overtaken = 0

    def hop(self, now: int, *, lose: bool = False, repeat: bool = False) -> None:
        """One message arrives, is lost, or arrives twice."""
        token = self.on_its_way.pop(self.random.randrange(len(self.on_its_way)))
        if lose:
            return
        at = self.random.choice(self.all)
        for _ in range(2 if repeat else 1):
            stale = at.stale
            following = at.arrived(token, now)
            if at.stale == stale:
                self.seen[token.number, token.counter] += 1
            if following is not None:
                self.on_its_way.append(following)
                self.sent += 1
        for number in at.retired:
            for each in self.all:
                each.over(number)

    def remake(self, now: int) -> None:
        for each in self.all:
            missing = each.missing(now)
            self.on_its_way += missing
            self.sent += len(missing)


@given(
    seed=st.integers(0, 1 << 32),
    processes=st.integers(1, 4),
    tokens=st.integers(1, 7),
    count=st.integers(7, 200),
)
def test_each_value_of_a_counter_is_seen_once(seed: int, processes: int, tokens: int, count: int) -> None:
    """Where nothing is lost: from 0 up to each token's share of the hops, and then it is over."""
    ring = Ring(seed, processes=processes, tokens=tokens, count=count)
    while ring.on_its_way:
        ring.hop(0)
    assert ring.sent == count
    assert set(ring.seen.values()) == {1}
    by_token = {n: sorted(c for number, c in ring.seen if number == n) for n in range(tokens)}
    assert [len(counters) for counters in by_token.values()] == [
        len(range(n, count, tokens)) for n in range(tokens)
    ]
    assert all(counters == list(range(len(counters))) for counters in by_token.values())
    assert all(each.all_over for each in ring.all)


@given(seed=st.integers(0, 1 << 32), count=st.integers(3, 60), losses=st.lists(st.booleans(), max_size=80))
def test_a_lost_token_is_made_anew_and_all_come_to_their_end(
    seed: int, count: int, losses: list[bool]
) -> None:
    """In one process each loss costs one message more, and no value of a counter is seen twice."""
    ring = Ring(seed, processes=1, tokens=3, count=count)
    now, lost = 0, 0
    while not ring.all[0].all_over:
        if not ring.on_its_way:
            now += SECOND
            ring.remake(now)
        lose = bool(losses) and losses.pop()
        lost += lose
        ring.hop(now, lose=lose)
    assert set(ring.seen.values()) == {1}
    assert len(ring.seen) == count
    assert ring.sent == count + lost
    assert ring.all[0].remade == lost


@given(seed=st.integers(0, 1 << 32), repeats=st.lists(st.booleans(), max_size=60))
def test_a_message_that_comes_twice_makes_no_second_token(seed: int, repeats: list[bool]) -> None:
    ring = Ring(seed, processes=1, tokens=2, count=40)
    twice = 0
    while ring.on_its_way:
        repeat = bool(repeats) and repeats.pop()
        twice += repeat
        ring.hop(0, repeat=repeat)
    assert ring.sent == 40
    assert ring.all[0].stale == twice


def test_a_token_that_was_thought_lost_is_not_passed_on_any_more() -> None:
    """It was only slow: what was made in its place is newer."""
    tokens = Tokens(1, [0], None, SECOND)
    (first,) = tokens.begin(0)
    (second,) = tokens.missing(SECOND)
    assert second.generation == first.generation + 1
    assert tokens.arrived(second, SECOND + 1) is not None
    assert tokens.arrived(first, SECOND + 2) is None
    assert tokens.stale == 1


def test_a_number_that_no_token_has_is_not_passed_on() -> None:
    """Who sends to an inbox what is none of ours makes no token."""
    tokens = Tokens(2, [0, 1], None, SECOND)
    assert tokens.arrived(Token(2, 0, 0), 0) is None


@given(tokens=st.integers(1, 50), count=st.integers(0, 10_000))
def test_the_hops_of_all_tokens_make_the_count(tokens: int, count: int) -> None:
    shares = [hops_of(number, tokens, count) or 0 for number in range(tokens)]
    assert sum(shares) == count
    assert max(shares) - min(shares) <= 1


@given(
    number=st.integers(0, 1 << 31),
    generation=st.integers(0, 1 << 31),
    counter=st.integers(0, 1 << 60),
    head=st.binary(max_size=20),
)
def test_a_token_is_behind_what_the_probe_writes(
    number: int, generation: int, counter: int, head: bytes
) -> None:
    """And leaves that as it was."""
    body = encode_body(Body(False, 1, 2, 3, 4, 5, 6, 7), 80)
    message = bytearray(head + body)
    token = Token(number, generation, counter)
    token.write(message, len(head))
    assert Token.read(memoryview(message), len(head)) == token
    assert message[: len(head) + 64] == head + body[:64]
