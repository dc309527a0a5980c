"""A history: what Kafka would give of a network in its order, and beside it what really happened."""

# ruff: noqa: S311 -- chance here is to be repeatable, not secret

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from collectors.contract.events import Event
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import BROKER, EVENTS, LIVE, ROUTER, WINDOWS, Topic
from collectors.contract.window_rows import LiveRow, WindowRow
from streaming.attribution.places import Place

from . import live, other, plans, truth, windows
from .broker import Broker
from .broker_polls import BrokerCollector
from .ends import Receiver, Sender
from .faults import FAULTS
from .network import Network
from .parts import MS, SECOND, T0, Router, Way
from .plans import Plan
from .polls import MESH, Collector
from .running import Running
from .truth import Truth
from .windows import PathEnds

FAULT_SECONDS = 100
EARLY_SECONDS = 9
FURTHER_SECONDS = 70
DRAIN_SECONDS = 110  # after the last message: what expires does, windows become final, polls come in
BROKER_POLL_NS = 10 * SECOND


@dataclass(frozen=True, slots=True)
class Item:
    """A record with its topic and when Kafka took it."""

    append_ns: int
    topic: Topic
    value: Telemetry | WindowRow | LiveRow | Event


@dataclass(frozen=True, slots=True)
class History:
    plan: Plan
    places: Mapping[str, Place]
    items: Sequence[Item]
    truth: Truth


def simulate(
    seed: int, fault: str = "none", *, further: tuple[str, ...] = (), disturbed: bool = False
) -> History:
    """Play a history of a network drawn from the seed."""
    return play(plans.draw(seed, fault, FAULTS[fault].needs, further=further, disturbed=disturbed))


def play(plan: Plan) -> History:
    """Play the history of this plan."""
    items: list[Item] = []
    run = _build(plan)
    network = run.network

    def publish(topic: Topic) -> object:
        return lambda record, append_ns: items.append(Item(append_ns, topic, record))

    collector = Collector(
        network,
        publish(ROUTER),  # type: ignore[arg-type] # by construction
        plan.poll_ns,
        plan.clocks_ns[0],
        plan.lost_polls,
        plan.unrecorded,
    )
    collector.begin()
    restarts = [collector.restart]
    if run.broker is not None:
        of_broker = BrokerCollector(
            network,
            run.broker,
            publish(BROKER),  # type: ignore[arg-type] # by construction
            BROKER_POLL_NS,
            plan.clocks_ns[0],
        )
        of_broker.begin()
        restarts.append(of_broker.restart)
    if plan.collector_restarts:
        for restart in restarts:
            network.after(network.rng.randrange(60, 200) * SECOND, restart)
    # Early, while counters are low: what is made anew has soon counted more than before.
    begin_s = FAULT_SECONDS if plan.seed % 3 else EARLY_SECONDS
    begin_ns = T0 + begin_s * SECOND + network.rng.randrange(10 * SECOND)
    for number, fault in enumerate((plan.fault, *plan.further)):
        at_ns = begin_ns + number * FURTHER_SECONDS * SECOND
        network.at(at_ns, FAULTS[fault].start, run)
        if fault != "none" and network.rng.random() < 0.2:
            event = Event(at_ns, None, "fault", (), fault)
            items.append(Item(at_ns + 50 * MS, EVENTS, event))
    until_ns = T0 + (plan.seconds + DRAIN_SECONDS) * SECOND
    network.run(until_ns)
    paths = [_ends(plan, run, path) for path in plan.paths]
    rng = Random(f"{plan.seed} rows")
    for ends in paths:
        items += _of_windows(ends, until_ns, rng)
    items.sort(key=lambda item: item.append_ns)
    return History(plan, _places(plan), items, truth.of_paths(paths, network.counts, until_ns))


def _build(plan: Plan) -> Running:
    rng = Random(f"{plan.seed} {plan.fault} network")
    network = Network(rng)
    for name in plan.routers:
        network.add_router(name, plan.flavour)
    for one, other_name, cost in plan.ways:
        way = Way(one, other_name, cost, rng.choice((MS, 5 * MS, 40 * MS)))
        network.ways.append(way)
        network.connect(way)
    broker = None
    if any(path.via for path in plan.paths):
        broker = Broker(network, plans.BROKER)
        broker.begin()
    run = Running(plan, network, {}, {}, broker=broker)
    for path in plan.paths:
        _attach(run, path)
    network.learn()
    other.begin(network, plan.other_rate, drops=plan.other_drops)
    return run


def _attach(run: Running, path: plans.PathPlan) -> None:
    network, broker = run.network, run.broker

    def place(name: str) -> Router | Broker:
        if name == plans.BROKER:
            assert broker is not None
            return broker
        return network.routers[name]

    if path.via == "auto" and broker is not None:
        broker.bind(network.routers[run.plan.bound_at], path.address)
    elif path.via and broker is not None:
        broker.queue(path.address)
    receivers = [
        Receiver(
            network,
            path.name,
            path.address,
            f"{path.name}-receiver-{number}",
            place(at),
            phase="1" if path.via == "auto" else "0",
            marking_ns=path.marking_ns,
        )
        for number, at in enumerate(path.receivers)
    ]
    for receiver in receivers:
        receiver.attach()
    until_ns = T0 + run.plan.seconds * SECOND
    sender = Sender(
        network,
        path.name,
        path.address,
        f"{path.name}-sender",
        place(path.sender),
        path.presettled,
        path.interval_ns,
        until_ns,
        clock_ns=run.plan.clocks_ns[1],
        marking_ns=path.marking_ns,
    )
    network.after(2 * SECOND, sender.begin)
    run.senders[path.name], run.receivers[path.name] = sender, receivers


def _ends(plan: Plan, run: Running, path: plans.PathPlan) -> PathEnds:
    _, sender_clock_ns, receiver_clock_ns = plan.clocks_ns
    return PathEnds(
        path=path.name,
        address=path.address,
        presettled=path.presettled,
        sender=run.senders[path.name],
        receivers=tuple(run.receivers[path.name]),
        sender_clock_ns=sender_clock_ns,
        receiver_clock_ns=receiver_clock_ns,
        bound_ns=20 * MS,
        window_ns=5 * SECOND,
        settle_ns=path.settle_ns,
        traced=plan.flavour == "dispatch",
    )


def _of_windows(ends: PathEnds, until_ns: int, rng: Random) -> list[Item]:
    found, last_ns = [], 0
    for made_ns, row in sorted(windows.rows(ends, until_ns), key=lambda made: made[0]):
        last_ns = max(last_ns, made_ns + rng.randrange(200 * MS, 3 * SECOND))
        found.append(Item(last_ns, WINDOWS, row))
    last_ns = 0
    for made_ns, told in live.rows(ends, until_ns):
        last_ns = max(last_ns, made_ns + rng.randrange(100 * MS, SECOND))
        found.append(Item(last_ns, LIVE, told))
    return found


def _places(plan: Plan) -> dict[str, Place]:
    return {
        path.name: Place(
            group=MESH,
            meshes=(MESH,),
            address=path.address,
            receive_address=path.address,
            via=plans.BROKER if path.via else None,
            presettled=path.presettled,
            settle_ns=path.settle_ns,
            interval_ns=max(plan.poll_ns, BROKER_POLL_NS if path.via else 0),
            marking_ns=path.marking_ns,
        )
        for path in plan.paths
    }
