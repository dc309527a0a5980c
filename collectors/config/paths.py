"""Makes paths as the parts use them: one for each group of receivers, with every setting filled in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from collectors.config.units import Step

if TYPE_CHECKING:  # Spark's workers have the rules, and no pydantic
    from collectors.config.model import Config

_SECOND_NS: Final = 1_000_000_000
_FULL_SPEED: Final = 20_000.0
_BUILT_IN: Final[dict[str, Any]] = {
    "rate": (Step(10.0, 10.0, None),),
    "arrivals": "constant",
    "size": (256, 256),
    "ttl": 60 * _SECOND_NS,
    "settle": 10 * _SECOND_NS,
    "window": 5 * _SECOND_NS,
    "marking": 0,
    "presettled": False,
    "durable": False,
    "priority": 4,
    "credit": 200,
    "senders": 1,
    "receivers": 1,
    "warmup": None,
    "duration": None,
    "count": None,
    "max_backlog": 10_000,
    "foreign": "accept",
}


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides when a window is final; its hash is part of a row's identity."""

    window_ns: int
    settle_ns: int
    gone_after_ns: int
    horizon_ns: int

    VERSION = 3  # of the accounting: to be raised when the same records give other rows

    def hash(self) -> str:
        """Returns eight hexadecimal digits, the same for equal rules in every process."""
        text = f"{self.VERSION} {self.settle_ns} {self.gone_after_ns} {self.horizon_ns}"
        return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


@dataclass(frozen=True, slots=True)
class Path:
    """A flow and one group of its receivers."""

    name: str
    flow: str  # the name in the config; several paths of a multicast share it
    mesh: str
    address: str
    receive_address: str
    source: str
    target: str
    via: str | None
    multicast: bool
    rate: tuple[Step, ...]
    arrivals: Literal["constant", "poisson"]
    size: tuple[int, int]
    ttl_ns: int
    presettled: bool
    durable: bool
    priority: int
    credit: int
    senders: int
    receivers: int
    warmup_ns: int | None
    duration_ns: int | None
    count: int | None
    max_backlog: int
    foreign: Literal["accept", "release"]
    selector: str | None
    subscription: str | None
    rules: Rules
    marking_ns: int = 0  # how long a colour is sent (streaming/marking.md); 0: not marked
    reads_per_second: float = 0.0  # what each receiver takes at most; 0: as fast as messages come

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses that its messages may have on their way."""
        return tuple(
            dict.fromkeys(each for one in self.colours for each in (one.address, one.receive_address))
        )

    @property
    def peak_rate(self) -> float:
        """Messages a second of the fastest step; a guess for a path that goes as fast as it can."""
        return max(max(step.start, step.end) for step in self.rate) or _FULL_SPEED

    @property
    def colours(self) -> tuple[Path, ...]:
        """The path itself; of a marked one, what it is in each colour, by its addresses."""
        if not self.marking_ns:
            return (self,)
        found = marked_addresses(self.address)
        return tuple(replace(self, address=one, receive_address=one, marking_ns=0) for one in found)


def marked_addresses(address: str) -> tuple[str, str]:
    """Returns the addresses between which a marked path alternates."""
    return f"{address}/0", f"{address}/1"


def addresses_by_mesh(config: Config) -> dict[str, frozenset[str]]:
    """Returns the addresses of all paths that lie in a mesh, or go through a broker of it."""
    found: dict[str, set[str]] = {}
    for path in resolve(config).values():
        meshes = {config.endpoints[path.source].mesh, config.endpoints[path.target].mesh}
        if path.via is not None:
            meshes.add(config.brokers[path.via].mesh)
        for mesh in meshes:
            found.setdefault(mesh, set()).update(path.addresses)
    return {mesh: frozenset(addresses) for mesh, addresses in found.items()}


def queues_by_broker(config: Config) -> dict[str, frozenset[str]]:
    """Returns the names that queues and addresses of the paths through a broker may have there."""
    found: dict[str, set[str]] = {}
    for path in resolve(config).values():
        if path.via is not None:
            # Artemis names a queue of another name than its address by both: address::queue.
            names = (name for address in path.addresses for name in address.split("::"))
            found.setdefault(path.via, set()).update(names)
    return {broker: frozenset(names) for broker, names in found.items()}


def member_name(flow: str, target: str) -> str:
    """Returns the name of a multicast flow's path to one of its targets."""
    return f"{flow}/{target}"


def setting(config: Config, name: str, key: str) -> Any:
    """Returns a path's own setting, else the file's default, else the built-in one."""
    own = getattr(config.paths[name], key)
    if own is None:
        own = getattr(config.defaults, key)
    return _BUILT_IN[key] if own is None else own


def settle_ns(config: Config, name: str) -> int:
    """Returns how long after a window's end its messages may arrive; through a broker, their whole life."""
    path = config.paths[name]
    if path.settle is None and path.via is not None:
        return int(setting(config, name, "ttl"))
    return int(setting(config, name, "settle"))


def rules(config: Config, name: str) -> Rules:
    """Returns the rules of a configured flow."""
    window_ns = int(setting(config, name, "window"))
    return Rules(window_ns, settle_ns(config, name), config.defaults.gone_after, config.defaults.horizon)


def default_rules(config: Config) -> Rules:
    """Returns the rules of paths that this config does not have."""
    settle = config.defaults.settle or _BUILT_IN["settle"]
    window = config.defaults.window or _BUILT_IN["window"]
    return Rules(window, settle, config.defaults.gone_after, config.defaults.horizon)


def resolve(config: Config) -> dict[str, Path]:
    """Returns all paths by name."""
    found = [_path(config, flow, target) for flow, path in config.paths.items() for target in path.to]
    return {path.name: path for path in found}


def _path(config: Config, flow: str, target: str) -> Path:
    path = config.paths[flow]
    multicast = len(path.to) > 1

    def get(key: str) -> Any:
        return setting(config, flow, key)

    return Path(
        name=member_name(flow, target) if multicast else flow,
        flow=flow,
        mesh=config.endpoints[path.source].mesh,
        address=path.address,
        receive_address=path.receive_address or path.address,
        source=path.source,
        target=target,
        via=path.via,
        multicast=multicast,
        rate=get("rate"),
        arrivals=get("arrivals"),
        size=get("size"),
        ttl_ns=get("ttl"),
        presettled=get("presettled"),
        durable=get("durable"),
        priority=get("priority"),
        credit=get("credit"),
        senders=get("senders"),
        receivers=get("receivers"),
        warmup_ns=get("warmup"),
        duration_ns=get("duration"),
        count=get("count"),
        max_backlog=get("max_backlog"),
        foreign=get("foreign"),
        selector=path.selector,
        subscription=path.subscription,
        rules=rules(config, flow),
        marking_ns=get("marking"),
    )
