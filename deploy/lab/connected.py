"""Waits until the routers of a lab reach each other, and their ways to the brokers are open."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from collectors.polling.errors import PollError
from collectors.router import replies, schema
from collectors.router.management import Nodes, Query, Request
from collectors.router.replies import Row
from collectors.router.schema import Entity
from deploy.embedded.supervise.process import Interrupted
from deploy.errors import Problem
from deploy.lab.management import Asking
from deploy.lab.routers import Router
from deploy.topology.plan import Plan

_LOOK_SECONDS: Final = 2.0  # for which answers are waited before the same is asked again
_LEAST_SECONDS: Final = 0.5  # for which they are waited at the deadline: a shorter look would see nothing
_PAUSE_SECONDS: Final = 0.1
_TOLD: Final = 4  # names in a sentence


@dataclass(frozen=True)
class _Question:
    """What a router is asked, and whether its answer is as it should be."""

    what: str  # for people
    request: Request
    is_well: Callable[[Any], bool] = lambda _answer: True


def wait_connected(
    plan: Plan, routers: Mapping[str, Router], seconds: float, stopping: Callable[[], bool]
) -> None:
    """Return when each router reaches every other one of its mesh, and all links of the plan are there.

    Raises Problem, saying who waits for whom, if that takes longer; Interrupted if `stopping`.
    """
    deadline = time.monotonic() + seconds
    waits = [
        _Wait(routers[name], [*_others(routers, mesh, name), *_own_links(plan, routers, name)])
        for mesh in plan.meshes
        for name in mesh
    ]
    # A thread each: one router that hangs must not keep the others from being asked.
    with ThreadPoolExecutor(len(waits)) as pool:
        left = [text for text in pool.map(lambda wait: wait.until(deadline, stopping), waits) if text]
    if left and stopping():
        raise Interrupted("the routers")
    if left:
        raise Problem(f"the lab did not come together in {seconds:g} s: {'; '.join(left)}")


def _others(routers: Mapping[str, Router], mesh: Sequence[str], name: str) -> Iterator[_Question]:
    """Yield whether each other router answers: it is known before it is reached."""
    for other in mesh:
        if other != name:
            yield _Question(other, Nodes(routers[other].management))


def _own_links(plan: Plan, routers: Mapping[str, Router], name: str) -> Iterator[_Question]:
    """Yield whether a router's connectors, its links to neighbours and those to brokers are there."""
    planned, router = plan.routers[name], routers[name]
    neighbours = {
        routers[other].router_id
        for other in plan.mesh_graph()[name]
        if "edge" not in {planned.router.mode, plan.routers[other].router.mode}
    }

    def has_neighbours(rows: list[Row]) -> bool:
        return any(row["id"] == router.router_id and {*row["neighbours"]} >= neighbours for row in rows)

    def question(what: str, entity: Entity, is_well: Callable[[list[Row]], bool]) -> _Question:
        request = Query(schema.LOCAL, router.flavour, entity)
        return _Question(what, request, lambda answer: is_well(replies.parse(entity, answer).rows))

    if neighbours:
        yield question("its links to others", schema.NODE, has_neighbours)
    for what, entity, well, count in (
        ("its connectors", schema.CONNECTOR, "SUCCESS", len(planned.connectors)),
        ("its auto-links", schema.AUTO_LINK, "active", 2 * len(planned.auto_links)),  # in and out
        ("its link routes", schema.LINK_ROUTE, "active", 2 * len(planned.link_routes)),
    ):
        if count:
            yield question(what, entity, partial(_are, well, count))


def _are(well: str, count: int, rows: list[Row]) -> bool:
    return [row["status"] for row in rows].count(well) >= count


class _Wait:
    """What one router has not answered yet as it should."""

    def __init__(self, router: Router, questions: Sequence[_Question]) -> None:
        self._router = router
        self._missing = {question.what: question for question in questions}
        self._asking: Asking | None = None

    def until(self, deadline: float, stopping: Callable[[], bool]) -> str | None:
        """Return None once nothing is missing, else what is missing at the deadline."""
        try:
            while problem := self._problem(deadline - time.monotonic()):
                if stopping() or time.monotonic() >= deadline:
                    return f"{self._router.name} {problem}"
                time.sleep(_PAUSE_SECONDS)
            return None
        finally:
            self._hang_up()

    def _problem(self, left_seconds: float) -> str | None:
        """Ask for what is missing, and whether the router is there itself; return what is wrong."""
        seconds = min(max(left_seconds, _LEAST_SECONDS), _LOOK_SECONDS)
        until = time.monotonic() + seconds
        itself = self._router.management
        asked = {what: question.request for what, question in self._missing.items()}
        try:
            self._asking = self._asking or Asking(self._router.url, seconds)
            answers = self._asking.ask({itself: Nodes(schema.LOCAL), **asked}, until)
        except PollError as error:
            self._hang_up()
            return f"does not answer its management ({error})"
        if itself not in answers:
            return "does not answer its management"
        for what, question in [*self._missing.items()]:
            if what in answers and _is_well(question, answers[what]):
                del self._missing[what]
        names = [*self._missing]
        more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
        return f"waits for {', '.join(names[:_TOLD])}{more}" if names else None

    def _hang_up(self) -> None:
        if self._asking is not None:
            self._asking.close()
            self._asking = None


def _is_well(question: _Question, answer: Any) -> bool:
    try:
        return question.is_well(answer)
    except replies.BadReply:
        return False
