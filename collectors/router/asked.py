"""A router in one poll: what is asked of it, and what it answered."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from collectors.router.replies import Table
from collectors.router.schema import Flavour

Kind = Literal["local", "interior", "edge"]
RouterResult = Literal["ok", "timeout", "unreachable", "denied", "bad_reply"]
Scope = Literal["whole", "identity", "nothing"]  # what a router is asked: all, only who it is, or nothing


class Asked(NamedTuple):
    """When rows were asked for, and when the last of them came; by one clock or another."""

    asked_ns: int
    answered_ns: int


class KnownRouter(NamedTuple):
    """What is known of a router from earlier polls."""

    kind: Kind
    flavour: Flavour
    unnamed: frozenset[str] = frozenset()  # entities of which it refuses to tell some attribute that we name


@dataclass(slots=True)
class AskedRouter:
    """A router in this poll, and what it answered."""

    kind: Kind
    address: str
    flavour: Flavour
    guessed: bool
    router: str | None = None  # the id it was found by; None for the one we are connected to, until it says
    whole: bool = True  # not only asked who it is
    tables: dict[str, Table] = field(default_factory=dict)
    unnamed: frozenset[str] = frozenset()
    times: dict[str, Asked] = field(default_factory=dict)  # of each of the tables
    told_ns: int = 0  # when it told its links
    own: int = 0  # requests and replies of this poll that may have been on their way when it told its links
    open: int = 0
    failure: tuple[RouterResult, str] | None = None
    faults: Counter[str] = field(default_factory=Counter)
    started_ns: int = 0
    ended_ns: int = 0

    @property
    def result(self) -> RouterResult:
        return self.failure[0] if self.failure else "ok"
