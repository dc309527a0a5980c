"""Which router of a mesh is polled through which of the mesh's URLs, and which cannot be reached at all.

A router is polled through the first URL that reaches it, and only there. URLs before that one only ask it who
it is, and so find a way that is there again; URLs after it leave it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from collectors.router.asked import RouterResult, Scope
from collectors.router.poll import Poll

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
        """The same with the reason, for the log and for `inflight status`."""
        return f"{self.text}: {self.reason}; at {self.url} it answers"


@dataclass(slots=True)
class _Url:
    url: str
    local: str = ""  # the router there
    state: Literal["untried", "polled", "lost"] = "untried"
    failure: str | None = None
    unreached: dict[str, tuple[RouterResult, str]] = field(default_factory=dict)
    heard: set[str] = field(default_factory=set)


class MeshUrls:
    """Given the result of each poll, in order; URLs go by their numbers. Knows nothing of threads."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls: Final = [_Url(url) for url in urls]
        self._through: dict[str, int] = {}  # by router: the number of the URL through which it is polled

    def scope(self, number: int) -> Callable[[str], Scope]:
        """Return what the next poll through this URL asks of a router."""
        through = dict(self._through)
        # Before the others have had a look nobody knows what is left for this one.
        early = any(before.state == "untried" for before in self._urls[:number])

        def scope(router: str) -> Scope:
            by = through.get(router)
            if by is None:
                return "nothing" if early else "whole"
            return "whole" if by == number else "identity" if by > number else "nothing"

        return scope

    def polled(self, number: int, poll: Poll) -> None:
        """Take in a poll through this URL: its routers are polled here from now on, or left to the others."""
        this = self._urls[number]
        this.state, this.failure, this.local = "polled", None, poll.local.router or ""
        this.unreached = {router: asked.failure for router, asked in poll.asked.items() if asked.failure}
        this.heard |= poll.heard
        for router, asked in poll.asked.items():
            by = self._through.get(router)
            if asked.failure:
                if by == number:
                    del self._through[router]
            elif asked.whole if by is None else by > number:
                self._through[router] = number

    def lost(self, number: int, reason: str) -> None:
        """Take in that nothing is seen through this URL: its routers are left to the others."""
        this = self._urls[number]
        this.state, this.failure, this.unreached = "lost", reason, {}
        self._through = {router: by for router, by in self._through.items() if by != number}

    def forget(self, router: str) -> None:
        """Forget a router that is gone for good."""
        self._through.pop(router, None)
        for each in self._urls:
            each.unreached.pop(router, None)
            each.heard.discard(router)

    def polled_through(self, number: int, router: str) -> bool:
        """Whether this is the URL that the router is polled through."""
        return self._through.get(router) == number

    @property
    def untried(self) -> bool:
        return any(each.state == "untried" for each in self._urls)

    @property
    def all_lost(self) -> bool:
        return all(each.state == "lost" for each in self._urls)

    @property
    def failures(self) -> dict[str, str | None]:
        """Return why nothing is seen through each URL; None for a URL that works."""
        return {each.url: each.failure for each in self._urls}

    def down(self, router: str) -> str | None:
        """Return why the router cannot be reached through any URL; None while one has still to try."""
        if router in self._through or self.untried:
            return None
        tried = [each.unreached.get(router) for each in self._urls if each.state == "polled"]
        reasons = [failure[1] for failure in tried if failure]
        return reasons[0] if reasons and len(reasons) == len(tried) else None

    def cut_off(self, router: str) -> CutOff | None:
        """Return from where there is no way to a router that answers, if there is such a place."""
        by = self._through.get(router, 0)
        there = self._urls[by]
        for each in self._urls[:by]:
            # It has not asked for those that were found just now; they are where they were found.
            failure = each.unreached.get(router) or each.unreached.get(there.local)
            result, reason = failure or ("ok", "")
            if result in _NO_WAY:
                return CutOff(each.local, there.url, reason, not self._together(each, there))
        return None

    def _together(self, one: _Url, other: _Url) -> bool:
        """Whether they have been parts of one mesh: routers here have told of routers there."""
        return not one.heard.isdisjoint(other.heard)
