"""The faults of a soak, of the network and of Inflight's own parts."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kafka import KafkaProducer
from kafka.errors import KafkaError

if TYPE_CHECKING:
    from soak import Soaked

Whose = Literal["network", "receivers", "ours"]  # whom a loss may be blamed on


@dataclass(frozen=True)
class Fault:
    """One fault; `act` does and undoes it. Those of network and receivers may make messages go missing."""

    name: str
    whose: Whose
    act: Callable[[Soaked], None]


def stopped(part: str, seconds: float) -> Callable[[Soaked], None]:
    """Return an act that stops a part with SIGSTOP, and lets it go on."""

    def act(soaked: Soaked) -> None:
        pids = soaked.processes(part)
        for number, wait in ((signal.SIGSTOP, seconds), (signal.SIGCONT, 0.0)):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(wait)

    return act


def killed(part: str, seconds: float) -> Callable[[Soaked], None]:
    """Return an act that kills a part and starts it again."""

    def act(soaked: Soaked) -> None:
        soaked.kill(part)
        time.sleep(seconds)
        soaked.start(part)

    return act


def junk(soaked: Soaked) -> None:
    """Send values that are not records: noise, numbers of 400 digits, 300 MB of zeros in a small batch."""
    noise = [b"", b"\0" * 900, os.urandom(2_000), b'{"v":1,"at_ns":1' + b"0" * 400 + b"}"]
    topics = [f"{soaked.prefix}.{name}" for name in ("samples", "router", "windows")]
    producer = KafkaProducer(
        bootstrap_servers=soaked.bootstrap, compression_type="gzip", max_request_size=1 << 30, acks=1
    )
    try:
        for topic in topics:
            for value in noise:
                producer.send(topic, value=value, key=b"direct").get(30)
            with suppress(KafkaError):  # which is what it should say
                producer.send(topic, value=bytes(300_000_000), key=b"direct").get(60)
    finally:
        producer.close(timeout=5)


FAULTS = (
    Fault("router B killed, back after 8 s", "network", killed("B", 8)),
    Fault("receivers stood still for 20 s", "receivers", stopped("receive", 20)),
    Fault("Kafka stood still for 45 s", "ours", stopped("kafka", 45)),
    Fault("senders stood still for 20 s", "ours", stopped("send", 20)),
    Fault("the job killed", "ours", killed("stream", 2)),
    Fault("router B stood still for 15 s", "network", stopped("B", 15)),
    Fault("junk in all topics", "ours", junk),
    Fault("receivers killed, back after 5 s", "receivers", killed("receive", 5)),
    Fault("senders killed, back after 5 s", "ours", killed("send", 5)),
    Fault("the exporter killed", "ours", killed("export", 5)),
    Fault("Kafka killed, back after 10 s", "ours", killed("kafka", 10)),
    Fault("the job stood still for 20 s", "ours", stopped("stream", 20)),
    Fault("the broker stood still for 15 s", "network", stopped("artemis", 15)),
    Fault("the exporter stood still for 15 s", "ours", stopped("export", 15)),
    Fault("the receivers stood still for 3 s", "receivers", stopped("receive", 3)),
)
