"""The URLs of a mesh are its eyes: which router is polled through which, and which no eye reaches.

A router is polled through the first eye that reaches it, and only there. Eyes before that one only ask it who
it is, and so find a way that is there again; eyes after it leave it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from collectors.router.poll import Poll, Result, Scope

_NO_WAY: Final = frozenset({"unreachable", "timeout"})  # not denied: then there is a way, and no right


@dataclass(frozen=True, slots=True)
class CutOff:
    """A router that answers at a URL of its own, and to which there is no way from another one."""

    origin: str  # the router that has no way to it
    url: str  # where it answers
    reason: str
    stranger: bool  # no router here has ever told of one there: they may be two meshes

    @property
    def text(self) -> str:
        return f"cut off from {self.origin}"

    @property
    def explained(self) -> str:
        """With what was tried; for the log and for people who ask."""
        return f"{self.text}: {self.reason}; at {self.url} it answers"


@dataclass(slots=True)
class _Eye:
    url: str
    local: str = ""  # the router that it looks through
    state: Literal["untried", "open", "shut"] = "untried"
    failure: str | None = None
    unreached: dict[str, tuple[Result, str]] = field(default_factory=dict)
    heard: set[str] = field(default_factory=set)


class Eyes:
    """Told how each poll went, in order; nothing of threads."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._eyes: Final = [_Eye(url) for url in urls]
        self._through: dict[str, int] = {}  # by router: the eye that polls it

    def scope(self, eye: int) -> Callable[[str], Scope]:
        """What this eye's next poll asks of a router."""
        through = dict(self._through)
        # Before the others have had a look nobody knows what is left for this one.
        early = any(before.state == "untried" for before in self._eyes[:eye])

        def scope(router: str) -> Scope:
            by = through.get(router)
            if by is None:
                return "nothing" if early else "whole"
            return "whole" if by == eye else "who" if by > eye else "nothing"

        return scope

    def took(self, eye: int, poll: Poll) -> None:
        """A poll went through; routers change to this eye, or are left to the others."""
        this = self._eyes[eye]
        this.state, this.failure, this.local = "open", None, poll.local.router or ""
        this.unreached = {router: asked.failure for router, asked in poll.asked.items() if asked.failure}
        this.heard |= poll.heard
        for router, asked in poll.asked.items():
            by = self._through.get(router)
            if asked.failure:
                if by == eye:
                    del self._through[router]
            elif asked.whole if by is None else by > eye:
                self._through[router] = eye

    def shut(self, eye: int, reason: str) -> None:
        """Nothing is seen through it: its routers are the others' to find."""
        this = self._eyes[eye]
        this.state, this.failure, this.unreached = "shut", reason, {}
        self._through = {router: by for router, by in self._through.items() if by != eye}

    def forget(self, router: str) -> None:
        """It is gone for good."""
        self._through.pop(router, None)
        for eye in self._eyes:
            eye.unreached.pop(router, None)
            eye.heard.discard(router)

    def polls(self, eye: int, router: str) -> bool:
        """Whether what this eye sees of the router counts."""
        return self._through.get(router) == eye

    @property
    def untried(self) -> bool:
        return any(eye.state == "untried" for eye in self._eyes)

    @property
    def all_shut(self) -> bool:
        return all(eye.state == "shut" for eye in self._eyes)

    @property
    def failures(self) -> dict[str, str | None]:
        """By URL, why nothing is seen through it."""
        return {eye.url: eye.failure for eye in self._eyes}

    def down(self, router: str) -> str | None:
        """Why no eye reaches the router; None as well while one has still to try."""
        if router in self._through or self.untried:
            return None
        tried = [eye.unreached.get(router) for eye in self._eyes if eye.state == "open"]
        reasons = [failure[1] for failure in tried if failure]
        return reasons[0] if reasons and len(reasons) == len(tried) else None

    def cut_off(self, router: str) -> CutOff | None:
        """From where there is no way to a router that answers."""
        by = self._through.get(router, 0)
        there = self._eyes[by]
        for eye in self._eyes[:by]:
            # It has not asked for those that were found just now; they are where they were found.
            failure = eye.unreached.get(router) or eye.unreached.get(there.local)
            result, reason = failure or ("ok", "")
            if result in _NO_WAY:
                return CutOff(eye.local, there.url, reason, not self._together(eye, there))
        return None

    def _together(self, one: _Eye, other: _Eye) -> bool:
        """Whether they have been parts of one mesh: routers here have told of routers there."""
        return not one.heard.isdisjoint(other.heard)
