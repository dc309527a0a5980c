"""The data model of the config file, which collectors.config.load reads."""

from __future__ import annotations

import os
from pathlib import Path as File
from typing import Annotated, Final, Literal, get_args
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from collectors.config import units

Mechanism = Literal["PLAIN", "SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512", "EXTERNAL", "ANONYMOUS"]
MECHANISMS: Final[tuple[Mechanism, ...]] = get_args(Mechanism)
MIN_SIZE_BYTES: Final = 64  # the probe's own fields
MAX_SIZE_BYTES: Final = 100_000_000
MAX_TTL_NS: Final = 49 * 86_400_000_000_000  # 32 bits of ms
MAX_CREDIT: Final = (1 << 31) - 1
_BUDGET_NS: Final = units.duration_ns("30d")
NAME_LENGTH: Final = 128
ADDRESS_LENGTH: Final = 512


def amqp_url(value: str) -> str:
    """Returns the URL of a router or broker as it is; raises ValueError for any other."""
    if "?" in value or "#" in value:
        raise ValueError("a URL of AMQP ends with the port: settings are written beside it")
    return _url(value, "amqp", "amqps")


def http_url(value: str) -> str:
    """Returns an HTTP URL as it is; raises ValueError for any other."""
    return _url(value, "http", "https")


