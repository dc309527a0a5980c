"""The paths of a load, which the accounting judges, and which process has which of their ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from collectors.config.paths import Path, Rules
from collectors.config.units import Step
from collectors.probe.specs import ReceiverSpec, SenderSpec
from deploy.loads.model import (
    Bandwidth,
    Description,
    Load,
    Pairs,
    PingPong,
    PublicQueues,
    Relay,
    Stream,
)

GONE_AFTER_NS: Final = 5_000_000_000  # all ends are on this machine, and tell of themselves each second
_HORIZON_NS: Final = 900_000_000_000
_UNPACED: Final = (Step(0.0, 0.0, None),)


@dataclass(frozen=True, slots=True)
class Task:
    """One path of a load, and what is particular about it."""

    load: str
    path: Path
    window: int | None = None  # messages out at most
    answered: bool = False  # by a partner, whose answer is what arrives
    relay: Relay | None = None
    reads: tuple[float, ...] = (0.0,)  # of its receivers, in turn


class Share(NamedTuple):
    """The ends of one process; `answers` are paths whose partner it is."""

    senders: tuple[SenderSpec, ...]
    receivers: tuple[ReceiverSpec, ...]
    answers: tuple[Path, ...]


def numbered(address: str, number: int) -> str:
    """Returns one of several addresses, in the style of the given one: a/b/0 or a.b.0."""
    return f"{address}{'/' if '/' in address else '.'}{number}"


def tasks(description: Description) -> dict[str, Task]:
    """Returns the paths of all loads, by name."""
    rules = Rules(description.window, description.settle, GONE_AFTER_NS, _HORIZON_NS)
    found = [task for name, load in description.loads.items() for task in _tasks(name, load, rules)]
    return {task.path.name: task for task in found}


def _tasks(name: str, load: Load, rules: Rules) -> list[Task]:
    if isinstance(load, Relay):
        path = _path(name, load, rules, load.address, senders=load.clients, receivers=load.clients)
        return [Task(name, path, relay=load)]
    if isinstance(load, Stream):
        path = _path(name, load, rules, load.address, senders=load.senders, receivers=load.receivers)
        path = replace(
            path,
            multicast=load.topic,
            receive_address=load.receive_address or load.address,
            rate=load.rate,
            arrivals=load.arrivals,
            presettled=load.presettled,
            selector=load.selector,
            subscription=load.subscription,
        )
        if not load.topic:
            return [Task(name, path, reads=load.reads)]
        return [
            Task(
                name,
                replace(
                    path,
                    name=_member(name, number, load.receivers),
                    receivers=1,
                    subscription=load.subscription and f"{load.subscription}-{number}",
                ),
                reads=(load.reads[number % len(load.reads)],),
            )
            for number in range(load.receivers)
        ]
    if isinstance(load, Bandwidth):
        path = _path(name, load, rules, load.address, senders=load.senders, receivers=load.receivers)
        return [Task(name, path, window=load.window)]
    if isinstance(load, PublicQueues):
        return [Task(name, path, reads=load.reads) for path in _queues(name, load, rules)]
    return [
        Task(name, path, window=window, answered=True) for path, window in _round_trips(name, load, rules)
    ]


def _round_trips(name: str, load: PingPong | Pairs, rules: Rules) -> list[tuple[Path, int | None]]:
    if isinstance(load, PingPong):
        return [(replace(_path(name, load, rules, load.address), receive_address=""), 1)]
    found = []
    for number in range(load.pairs):
        address = _one_of(load.address, number, load.pairs)
        path = _path(_member(name, number, load.pairs), load, rules, address)
        # The peer makes an address up, where answers come to.
        found.append(replace(path, receive_address="", rate=load.rate, arrivals=load.arrivals))
    window = load.window if load.rate[0].start == 0 else None
    return [(path, window) for path in found]


def _queues(name: str, load: PublicQueues, rules: Rules) -> list[Path]:
    every = load.producers
    rate = tuple(Step(step.start * every, step.end * every, step.duration_ns) for step in load.rate)
    return [
        replace(
            _path(
                _member(name, number, load.queues),
                load,
                rules,
                _one_of(load.address, number, load.queues),
                senders=load.producers,
                receivers=load.consumers,
            ),
            rate=rate,
            arrivals=load.arrivals,
            presettled=load.presettled,
            selector=load.selector,
        )
        for number in range(load.queues)
    ]


def _one_of(address: str, number: int, of: int) -> str:
    return numbered(address, number) if of > 1 else address


def _member(name: str, number: int, of: int) -> str:
    return f"{name}/{number}" if of > 1 else name


def _path(name: str, load: Load, rules: Rules, address: str, *, senders: int = 1, receivers: int = 1) -> Path:
    source, target = (load.at[0], load.at[0]) if isinstance(load, Relay) else (load.source, load.to)
    return Path(
        name=name,
        flow=name,
        mesh=name,  # so that messages of two loads at one address are not taken for each other
        address=address,
        receive_address=address,
        source=source,
        target=target,
        via=None,
        multicast=False,
        rate=_UNPACED,
        arrivals="constant",
        size=load.size,
        ttl_ns=load.ttl,
        presettled=False,
        durable=load.durable,
        priority=load.priority,
        credit=load.credit,
        senders=senders,
        receivers=receivers,
        warmup_ns=None,
        duration_ns=load.duration,
        count=load.count,
        max_backlog=load.max_backlog,
        foreign="release",
        selector=None,
        subscription=None,
        rules=rules,
    )


def shares(found: dict[str, Task], processes: int) -> list[Share]:
    """Deals all ends to so many processes: senders from the first on, receivers from the last on.

    So two processes have one end each of a path with one sender and one receiver. A path that is answered is
    whole in one process, and its partner in the next one; so is a client of a relay, which is both ends.
    """
    senders: list[list[SenderSpec]] = [[] for _ in range(processes)]
    receivers: list[list[ReceiverSpec]] = [[] for _ in range(processes)]
    answers: list[list[Path]] = [[] for _ in range(processes)]
    whole = single = 0
    for task in found.values():
        path = task.path
        if task.answered:
            senders[whole % processes].append(SenderSpec((path,), f"{path.source}-0", 0))
            receivers[whole % processes].append(ReceiverSpec(replace(path, target=path.source), "answers"))
            whole += 1
            answers[whole % processes].append(path)
        elif task.relay is not None:
            for number in range(path.senders):
                client, own = whole % processes, _client(path, task.relay, number)
                senders[client].append(SenderSpec((own,), f"client-{number}", number))
                receivers[client].append(ReceiverSpec(own, f"client-{number}"))
                whole += 1
        else:
            flow = tuple(each.path for each in found.values() if each.path.flow == path.flow)
            for number in range(path.senders) if path is flow[0] else ():
                place = (single + number) % processes
                senders[place].append(SenderSpec(flow, f"{path.source}-{number}", number))
            for number in range(path.receivers):
                place = processes - 1 - (single + number) % processes
                reads = task.reads[number % len(task.reads)]
                own = replace(path, reads_per_second=reads)
                receivers[place].append(ReceiverSpec(own, f"{path.target}-{number}"))
            single += 1
    return [Share(tuple(s), tuple(r), tuple(e)) for s, r, e in zip(senders, receivers, answers, strict=True)]


def _client(path: Path, relay: Relay, number: int) -> Path:
    at = relay.at[number % len(relay.at)]
    return replace(path, source=at, target=at, receive_address=numbered(path.address, number))
