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
from collectors.router.management import Nodes, Query
from collectors.router.replies import Row
from collectors.router.schema import Entity
from deploy.embedded.supervise.process import Interrupted
from deploy.errors import Problem
from deploy.lab.management import Asking
from deploy.lab.routers import Router
from deploy.topology.plan import Plan

_LOOK_SECONDS: Final = 2.0  # for which answers are waited
_LEAST_SECONDS: Final = 0.5  # the same at the deadline: a shorter look would see nothing
_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 1.0
_ITSELF: Final = "itself"
_TOLD_NAMES: Final = 4
_TOLD_ROUTERS: Final = 8

Missing = str | None  # what a router waits for, in words


@dataclass(frozen=True)
class _Question:
    """What a router is asked, and what the rows of its answer say is missing."""

    request: Nodes | Query
    look: Callable[[list[Row]], Missing] = lambda _rows: None

    def missing(self, answer: Any) -> Missing:
        rows = replies.parse(self.request.entity, answer).rows if isinstance(self.request, Query) else []
        return self.look(rows)


_Questions = dict[str, _Question]  # by what is missing without an answer


def wait_connected(
    plan: Plan, routers: Mapping[str, Router], seconds: float, stopping: Callable[[], bool]
) -> None:
    """Return when each router reaches every other one of its mesh, and all links of the plan are there.

    Raises Problem, saying who waits for whom, if that takes longer; Interrupted if `stopping`.
    """
    deadline = time.monotonic() + seconds
    members = [(mesh, name) for mesh in plan.meshes for name in mesh]
    own = {name: dict(_own_questions(plan, routers, mesh, name)) for mesh, name in members}
    # A router knows of others before it reaches them. Asked earlier, they would be kept from meeting.
    others = {
        name: {other: _Question(Nodes(routers[other].management)) for other in mesh if other != name}
        for mesh, name in members
    }
    for asked in (own, others):
        waits = [_Wait(routers[name], questions) for name, questions in asked.items()]
        # A thread each: one router that hangs must not keep the others from being asked.
        with ThreadPoolExecutor(len(waits)) as pool:
            left = [text for text in pool.map(lambda wait: wait.until(deadline, stopping), waits) if text]
        if left and stopping():
            raise Interrupted("the routers")
        if left:
            left.sort(key=lambda text: "waits for" in text)  # who does not answer is what others wait for
            told = _some(left, _TOLD_ROUTERS, "; ")
            raise Problem(f"the lab did not come together in {seconds:g} s: {told}")


class _Wait:
    """What one router has not answered yet as it should."""

    def __init__(self, router: Router, questions: _Questions) -> None:
        self._router = router
        self._left = questions
        self._asking: Asking | None = None

    def until(self, deadline: float, stopping: Callable[[], bool]) -> str | None:
        """Return None once nothing is missing, else what is missing at the deadline."""
        pause_seconds = _PAUSE_SECONDS
        try:
            while problem := self._problem(deadline - time.monotonic()):
                if stopping() or time.monotonic() >= deadline:
                    return f"{self._router.name} {problem}"
                time.sleep(pause_seconds)
                pause_seconds = min(pause_seconds * 1.5, _LONGEST_PAUSE_SECONDS)
            return None
        finally:
            self._hang_up()

    def _problem(self, left_seconds: float) -> str | None:
        seconds = min(max(left_seconds, _LEAST_SECONDS), _LOOK_SECONDS)
        until = time.monotonic() + seconds
        requests = {what: question.request for what, question in self._left.items()}
        try:
            self._asking = self._asking or Asking(self._router.url, seconds)
            answers = self._asking.ask({_ITSELF: Nodes(schema.LOCAL), **requests}, until)
        except PollError as error:
            self._hang_up()
            return f"does not answer its management ({error})"
        if not answers:
            return "does not answer its management"
        missing = {what: _missing(what, question, answers) for what, question in self._left.items()}
        self._left = {what: question for what, question in self._left.items() if missing[what]}
        words = [text for text in missing.values() if text]
        return f"waits for {_some(words, _TOLD_NAMES, ', ')}" if words else None

    def _hang_up(self) -> None:
        if self._asking is not None:
            self._asking.close()
            self._asking = None


def _missing(what: str, question: _Question, answers: Mapping[str, Any]) -> Missing:
    try:
        return question.missing(answers[what])
    except (KeyError, replies.BadReply):
        return what


def _own_questions(
    plan: Plan, routers: Mapping[str, Router], mesh: Sequence[str], name: str
) -> Iterator[tuple[str, _Question]]:
    """Yield what a router is asked of itself: whom it knows, and whether its links are there."""
    planned, router = plan.routers[name], routers[name]

    def question(entity: Entity, missing: Callable[[list[Row]], Missing]) -> _Question:
        return _Question(Query(schema.LOCAL, router.flavour, entity), missing)

    if router.mode == "interior":
        interior = {routers[each].router_id: each for each in mesh if routers[each].mode == "interior"}
        near = {id_: each for id_, each in interior.items() if each in plan.mesh_graph()[name]}
        yield "its mesh", question(schema.NODE, partial(_unknown, router.router_id, interior, near))
    for what, entity, well, count in (
        ("its connectors", schema.CONNECTOR, "SUCCESS", len(planned.connectors)),
        ("its auto-links", schema.AUTO_LINK, "active", 2 * len(planned.auto_links)),  # in and out
        ("its link routes", schema.LINK_ROUTE, "active", 2 * len(planned.link_routes)),
    ):
        if count:
            yield what, question(entity, partial(_not_well, what, well, count))


def _unknown(own_id: str, mesh: Mapping[str, str], near: Mapping[str, str], rows: list[Row]) -> Missing:
    """Return the routers that it does not know; then those that it has no link to, and should have."""
    known = {row["id"]: row["neighbours"] or () for row in rows}
    if unknown := [name for id_, name in mesh.items() if id_ not in known]:
        return _some(unknown, _TOLD_NAMES, ", ")
    apart = [name for id_, name in near.items() if id_ not in known[own_id]]
    return f"its links to {_some(apart, _TOLD_NAMES, ', ')}" if apart else None


def _not_well(what: str, well: str, count: int, rows: list[Row]) -> Missing:
    return what if [row["status"] for row in rows].count(well) < count else None


def _some(texts: Sequence[str], most: int, between: str) -> str:
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return between.join(texts[:most]) + more
