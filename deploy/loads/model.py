"""What a load is, as a plan or a description writes it; what each measures stands in README.md."""

from __future__ import annotations

from pathlib import Path as File
from typing import Annotated, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from collectors.config import model, units
from collectors.config.model import (
    MAX_CREDIT,
    Address,
    DurationNs,
    Endpoint,
    FileName,
    Name,
    Profile,
    Sizes,
    Ttl,
)

MAX_PROCESSES: Final = 64
MAX_ENDS: Final = 512  # of one load: each is a link, and a record a second
MAX_WINDOW: Final = 1_000_000
TOKEN_BYTES: Final = 80  # the probe's own fields, and the token's
SECOND_NS: Final = units.duration_ns("1s")

Ends = Annotated[int, Field(gt=0, le=64)]
Several = Annotated[int, Field(gt=0, le=MAX_ENDS)]
Header = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,100}$")]


def _rates(value: object) -> tuple[float, ...]:
    return tuple(map(units.rate_per_second, value if isinstance(value, list) else [value]))


# What each receiver reads a second at most, all alike or in turn; 0: as fast as messages come.
Reads = Annotated[tuple[float, ...], BeforeValidator(_rates), Field(min_length=1, max_length=64)]


class Part(BaseModel):
    """Frozen, and closed to what is not known."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, hide_input_in_errors=True)


def stomp_url(value: str) -> str:
    """Returns the URL of a broker's STOMP as it is; raises ValueError for any other."""
    model.amqp_url(value.replace("stomp", "amqp", 1) if value.startswith("stomp://") else "")
    return value


class StompLogin(Part):
    """User and password of a broker."""

    user: str
    password_file: FileName


class StompEndpoint(Part):
    """Where STOMP is spoken: one broker, or several for fail-over."""

    url: Annotated[
        tuple[Annotated[str, AfterValidator(stomp_url)], ...],
        BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
        Field(min_length=1),
    ]
    mesh: Name = "default"
    login: StompLogin | None = None


class _Load(Part):
    """What all loads have: each is bounded, by a number of messages or by time."""

    address: Address
    size: Sizes = (256, 256)
    count: Annotated[int, Field(gt=0)] | None = None
    duration: DurationNs | None = None
    ttl: Ttl = 60 * SECOND_NS
    durable: bool = False
    priority: Annotated[int, Field(ge=0, le=9)] = 4
    credit: Annotated[int, Field(gt=0, le=MAX_CREDIT)] = 200
    max_backlog: Annotated[int, Field(gt=0)] = 100_000  # messages between schedule, sender and receiver

    @model_validator(mode="after")
    def _bounded(self) -> _Load:
        if self.count is None and self.duration is None:
            raise ValueError("a load ends: it needs `count` (messages) or `duration`")
        return self


class _Between(_Load):
    source: Name = Field(alias="from")
    to: Name


class Stream(_Between):
    """Messages on a schedule, whatever the network does; also over STOMP."""

    kind: Literal["stream"]
    rate: Profile = (units.Step(10.0, 10.0, None),)
    arrivals: Literal["constant", "poisson"] = "constant"
    receive_address: Address | None = None
    senders: Ends = 1
    receivers: Ends = 1
    presettled: bool = False
    selector: str | None = None
    subscription: Name | None = None  # a durable one, by this name
    topic: bool = False  # each receiver gets all messages: it is a path of its own
    reads: Reads = (0.0,)
    headers: Annotated[dict[Header, Header], Field(max_length=16)] = {}  # STOMP's: for selectors


class PingPong(_Between):
    """One request, its answer, the next."""

    kind: Literal["ping-pong"]


class Pairs(_Between):
    """One asks, its fixed partner answers, at a rate, or with so many asked and not answered yet."""

    kind: Literal["pairs"]
    pairs: Several = 1
    rate: Profile = (units.Step(0.0, 0.0, None),)  # of each pair; 0: as fast as it is answered
    arrivals: Literal["constant", "poisson"] = "constant"
    window: Annotated[int, Field(gt=0, le=MAX_WINDOW)] = 1  # questions out at once, where the rate is 0


