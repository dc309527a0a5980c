"""Loads that are no plain stream (deploy/loads): their form in a plan, and how a run has them carried out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from collectors.config.mistakes import Mistake, of_validation, unknown_name
from collectors.process.worker import Worker
from deploy.errors import Problem
from deploy.experiment.load import Figures, Json, Order
from deploy.loads.model import Bandwidth, Description, Pairs, PingPong, PublicQueues, Relay
from deploy.loads.paths import tasks
from deploy.loads.rows import Rows
from deploy.loads.supervisor import Run

SEVERAL: Final = "several"
_MODELS: Final[Mapping[str, type[BaseModel]]] = {
    "ping-pong": PingPong,
    "pairs": Pairs,
    "bandwidth": Bandwidth,
    "relay": Relay,
    "public": PublicQueues,
}
KINDS: Final = (*_MODELS, SEVERAL)
_OF_ALL: Final = ("processes", "window", "settle", "patience", "endpoints")  # of a description as a whole
_SECOND_NS: Final = 1_000_000_000
_LONGER_NS: Final = 5 * _SECOND_NS  # than the measured time: the run ends it, at whole windows
_START_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.05
_NOWHERE: Final = "amqp://127.0.0.1"  # while nothing is known of the network


def description(load: Json, endpoints: Json, duration_ns: int) -> Json:
    """Return a plan's load as deploy/loads reads it; each ends by its count, else after that time.

    Without end points nothing is looked up. Raises ValueError for a broker that is not there.
    """
    whole = {key: value for key, value in load.items() if key in _OF_ALL}
    kind = load.get("kind")
    own = {key: value for key, value in load.items() if key not in {*_OF_ALL, "loads"}}
    loads = load.get("loads") if kind == SEVERAL else {str(kind): own}
    ended = {
        name: {**one, "duration": f"{duration_ns}ns"} if isinstance(one, dict) and "count" not in one else one
        for name, one in (loads.items() if isinstance(loads, dict) else ())
    }
    given = whole.get("endpoints")
    own_ends = given if isinstance(given, dict) else {}
    made = {name: _of_parts(name, end, endpoints) for name, end in own_ends.items()}
    return {**whole, "endpoints": {**endpoints, **made}, "loads": ended}


def _of_parts(name: str, end: Any, endpoints: Json) -> Any:
    """Return an end point; one that names brokers of the network by `stomp` has their ports."""
    if not isinstance(end, dict) or "stomp" not in end:
        return end
    brokers = end["stomp"] if isinstance(end["stomp"], list) else [end["stomp"]]
    for broker in brokers:
        if endpoints and broker not in endpoints:
            raise ValueError(f"endpoints.{name}: {unknown_name('broker', broker, endpoints)}")
    urls = [_stomp(endpoints[broker]["url"] if endpoints else _NOWHERE) for broker in brokers]
    more = {key: value for key, value in end.items() if key != "stomp"}
    return {**more, "url": urls if len(urls) > 1 else urls[0]}


def _stomp(url: str) -> str:
    """Return the URL of a broker that speaks STOMP where it speaks AMQP."""
    return url.replace("amqp://", "stomp://", 1)


class Others:
    """All kinds of deploy/loads; `several` has them by name, below `loads`."""

    def mistakes(self, load: Json) -> list[Mistake]:
        """Return what is wrong with it by itself; end points are looked up later."""
        whole = description(load, {}, _SECOND_NS)
        model = _MODELS.get(str(load.get("kind")))
        try:
            if model is not None:
                model.model_validate(whole["loads"][load["kind"]])
        except ValidationError as error:
            return of_validation(model, error) if model else []
        try:
            Description.model_validate(whole)
        except ValidationError as error:
            # Without a place: of the whole, which end points there are.
            return [one for one in of_validation(Description, error) if one[0]]
        return []

    def config(self, base: Json, load: Json, values: Sequence[tuple[Any, int | None]]) -> Json:
        """Return the network's config without paths; raises ValueError for end points that are not there."""
        if values:
            raise ValueError(
                "`steps`, `ramp` and `search` of load.rate are for streams; name another setting"
            )
        ends = base.get("endpoints", {})
        try:
            Description.model_validate(description(load, ends, _SECOND_NS))
        except ValidationError as error:
            told = [f"{'.'.join(map(str, place))}: {why}" for place, why in of_validation(Description, error)]
            raise ValueError("; ".join(told).removeprefix(": ")) from None
        defaults = {**base.get("defaults", {}), "window": load.get("window", "1s")}
        return {**base, "defaults": defaults, "paths": {}}

    def make(self, order: Order) -> OtherLoad:
        return OtherLoad(order)


class _Handed(Rows):
    """Rows that go to the run as they come."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take

    def add(self, rows: Iterable[bytes]) -> None:
        for row in rows:
            self._take(row)

    def figures(self, unbounded: frozenset[str]) -> dict[str, dict[str, Any]]:  # noqa: ARG002 -- as Rows has it
        return {}  # the run makes them, of its measured time alone


class OtherLoad:
    """A run of deploy/loads in a thread; its generators are processes, which end when this one does."""

    def __init__(self, order: Order) -> None:
        self._order = order
        lasts_ns = order.warm_up_ns + sum(step.duration_ns or 0 for step in order.steps) + _LONGER_NS
        raw = description(order.document, order.made["endpoints"], lasts_ns)
        self._description = Description.model_validate(raw)
        self._run = Run(self._description, raw, _Handed(order.take_row))
        self._stopping = threading.Event()
        self._told: dict[str, Any] = {}
        self._results: dict[str, Any] = {}
        self._worker = Worker("load", self._work, again=False)

    def _work(self) -> None:
        self._results = self._run.run(self._stopping.is_set, self._tell)

    def _tell(self, told: dict[str, Any]) -> None:
        self._told = told

    def start(self) -> None:
        """Return when it sends: its processes begin together, once all are attached."""
        self._worker.start()
        deadline = time.monotonic() + _START_SECONDS
        while self._told.get("phase", "attaching") == "attaching" and not self._worker.ended.is_set():
            self._order.supervisor.give_up_if_asked()
            if time.monotonic() > deadline:
                self._stopping.set()
                why = self._told.get("problem") or "no reason is known"
                raise Problem(f"the load did not begin within {_START_SECONDS:g} s: {why}")
            time.sleep(_LOOK_SECONDS)
        if (problem := self.problem()) is not None:
            raise Problem(problem)

    def begin(self) -> tuple[int, int]:
        """Return now, up to a second after it began."""
        now_ns = time.time_ns()
        return now_ns - 2 * _SECOND_NS, now_ns

    def problem(self) -> str | None:
        if self._worker.problem is not None:
            return self._worker.problem
        problems = self._results.get("problems")
        return "; ".join(problems) if problems else None

    def progress(self) -> int:
        return int(self._told.get("sent", 0)) + int(self._told.get("received", 0))

    @property
    def finished(self) -> bool:
        return self._worker.ended.is_set()

    def stop(self) -> None:
        self._stopping.set()
        while not self._worker.join(_LOOK_SECONDS):
            self._order.supervisor.give_up_if_asked()
        if (problem := self.problem()) is not None:
            raise Problem(problem)

    def unbounded(self) -> list[str]:
        found = tasks(self._description)
        return [name for name, task in found.items() if task.path.rate[0].start == 0]

    def processes(self) -> int:
        return self._description.processes

    def figures(self, from_ns: int, to_ns: int) -> Figures | None:  # noqa: ARG002 -- its rows are counted
        return None

    def at_ceiling(self) -> bool:
        return bool(self._results.get("at_ceiling"))