def address(value: str) -> str:
    """Returns an address of messages as it is; raises ValueError for what cannot be one."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("an address is of UTF-8") from None
    if not 1 <= len(value) <= ADDRESS_LENGTH:
        raise ValueError(f"an address has 1 to {ADDRESS_LENGTH} characters")
    return value


def _url(value: str, *schemes: str) -> str:
    if "@" in value:  # before it is repeated anywhere
        raise ValueError("a URL must not hold a user or a password; use `sasl` or `auth` with a file")
    try:
        parts = urlsplit(value)
        valid = parts.scheme in schemes and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid or not value.isprintable() or " " in value:
        raise ValueError(f"{value!r} is not a URL like {schemes[-1]}://host:port")
    return value


def name(value: str) -> str:
    """Returns a name as it is; raises ValueError for what cannot be one."""
    if not value or len(value) > NAME_LENGTH or not value.isprintable():
        raise ValueError(f"a name has 1 to {NAME_LENGTH} printable characters")
    return value


def listen_address(value: str) -> str:
    """Returns HOST:PORT as it is; raises ValueError for anything else."""
    host, _, port = value.rpartition(":")
    if not host or not _is_number(port) or int(port) >= 1 << 16:
        raise ValueError(f"{value!r} is not an address to listen on like 127.0.0.1:9750")
    return value


def _server(value: str) -> str:
    host, _, port = value.rpartition(":")
    if "@" in value or not host or not _is_number(port) or not 0 < int(port) < 1 << 16:
        raise ValueError(f"{value.rpartition('@')[2]!r} is not a Kafka server like kafka-1:9092")
    return value


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def message_size(value: object) -> int:
    """Returns a size in bytes; raises ValueError when no message can have it."""
    size = units.size_bytes(value)
    if not MIN_SIZE_BYTES <= size <= MAX_SIZE_BYTES:
        raise ValueError(f"{value!r}: a message has {MIN_SIZE_BYTES}B to {MAX_SIZE_BYTES // 1_000_000}MB")
    return size


def time_to_live(value: object) -> int:
    """Returns a duration in ns; raises ValueError when AMQP has no room for it."""
    ns = units.duration_ns(value)
    if ns > MAX_TTL_NS:
        raise ValueError(f"{value!r} is too long: AMQP's time to live goes up to 49d")
    return ns


def marking(value: object) -> int:
    """Returns a duration in ns, and 0 for `off`, which YAML reads as false."""
    return 0 if value is False or value == "off" else units.duration_ns(value)


def _sizes(value: object) -> tuple[int, int]:
    low, dash, high = value.partition("-") if isinstance(value, str) else (value, "", "")
    first = message_size(low)
    last = message_size(high) if dash else first
    if first > last:
        raise ValueError(f"{value!r}: a range has its larger end last")
    return first, last


def _several(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _file(value: File) -> File:
    """Returns a file name as it is; raises ValueError when no system can have it."""
    try:
        named = b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        named = False
    if not named:
        raise ValueError(f"{str(value)!r} cannot be the name of a file")
    return value


AmqpUrl = Annotated[str, AfterValidator(amqp_url)]
HttpUrl = Annotated[str, AfterValidator(http_url)]
Name = Annotated[str, AfterValidator(name)]
Address = Annotated[str, AfterValidator(address)]
DurationNs = Annotated[int, BeforeValidator(units.duration_ns)]
Profile = Annotated[tuple[units.Step, ...], BeforeValidator(units.rate_profile)]
Sizes = Annotated[tuple[int, int], BeforeValidator(_sizes)]
Share = Annotated[float, BeforeValidator(units.share)]
AmqpUrls = Annotated[tuple[AmqpUrl, ...], BeforeValidator(_several), Field(min_length=1)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_several), Field(min_length=1)]
Server = Annotated[str, AfterValidator(_server)]
Listen = Annotated[str, AfterValidator(listen_address)]
FileName = Annotated[File, AfterValidator(_file)]
Ttl = Annotated[int, BeforeValidator(time_to_live)]
Marking = Annotated[int, BeforeValidator(marking)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, hide_input_in_errors=True)


class Tls(_Part):
    """PEM files; host names are checked unless `verify` says otherwise."""

    ca: FileName | None = None
    cert: FileName | None = None
    key: FileName | None = None
    verify: Literal["name", "chain", "none"] = "name"

    @model_validator(mode="after")
    def _pair(self) -> Tls:
        if (self.cert is None) != (self.key is None):
            raise ValueError("`cert` and `key` go together")
        return self


class Sasl(_Part):
    """How to log in; the password is read from its file when a connection is made."""

    mechanism: Mechanism
    user: str | None = None
    password_file: FileName | None = None

    @model_validator(mode="after")
    def _complete(self) -> Sasl:
        given = [self.user is not None, self.password_file is not None]
        if self.mechanism in {"EXTERNAL", "ANONYMOUS"}:
            if any(given):
                raise ValueError(f"{self.mechanism} takes no `user` and no `password_file`")
        elif not all(given):
            raise ValueError(f"{self.mechanism} needs `user` and `password_file`")
        return self


class Auth(_Part):
    """HTTP Basic."""

    user: str
    password_file: FileName


class Kafka(_Part):
    """How to reach Kafka; without it only `inflight run` works, all in one process."""

    servers: Annotated[tuple[Server, ...], BeforeValidator(_several), Field(min_length=1)]
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,100}$")] = "inflight"
    tls: Tls | None = None
    sasl: Sasl | None = None


class Mesh(_Part):
    """Routers that belong together; one URL is enough, the others are discovered.

    With several URLs, what the first one has no way to is polled through the others.
    """

    urls: AmqpUrls
    tls: Tls | None = None
    sasl: Sasl | None = None
    logins: dict[AmqpUrl, Sasl] = {}  # instead of `sasl`, where it differs by URL
    interval: DurationNs = 5 * units.duration_ns("1s")
    expect: tuple[Annotated[str, Field(pattern=r"^.+--.+$")], ...] = ()  # links that must be there: a--b
    addresses: tuple[str, ...] = ("*",)  # patterns of the addresses that are exported one by one
    links: tuple[str, ...] = ()  # patterns of link names that are exported one by one

    @model_validator(mode="after")
    def _of_its_urls(self) -> Mesh:
        if unknown := self.logins.keys() - {*self.urls}:
            raise ValueError(f"`logins` are by URL; {', '.join(sorted(unknown))} is not among `urls`")
        return self

    def login(self, url: str) -> Sasl | None:
        """Returns how to log in at one of its URLs."""
        return self.logins.get(url, self.sasl)


class Queues(_Part):
    """Which queues are polled, and how many at most."""

    include: tuple[str, ...] = ("*",)
    limit: Annotated[int, Field(gt=0)] = 500


class Broker(_Part):
    """A broker's Jolokia; `target` is the JMX URL where Jolokia is a proxy for another JVM."""

    jolokia: HttpUrl
    origin: HttpUrl | None = None  # stock consoles answer 403 without it
    mesh: Name = "default"
    auth: Auth | None = None
    tls: Tls | None = None
    target: str | None = None
    interval: DurationNs = 10 * units.duration_ns("1s")
    queues: Queues = Queues()
    link_backlog: Annotated[int, Field(gt=0)] = 1000  # messages that may wait for a link to another broker


