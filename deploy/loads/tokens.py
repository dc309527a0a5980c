"""Tokens that clients pass on: which may go on, and which are gone. Knows no clock and no network."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from collectors.probe.message import BODY

_FORM: Final = struct.Struct(">IIQ")
TOKEN_AT: Final = BODY.size  # behind the probe's own fields


class Token(NamedTuple):
    """One that is on its way for the `counter`-th time, counted from 0.

    What is made anew, as it did not come any more, has the next generation and the counter that its maker
    knew last.
    """

    number: int
    generation: int
    counter: int

    def write(self, body: bytearray, body_at: int) -> None:
        _FORM.pack_into(body, body_at + TOKEN_AT, *self)

    @classmethod
    def read(cls, body: memoryview, body_at: int) -> Token:
        return cls._make(_FORM.unpack_from(body, body_at + TOKEN_AT))


def hops_of(number: int, tokens: int, count: int | None) -> int | None:
    """Returns how often a token is sent in all, so that all tokens together make `count`; None: no end."""
    return None if count is None else count // tokens + (number < count % tokens)


@dataclass(slots=True)
class _Known:
    generation: int
    counter: int
    seen_ns: int


class Tokens:
    """The tokens that one process has seen, and those of them that it makes: its own."""

    def __init__(self, tokens: int, own: Sequence[int], count: int | None, patience_ns: int) -> None:
        self._tokens, self._own, self._count, self._patience_ns = tokens, own, count, patience_ns
        self._known: Final[dict[int, _Known]] = {}
        self._over: Final[set[int]] = set()
        self.retired: Final[set[int]] = set()  # those that came here for the last time
        self.remade = 0
        self.stale = 0  # of an earlier generation, or seen before: not passed on

    def begin(self, now_ns: int) -> Iterator[Token]:
        """Yields this process's own tokens, for their first hop."""
        for number in self._own:
            self._known[number] = _Known(0, 0, now_ns)
            yield Token(number, 0, 0)

    def arrived(self, token: Token, now_ns: int) -> Token | None:
        """Returns what to pass on for a token that came; None where its way ends here."""
        known = self._known.get(token.number)
        if token.number >= self._tokens:
            self.stale += 1
            return None
        if known is not None and (token.generation, token.counter) < (known.generation, known.counter):
            self.stale += 1
            return None
        following = token._replace(counter=token.counter + 1)
        # A repeat has the counter of what was passed on already, less one: it is below what is known now.
        self._known[token.number] = _Known(token.generation, following.counter, now_ns)
        if following.counter == hops_of(token.number, self._tokens, self._count):
            self.retired.add(token.number)
            self.over(token.number)
            return None
        return following

    def over(self, number: int) -> None:
        """It came to its end, here or elsewhere: it is not made anew."""
        self._over.add(number)

    @property
    def all_over(self) -> bool:
        return len(self._over) == self._tokens

    def missing(self, now_ns: int) -> list[Token]:
        """Returns those of its own that did not come by here for too long, made anew."""
        found = []
        for number in self._own:
            known = self._known.get(number)
            if known is None or number in self._over or now_ns - known.seen_ns < self._patience_ns:
                continue
            known.generation += 1
            known.seen_ns = now_ns
            self.remade += 1
            found.append(Token(number, known.generation, known.counter))
        return found
