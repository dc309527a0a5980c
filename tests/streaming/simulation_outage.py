"""An outage of Kafka: a live run's records, in the order in which a catch-up puts them into the partition."""

from __future__ import annotations

import random
from dataclasses import dataclass

from collectors.contract.records import SECOND_NS, Record

Topic = list[tuple[Record, int]]
WAIT_NS = 5 * SECOND_NS // 2  # a probe tries again every 2 s at most
Host = tuple[str, str]  # role and name: a run's spool is gone on with by the one after it


@dataclass(frozen=True)
class Outage:
    """From when to when nothing was appended of some hosts, and how each of them caught up."""

    from_ns: int
    to_ns: int
    waits_ns: dict[Host, int]  # until a host noticed that Kafka is back
    steps_ns: dict[Host, int]  # between the records of its backlog


def drawn(rng: random.Random, topic: Topic, cut: str) -> Outage:
    """Longer than an end of the tests' rules may be silent; the hosts' backlogs come in any order."""
    first_ns, last_ns = topic[0][1], topic[-1][1]
    from_ns = first_ns + 4 * SECOND_NS + rng.randrange((last_ns - first_ns) // 3 + 1)
    to_ns = from_ns + rng.randrange(10, 25) * SECOND_NS
    hosts = sorted({(record.header.role, record.header.name) for record, _ in topic})
    hosts = [host for host in hosts if cut == "all" or host[0] == cut.removesuffix("s")]
    return Outage(
        from_ns,
        to_ns,
        {host: rng.randrange(WAIT_NS) for host in hosts},
        {host: rng.choice([1_000_000, 20_000_000, 100_000_000]) for host in hosts},
    )


def after(outage: Outage, topic: Topic) -> Topic:
    """The topic of the same records, had there been that outage."""
    placed: list[tuple[int, int, Record]] = []
    free_ns: dict[Host, int] = {}  # when a host's backlog is through so far
    for place, (record, append_ns) in enumerate(topic):
        host = record.header.role, record.header.name
        at_ns = append_ns
        if host in outage.waits_ns and append_ns >= outage.from_ns:
            back_ns = outage.to_ns + outage.waits_ns[host]
            at_ns = max(append_ns, back_ns, free_ns.get(host, 0))
            free_ns[host] = at_ns + (outage.steps_ns[host] if at_ns > append_ns else 0)
        placed.append((at_ns, place, record))
    placed.sort(key=lambda item: item[:2])
    return [(record, at_ns) for at_ns, _, record in placed]