class Bandwidth(_Between):
    """As fast as it goes, with so many messages out that have no outcome yet."""

    kind: Literal["bandwidth"]
    window: Annotated[int, Field(gt=0, le=MAX_WINDOW)] = 1000  # of each sender
    senders: Ends = 1
    receivers: Ends = 1


class Relay(_Load):
    """Tokens that each client passes on to another one, by chance."""

    kind: Literal["relay"]
    at: Annotated[tuple[Name, ...], BeforeValidator(lambda v: [v] if isinstance(v, str) else v)] = Field(
        min_length=1
    )
    clients: Annotated[int, Field(ge=2, le=64)] = 2
    tokens: Annotated[int, Field(gt=0, le=10_000)] = 1
    hold: DurationNs | None = None  # how long a client keeps a token

    @model_validator(mode="after")
    def _has_room(self) -> Relay:
        if self.size[0] < TOKEN_BYTES:
            raise ValueError(f"`size`: a token takes {TOKEN_BYTES}B at least")
        if self.count is not None and self.count < self.tokens:
            raise ValueError("`count` is of all hops, and at least one for each of `tokens`")
        return self


class PublicQueues(_Between):
    """Queues that all producers write to, and all consumers share, at their rates; also over STOMP."""

    kind: Literal["public"]
    queues: Several = 1
    producers: Ends = 1
    consumers: Ends = 1
    rate: Profile = (units.Step(10.0, 10.0, None),)  # of each producer to each queue
    arrivals: Literal["constant", "poisson"] = "constant"
    presettled: bool = False
    reads: Reads = (0.0,)  # of each consumer from each queue
    selector: str | None = None
    headers: Annotated[dict[Header, Header], Field(max_length=16)] = {}  # STOMP's: for selectors


Load = Annotated[Stream | PingPong | Pairs | Bandwidth | Relay | PublicQueues, Field(discriminator="kind")]


def _scheme(value: object) -> str:
    url = value.get("url") if isinstance(value, dict) else getattr(value, "url", None)
    first = url if isinstance(url, str) else next(iter(url), "") if isinstance(url, (list, tuple)) else ""
    return "stomp" if str(first).startswith("stomp:") else "amqp"


AnyEndpoint = Annotated[
    Annotated[Endpoint, Tag("amqp")] | Annotated[StompEndpoint, Tag("stomp")], Discriminator(_scheme)
]


class Description(Part):
    """One run of loads: what `python -m deploy.loads` reads."""

    endpoints: dict[Name, AnyEndpoint]
    loads: Annotated[dict[Name, Load], Field(min_length=1, max_length=64)]
    processes: Annotated[int, Field(gt=0, le=MAX_PROCESSES)] = 1
    window: DurationNs = SECOND_NS
    settle: DurationNs = 10 * SECOND_NS  # what has not come for so long is lost, or not answered
    patience: DurationNs = 30 * SECOND_NS  # where nothing moves for so long, the run is given up
    windows: File | None = None  # rows of windows, final ones and revisions, a line each

    @model_validator(mode="after")
    def _known(self) -> Description:
        if self.window % SECOND_NS:
            raise ValueError("`window` is a whole number of seconds: ledgers are kept by the second")
        for name, load in self.loads.items():
            for end in ends_of(load):
                if end not in self.endpoints:
                    raise ValueError(f"load {name}: there is no end point {end!r} in `endpoints`")
            self._check_stomp(name, load)
        return self

    def _check_stomp(self, name: str, load: Load) -> None:
        kinds = {isinstance(self.endpoints[end], StompEndpoint) for end in ends_of(load)}
        if len(kinds) > 1:
            raise ValueError(f"load {name}: one of its end points speaks STOMP and another AMQP")
        is_stomp = kinds == {True}
        if is_stomp and not isinstance(load, (Stream, PublicQueues)):
            raise ValueError(f"load {name}: over STOMP there are `stream` and `public`")
        if not is_stomp and isinstance(load, (Stream, PublicQueues)) and load.headers:
            raise ValueError(f"load {name}: `headers` are of STOMP")


def ends_of(load: Load) -> tuple[str, ...]:
    """Returns the names of the end points that a load uses."""
    return tuple(dict.fromkeys(load.at if isinstance(load, Relay) else (load.source, load.to)))
