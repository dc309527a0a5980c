"""One poll of a mesh as a state machine: requests out, replies in; it knows no sockets and no clock."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from http import HTTPStatus
from typing import Final

from collectors.router import management, schema
from collectors.router.asked import Asked, AskedRouter, Kind, KnownRouter, RouterResult, Scope
from collectors.router.in_flight import InFlight, SentRequest
from collectors.router.management import Nodes, Query, Reply, Request
from collectors.router.replies import BadReply, Refused, Table, parse
from collectors.router.schema import Entity, Flavour

MAX_ROUTERS: Final = 2000
MAX_ROWS: Final = 100_000
MAX_NOTES: Final = 100


class Poll:
    """Asks the router at the other end, all that are known, and all that these tell of.

    `tags` are correlation ids, unique over the life of the connection; `local` is the id of the router at the
    other end, once it is known; routers in `rested` are not asked for what hardly changes. The router at the
    other end is asked at least who it is, whatever its `scope`.
    """

    def __init__(
        self,
        flavour: Flavour,
        known: Mapping[str, KnownRouter],
        tags: Iterator[int],
        local: str | None = None,
        rested: Collection[str] = (),
        scope: Callable[[str], Scope] = lambda _: "whole",
    ) -> None:
        self._default = flavour
        self._queue: deque[tuple[AskedRouter, Request]] = deque()
        self._in_flight = InFlight(tags)
        self._local = AskedRouter("local", schema.LOCAL, flavour, guessed=True)
        self.asked: dict[str, AskedRouter] = {}
        self.faults: Counter[str] = Counter()  # replies that belong to no router of this poll
        self.omitted = 0
        self._new = 0
        self.heard: set[str] = set()  # routers that another one told of in this poll
        self.notes: list[str] = []  # for the log, one for each kind of fault and router
        self._known = known
        self._rested = rested
        self._scope = scope
        self._ask(self._local, self._who(self._local))
        for router, before in known.items():
            if router != local:
                self._add(router, "edge" if before.kind == "edge" else "interior")

    @property
    def done(self) -> bool:
        return not self._queue and not self._in_flight

    @property
    def local(self) -> AskedRouter:
        return self._local

    def take(self, now_ns: int, credit: int) -> list[tuple[str, Request]]:
        """Return the requests to send now, with their tags."""
        room = self._in_flight.room(now_ns, credit)
        taken: list[tuple[str, Request]] = []
        while self._queue and len(taken) < room:
            asked, request = self._queue.popleft()
            if asked.failure:
                asked.open -= 1
                continue
            asked.started_ns = asked.started_ns or now_ns
            taken.append((self._in_flight.add(asked, request), request))
        return taken

    def next_wake_ns(self) -> int | None:
        """Return when the next request may be sent without a reply; None if none waits."""
        return self._in_flight.next_wake_ns() if self._queue else None

    def reply(self, data: bytes, now_ns: int) -> None:
        """Take in what came; never raises for what a router says."""
        try:
            reply = management.decode(data)
        except BadReply as bad:
            self._fault(None, bad)
            return
        sent = self._in_flight.answered(reply.tag)
        if sent is None:
            reason = "repeated" if self._in_flight.was_answered(reply.tag) else "late_or_foreign"
            self._fault(None, BadReply(reason, f"a reply to no open request ({reply.tag[:40]!r})"))
            return
        try:
            if sent.asked.failure is None:
                self._use(sent, reply, now_ns)
        except BadReply as bad:
            self._bad(sent, bad, now_ns)
        finally:
            self._settled(sent.asked, now_ns)

    def undelivered(self, tag: str, outcome: str, *, denied: bool, now_ns: int) -> None:
        """Take in that a request came back."""
        sent = self._in_flight.returned(tag)
        if sent is None:
            return
        if denied:
            self._fail(sent.asked, "denied", f"may not send to {sent.request.to}")
        else:
            self._fail(
                sent.asked, "unreachable", f"nobody at {sent.request.to} (the request came back {outcome})"
            )
        self._settled(sent.asked, now_ns)

    def expire(self, now_ns: int) -> None:
        """End the poll at its deadline: what is not answered has failed."""
        for sent in self._in_flight.give_up():
            self._fail(sent.asked, "timeout", f"no reply from {sent.request.to} in time")
            sent.asked.ended_ns = now_ns
        for asked, request in self._queue:
            self._fail(asked, "timeout", f"{request.to} could not be asked in time")
            asked.ended_ns = now_ns
        self._queue.clear()

    def _ask(self, asked: AskedRouter, request: Request) -> None:
        asked.open += 1
        self._queue.append((asked, request))

    def _who(self, asked: AskedRouter) -> Query:
        return self._query(asked, asked.flavour.entities[0])

    def _query(self, asked: AskedRouter, entity: Entity, offset: int = 0) -> Query:
        named = not (entity.ask_all or entity.name in asked.unnamed)
        return Query(asked.address, asked.flavour, entity, offset, named)

    def _add(self, router: str, kind: Kind) -> None:
        if router in self.asked or not router or "/" in router or router.isspace():
            return
        scope = self._scope(router)
        if scope == "nothing":
            return
        known = self._known.get(router)
        if known is None:
            if len(self._known) + self._new >= MAX_ROUTERS:
                self.omitted += 1
                return
            self._new += 1
        address = schema.edge_address(router) if kind == "edge" else schema.interior_address(router)
        flavour = known.flavour if known else self._default
        asked = AskedRouter(kind, address, flavour, guessed=True, router=router, whole=scope == "whole")
        self.asked[router] = asked
        self._ask(asked, self._who(asked))

    def _use(self, sent: SentRequest, reply: Reply, now_ns: int) -> None:
        asked, request = sent.asked, sent.request
        body = reply.checked_body()
        if not isinstance(request, Query):
            for router in management.node_ids(body):
                self._hear(router, "interior")
            return
        entity = request.entity
        page = parse(entity, body, named=request.named)
        for reason, count in page.faults.items():
            self._fault(asked, BadReply(reason, f"{count} in the reply for {entity.type}"), count)
        if entity is asked.flavour.entities[0]:
            self._identified(asked, page)
        elif entity is schema.LINK:
            asked.told_ns = asked.told_ns or now_ns
            asked.own = max(asked.own, self._in_flight.sent - sent.ended_before)
        table = asked.tables.setdefault(entity.name, Table())
        times = asked.times.get(entity.name)
        asked.times[entity.name] = Asked(times.asked_ns if times else sent.at_ns, now_ns)
        table.rows += page.rows
        table.absent = page.absent
        if entity.paged and page.came >= schema.PAGE and len(table.rows) < MAX_ROWS:
            self._ask(asked, self._query(asked, entity, request.offset + page.came))
        self._discover(entity, page)

    def _discover(self, entity: Entity, page: Table) -> None:
        if entity is schema.NODE:
            for row in page.rows:
                self._hear(row["id"], "interior")
        elif entity is schema.CONNECTION:
            for row in page.rows:
                if row["role"] == "edge" and row["container"]:
                    self._hear(row["container"], "edge" if row["direction"] == "in" else "interior")

    def _hear(self, router: str, kind: Kind) -> None:
        if len(self.heard) < MAX_ROUTERS:
            self.heard.add(router)
        self._add(router, kind)

    def _identified(self, asked: AskedRouter, page: Table) -> None:
        if len(page.rows) != 1:
            raise BadReply("shape", f"{len(page.rows)} rows of {asked.flavour.prefix}router instead of one")
        router = page.rows[0]["id"]
        if asked.kind == "local":
            asked.router = router
            self.asked[router] = asked  # in place of itself, should it have been asked by its address as well
            self.heard.add(router)
            self._default = asked.flavour
            asked.whole = self._scope(router) == "whole"
            if asked.whole:
                self._ask(asked, Nodes(schema.LOCAL))
        elif router != asked.router:
            raise BadReply("identity", f"{asked.address} answered as {router}")
        asked.guessed = False
        if known := self._known.get(router):
            asked.unnamed = known.unnamed
        for entity in asked.flavour.entities[1:] if asked.whole else ():
            needless = entity.only_without and entity.only_without not in page.absent
            if not needless and not (entity.seldom and router in self._rested):
                self._ask(asked, self._query(asked, entity))

    def _bad(self, sent: SentRequest, bad: BadReply, now_ns: int) -> None:
        asked, request = sent.asked, sent.request
        first = isinstance(request, Query) and request.entity is asked.flavour.entities[0]
        status = bad.status if isinstance(bad, Refused) else None
        if first and asked.guessed and status == HTTPStatus.BAD_REQUEST:
            asked.guessed = False
            asked.flavour = schema.other(asked.flavour)
            self._ask(asked, self._who(asked))
            return
        if isinstance(request, Query) and request.named and status == HTTPStatus.NOT_FOUND:
            # This version lacks an attribute that others have, and refuses all for it.
            asked.unnamed |= {request.entity.name}
            self._ask(asked, self._query(asked, request.entity, request.offset))
            return
        self._fault(asked, bad)
        if not isinstance(request, Query):
            return  # the node table tells the same
        if not first and (status is not None or bad.reason == "shape"):
            # One entity that this router does not tell of, or not in our words; the others hold.
            asked.tables.pop(request.entity.name, None)
            return
        self._fail(asked, "bad_reply", str(bad))
        asked.ended_ns = now_ns

    def _fail(self, asked: AskedRouter, result: RouterResult, text: str) -> None:
        if asked.failure is None:
            asked.failure = (result, text)

    def _settled(self, asked: AskedRouter, now_ns: int) -> None:
        asked.open -= 1
        if asked.open <= 0:
            asked.ended_ns = now_ns

    def _fault(self, asked: AskedRouter | None, bad: BadReply, count: int = 1) -> None:
        counts = asked.faults if asked else self.faults
        counts[bad.reason] += count
        who = asked.router or asked.address if asked else "the mesh"
        if len(self.notes) < MAX_NOTES:
            self.notes.append(f"{who}: {bad.reason}: {bad}")
