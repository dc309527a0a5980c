"""A trace as a state machine: finds the route, measures it round by round, follows its changes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from collectors.router import address_names, schema
from collectors.router.asked import AskedRouter
from collectors.router.management import Query, Read, Request
from collectors.router.replies import BadReply, Refused, Row, parse
from collectors.router.schema import Entity, Flavour
from deploy.trace import route
from deploy.trace.ask import Asking
from deploy.trace.facts import QUERIES
from deploy.trace.route import Route
from deploy.trace.traced import Traced

REFRESH_NS: Final = 5_000_000_000  # links and ways are asked for again no more often: they are dear
_FIND_NS: Final = 200_000_000
_NOTE_LENGTH: Final = 200


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for; `address` None is the whole mesh."""

    address: str | None
    rounds: int
    interval_ns: int
    timeout_ns: int
    rate: float


class Trace:
    """Given the time with each call; `take` has what to send, until `over`."""

    def __init__(self, plan: Plan, flavour: Flavour) -> None:
        self.plan = plan
        self.local: str | None = None
        self.routers: dict[str, Traced] = {}  # all that were on the route at some time
        self.route = Route()
        self.rounds = 0
        self.failure: BadReply | None = None  # the router at the other end could not be asked who it is
        self.began_ns: int | None = None  # when measuring began; before, the route is looked for
        self.nobody = False  # no router had receivers of the address by then
        self._first = Traced(AskedRouter("local", schema.LOCAL, flavour, guessed=True))
        self._asking = Asking(plan.rate)
        self._open: dict[tuple[str, str], int] = {}  # questions on their way, since when
        self._next_round_ns = self._looked_ns = self._found_ns = 0
        self._changed = False
        self._question(self._first, schema.ROUTER)

    def over(self, now_ns: int) -> bool:
        """Whether all was asked and answered, or can no longer be answered in time."""
        if self.failure:
            return True
        if self.began_ns is None or self._asking.trips_due:
            return False
        if self.nobody:
            return True
        measured = self.rounds >= self.plan.rounds
        timeout_ns = self.plan.timeout_ns
        return measured and not any(t.trips.open(now_ns, timeout_ns) for t in self.routers.values())

    def take(self, now_ns: int, credit: int) -> tuple[str, Request] | None:
        """Return a request to send now, with its tag."""
        self._go_on(now_ns)
        taken = self._asking.take(now_ns, credit)
        if taken is None:
            return None
        tag, asked, request, measured = taken
        if measured:
            self.routers[asked.router or ""].trips.send(tag, now_ns)
        else:
            self._open[asked.router or "", _about(request)] = now_ns
        return tag, request

    def next_wake_ns(self, now_ns: int) -> int:
        """Return until when there is nothing to send, unless something comes."""
        due = self._asking.next_ns()
        if due is None and self.began_ns is not None and self.rounds < self.plan.rounds:
            due = self._next_round_ns
        return now_ns + self.plan.timeout_ns if due is None else max(now_ns, due)

    def reply(self, data: bytes, now_ns: int) -> None:
        """Take in what came; never raises for what a router says."""
        found = self._asking.answered(data)
        if found is None:
            return
        sent, reply = found
        traced = self._traced(sent.asked)
        traced.returned, traced.denied = "", False
        if reply.tag in traced.trips:
            traced.trips.answer(reply.tag, now_ns)
        self._open.pop((sent.asked.router or "", _about(sent.request)), None)
        try:
            self._use(traced, sent.request, reply.checked_body())
            sent.asked.guessed = False
        except BadReply as bad:
            self._bad(traced, sent.request, bad)

    def undelivered(self, tag: str, outcome: str, *, denied: bool) -> None:
        """Take in that a request came back."""
        sent = self._asking.returned(tag)
        if sent is None:
            return
        traced = self._traced(sent.asked)
        traced.trips.lose(tag)
        self._open.pop((sent.asked.router or "", _about(sent.request)), None)
        traced.denied = denied
        traced.returned = f"may not send to {sent.request.to}" if denied else f"no way to it ({outcome})"
        if self.local is None:
            self.failure = BadReply("denied" if denied else "undelivered", traced.returned)

    def _go_on(self, now_ns: int) -> None:
        plan = self.plan
        if self.local is None:
            asked_ns = self._open.get(("", schema.ROUTER.name))
            if asked_ns is not None and now_ns - asked_ns >= plan.timeout_ns:
                text = f"no answer to management within {plan.timeout_ns / 1e9:g}s"
                self.failure = BadReply("timeout", text)
            return
        # While much is being told it is not looked for anew at each reply: that takes as long as the way is.
        if self._changed and not (self._asking.questions_due and now_ns - self._found_ns < _FIND_NS):
            self._found_ns = now_ns
            self._find(self.local)
        if self.began_ns is None and not self._looks_for_the_way(now_ns):
            self.began_ns = self._next_round_ns = self._looked_ns = now_ns
            self.nobody = plan.address is not None and not self.route.targets
        if self.began_ns is None or self.nobody:
            return
        if self.rounds < plan.rounds and now_ns >= self._next_round_ns and not self._asking.trips_due:
            self._begin_round(now_ns)

    def _looks_for_the_way(self, now_ns: int) -> bool:
        timeout_ns = self.plan.timeout_ns
        waits = any(now_ns - at_ns < timeout_ns for at_ns in self._open.values())
        return waits or self._asking.questions_due > 0

    def _begin_round(self, now_ns: int) -> None:
        self.rounds += 1
        self._next_round_ns = now_ns + self.plan.interval_ns
        for traced in self.routers.values():
            self._asking.measure(traced.asked, self._read(traced))
        if now_ns - self._looked_ns >= REFRESH_NS and not self._asking.questions_due:
            self._looked_ns = now_ns
            for traced in self.routers.values():
                self._look(traced)

    def _find(self, local: str) -> None:
        self._changed = False
        told = {name: traced.told for name, traced in self.routers.items() if traced.told is not None}
        edge = self._first.asked.kind == "edge"
        self.route = route.find(local, told, edge=edge, everywhere=self.plan.address is None)
        for hop in self.route.hops:
            if hop.router not in self.routers and len(self.routers) < route.MAX_ROUTERS:
                edge = hop.edge
                address = schema.edge_address(hop.router) if edge else schema.interior_address(hop.router)
                asked = AskedRouter(
                    "edge" if edge else "interior",
                    address,
                    self._first.asked.flavour,
                    guessed=True,
                    router=hop.router,
                )
                self.routers[hop.router] = Traced(asked)
                self._look(self.routers[hop.router])

    def _look(self, traced: Traced) -> None:
        """Ask for all that the route is found by."""
        if self.plan.address is not None and self.began_ns is None:
            self._put(traced, self._read(traced))
        for entity in QUERIES:
            if not (entity is schema.NODE and traced.asked.kind == "edge"):
                self._question(traced, entity)

    def _question(self, traced: Traced, entity: Entity, offset: int = 0) -> None:
        named = not (entity.ask_all or entity.name in traced.asked.unnamed)
        self._put(traced, Query(traced.asked.address, traced.asked.flavour, entity, offset, named))

    def _put(self, traced: Traced, request: Request) -> None:
        self._asking.question(traced.asked, request)

    def _read(self, traced: Traced) -> Read:
        address, flavour = self.plan.address, traced.asked.flavour
        key = schema.EVERYWHERE if address is None else address_names.key(address, flavour.name)
        return Read(traced.asked.address, flavour, schema.ADDRESS, key)

    def _traced(self, asked: AskedRouter) -> Traced:
        return self.routers.get(asked.router or "", self._first)

    def _use(self, traced: Traced, request: Request, body: object) -> None:
        if isinstance(request, Read):
            row = body if isinstance(body, dict) else {}
            shaped = {"attributeNames": [*row], "results": [[*row.values()]]}
            self._tell_address(traced, next(iter(parse(schema.ADDRESS, shaped, named=False).rows), None))
            return
        if not isinstance(request, Query):
            return
        page = parse(request.entity, body, named=request.named)
        if request.entity is schema.ROUTER:
            self._identified(page.rows)
            return
        following = traced.take_in(request, page, self.plan.address)
        if following:
            self._question(traced, schema.LINK, following)
        else:
            self._has_told(traced)

    def _tell_address(self, traced: Traced, row: Row | None) -> None:
        if row != traced.facts.address:
            traced.facts.address = row
            self._has_told(traced)

    def _has_told(self, traced: Traced) -> None:
        traced.find_told(self.plan.address)
        self._changed = True

    def _identified(self, rows: list[Row]) -> None:
        router = rows[0]["id"] if len(rows) == 1 else None
        if router is None:
            raise BadReply("shape", f"{len(rows)} rows of `router` instead of one")
        asked = self._first.asked
        self.local = asked.router = router
        if rows[0]["mode"] == "edge":
            asked.kind = "edge"
        self.routers[router] = self._first
        self._look(self._first)

    def _bad(self, traced: Traced, request: Request, bad: BadReply) -> None:
        asked = traced.asked
        status = bad.status if isinstance(bad, Refused) else None
        if isinstance(request, Query | Read) and status == HTTPStatus.BAD_REQUEST:
            if asked.guessed and request.flavour is asked.flavour:
                asked.flavour, asked.guessed = schema.other(asked.flavour), False
            if request.flavour is not asked.flavour:
                if isinstance(request, Read):
                    self._put(traced, self._read(traced))
                else:
                    self._question(traced, request.entity)
                return
        if isinstance(request, Read) and status == HTTPStatus.NOT_FOUND:
            self._tell_address(traced, None)
            asked.guessed = False
            return
        if isinstance(request, Query) and request.named and status == HTTPStatus.NOT_FOUND:
            asked.unnamed |= {request.entity.name}  # this version lacks an attribute that others have
            self._question(traced, request.entity, request.offset)
            return
        traced.note = str(bad)[:_NOTE_LENGTH]
        if self.local is None:
            self.failure = bad


def _about(request: Request) -> str:
    """Return what a question is about: there is one of each at a time."""
    return request.entity.name if isinstance(request, Query | Read) else ""