class Endpoint(_Part):
    """Where probes connect; several URLs are for fail-over."""

    url: AmqpUrls
    mesh: Name = "default"
    tls: Tls | None = None
    sasl: Sasl | None = None


class _Settings(_Part):
    """What a path may set for itself, and `defaults` for all; None means: as the defaults say."""

    rate: Profile | None = None
    arrivals: Literal["constant", "poisson"] | None = None
    size: Sizes | None = None
    ttl: Ttl | None = None
    settle: DurationNs | None = None
    window: DurationNs | None = None
    marking: Marking | None = None  # how long a colour is sent; 0: not marked
    presettled: bool | None = None
    durable: bool | None = None
    priority: Annotated[int, Field(ge=0, le=9)] | None = None
    credit: Annotated[int, Field(gt=0, le=MAX_CREDIT)] | None = None
    senders: Annotated[int, Field(gt=0, le=64)] | None = None
    receivers: Annotated[int, Field(gt=0, le=64)] | None = None
    warmup: DurationNs | None = None
    duration: DurationNs | None = None
    count: Annotated[int, Field(gt=0)] | None = None
    max_backlog: Annotated[int, Field(gt=0)] | None = None
    foreign: Literal["accept", "release"] | None = None

    @model_validator(mode="after")
    def _whole(self) -> _Settings:
        if self.window is not None and self.window % units.duration_ns("1s"):
            raise ValueError("`window` is a whole number of seconds: ledgers are kept by the second")
        return self


class Defaults(_Settings):
    """For all paths, and the bounds of the accounting."""

    gone_after: DurationNs = units.duration_ns("60s")
    horizon: DurationNs = units.duration_ns("15m")
    spool: DurationNs = units.duration_ns("10m")
    # Of all senders of a process together.
    max_rate: Annotated[float, BeforeValidator(units.rate_per_second)] = 10_000.0


class PathConfig(_Settings):
    """One flow: a sender, an address, and one receiver end point, or several for a multicast."""

    source: Name = Field(alias="from")
    to: Names
    address: Address
    receive_address: Address | None = None
    selector: str | None = None
    subscription: Name | None = None  # a durable one, by this name
    via: Name | None = None


class Slo(_Part):
    """An objective: a share of messages delivered, or delivered within a bound."""

    paths: Names
    delivered: Share | None = None
    latency: DurationNs | None = None
    share: Share | None = None
    over: DurationNs = _BUDGET_NS

    @model_validator(mode="after")
    def _one(self) -> Slo:
        if self.over != _BUDGET_NS:
            raise ValueError("budgets are of 30 days, in dashboards and alerts: leave `over` out")
        if (self.delivered is None) == (self.latency is None) or (self.latency is None) != (
            self.share is None
        ):
            raise ValueError("an objective has either `delivered`, or `latency` and `share`")
        return self


class Export(_Part):
    """Where results are served."""

    listen: Listen = "127.0.0.1:9750"
    hosts: tuple[Name, ...] = ()  # names by which people ask for it, beside this machine's own
    service_histogram: bool = False


class Config(_Part):
    """The whole file."""

    version: Literal[1]
    site: Name
    kafka: Kafka | None = None
    meshes: dict[Name, Mesh] = {}
    brokers: dict[Name, Broker] = {}
    endpoints: dict[Name, Endpoint] = {}
    defaults: Defaults = Defaults()
    paths: dict[Name, PathConfig] = {}
    slos: tuple[Slo, ...] = ()
    export: Export = Export()
    state: FileName = File(".inflight")  # spools and what must outlive a restart
