"""Other traffic on the same links, in batches: it moves the links' counters and no path's."""

from __future__ import annotations

from .network import Network
from .parts import MS, SECOND, Link

_STEP_NS = 200 * MS


def begin(network: Network, rate: int, *, drops: bool) -> None:
    """Let so many messages a second go along each way, both ways round."""
    if rate:
        network.after(_STEP_NS, _step, network, rate, drops)


def _step(network: Network, rate: int, drops: bool) -> None:  # noqa: FBT001 -- an event's argument
    rng = network.rng
    for router in network.routers.values():
        for link in router.towards.values():
            way = link.way
            if link.dead or not router.alive or way is None or way.cut:
                continue
            number = rate * _STEP_NS // SECOND + rng.randrange(2)
            link.deliveries += number
            settled = rng.randrange(number + 1)
            link.presettled += settled
            link.outcomes["accepted"] += number - settled
            if link.partner is not None:
                network.after(link.latency_ns, _arrive, link.partner, number, settled)
            if drops and rng.random() < 0.02:
                lost = rng.randrange(1, 5)
                link.dropped += lost
                router.dropped += lost
                network.count((link.hop, "dropped"), lost)
            if drops and rng.random() < 0.02:
                outcome = rng.choice(("released", "modified"))
                link.outcomes[outcome] += 1
                if link.partner is not None:
                    link.partner.outcomes[outcome] += 1
                network.count((link.peer, outcome))
                network.count((link.hop, outcome))
    network.after(_STEP_NS, _step, network, rate, drops)


def _arrive(link: Link, number: int, settled: int) -> None:
    if not link.dead:
        link.deliveries += number
        link.presettled += settled
        link.outcomes["accepted"] += number - settled
