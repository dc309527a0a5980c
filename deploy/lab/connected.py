"""Waits until the routers of a lab reach each other, and their ways to the brokers are open."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from collectors.polling.errors import PollError
from collectors.router import replies, schema
from collectors.router.management import Nodes, Query, Request
from deploy.embedded.supervise.process import Interrupted
from deploy.errors import Problem
from deploy.lab.management import Asking
from deploy.lab.routers import Router

_LOOK_SECONDS: Final = 2.0  # for which answers are waited before the same is asked again
_PAUSE_SECONDS: Final = 0.1
_TOLD: Final = 4  # names in a sentence


def wait_connected(
    routers: Mapping[str, Router],
    meshes: Iterable[Sequence[str]],
    seconds: float,
    stopping: Callable[[], bool],
) -> None:
    """Return when each router reaches every other one of its mesh, and its links to brokers are active.

    Raises Problem, saying who waits for whom, if that takes longer; Interrupted if `stopping`.
    """
    deadline = time.monotonic() + seconds
    waits = [_Wait(routers[name], [routers[other] for other in mesh]) for mesh in meshes for name in mesh]
    # A thread each: one router that hangs must not keep the others from being asked.
    with ThreadPoolExecutor(len(waits)) as pool:
        left = [text for text in pool.map(lambda wait: wait.until(deadline, stopping), waits) if text]
    if left and stopping():
        raise Interrupted("the routers")
    if left:
        raise Problem(f"the lab did not come together in {seconds:g} s: {'; '.join(left)}")


class _Wait:
    """What one router has not answered yet as it should."""

    def __init__(self, router: Router, mesh: Sequence[Router]) -> None:
        self._router = router
        # A router knows of others before it reaches them; until then it releases messages to them.
        self._missing: dict[str, Request] = {
            other.name: Nodes(other.management) for other in mesh if other is not router
        }
        self._counts = {"auto-links": router.auto_links, "link routes": router.link_routes}
        for what, entity in (("auto-links", schema.AUTO_LINK), ("link routes", schema.LINK_ROUTE)):
            if self._counts[what]:
                self._missing[what] = Query(schema.LOCAL, router.flavour, entity)

    def until(self, deadline: float, stopping: Callable[[], bool]) -> str | None:
        """Return None once nothing is missing, else what is missing at the deadline."""
        name = self._router.name
        asking: Asking | None = None
        problem: str | None = "was not asked"
        try:
            while not stopping():
                until = min(time.monotonic() + _LOOK_SECONDS, deadline)
                try:
                    asking = asking or Asking(self._router.url, max(until - time.monotonic(), _PAUSE_SECONDS))
                    problem = self._look(asking, until)
                except PollError as error:
                    problem = f"does not answer its management ({error})"
                    if asking is not None:
                        asking.close()
                        asking = None
                if problem is None or time.monotonic() >= deadline:
                    break
                time.sleep(_PAUSE_SECONDS)
        finally:
            if asking is not None:
                asking.close()
        return f"{name} {problem}" if problem else None

    def _look(self, asking: Asking, until: float) -> str | None:
        """Ask for what is missing and whether it is there itself; return what is wrong."""
        itself = self._router.management
        answers = asking.ask({itself: Nodes(schema.LOCAL), **self._missing}, until)
        for what, answer in answers.items():
            if what != itself and self._is_whole(what, answer):
                del self._missing[what]
        if itself not in answers:
            return "does not answer its management"
        if not self._missing:
            return None
        names = [*self._missing]
        more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
        return f"waits for {', '.join(names[:_TOLD])}{more}"

    def _is_whole(self, what: str, answer: Any) -> bool:
        """Whether all of a router's links to brokers are active; another router is there if it answers."""
        request = self._missing[what]
        if isinstance(request, Nodes):
            return True
        try:
            rows = replies.parse(request.entity, answer).rows
        except replies.BadReply:
            return False
        return [row["status"] for row in rows] == ["active"] * self._counts[what]
