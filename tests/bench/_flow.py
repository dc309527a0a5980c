"""One process that sends to an address and receives from it: raw proton, the probe, or many paths of it.

python tests/bench/_flow.py raw|probe|many PORT ADDRESS SIZE yes|no SECONDS   (yes: presettled)
raw and probe go as fast as they can; many is 100 paths of 10/s.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from measured import parse
from proton import Delivery, Handler, Link, Message
from proton.reactor import Container

from collectors.kafka.in_process_sink import InProcessSink
from collectors.probe.prober import Prober, Settings

CREDIT = 1000
_WARM_SECONDS = 1.5
_DRAIN_SECONDS = 30.0


class Raw(Handler):
    """Send bytes that were encoded once; read deliveries without decoding them."""

    def __init__(self, port: int, address: str, size: int, *, presettled: bool) -> None:
        super().__init__()
        self.url, self.address, self.presettled = f"amqp://127.0.0.1:{port}", address, presettled
        self.data = Message(body=b"x" * size, inferred=True, ttl=60.0).encode()
        self.sent = self.received = 0
        self.over = False

    def on_reactor_init(self, event: Any) -> None:
        container = event.container
        for role in ("receiver", "sender"):
            connection = container.connect(self.url, handler=self, reconnect=False)
            session = connection.session()
            session.open()
            link = session.receiver("in") if role == "receiver" else session.sender("out")
            (link.source if role == "receiver" else link.target).address = self.address
            if role == "sender":
                link.snd_settle_mode = Link.SND_SETTLED if self.presettled else Link.SND_UNSETTLED
            link.open()
            if role == "receiver":
                link.flow(CREDIT)

    def on_link_flow(self, event: Any) -> None:
        link = event.link
        if not link.is_sender:
            return
        while link.credit and not self.over:
            delivery = link.delivery(str(self.sent))
            link.stream(self.data)
            link.advance()
            if self.presettled:
                delivery.settle()
            self.sent += 1

    def on_delivery(self, event: Any) -> None:
        delivery = event.delivery
        link = delivery.link
        if link.is_sender:
            if delivery.updated:
                delivery.settle()
            return
        if delivery.readable and not delivery.partial:
            link.recv(delivery.pending)
            link.advance()
            delivery.update(Delivery.ACCEPTED)
            delivery.settle()
            self.received += 1
            if link.credit <= CREDIT // 2:
                link.flow(CREDIT - link.credit)


def run_raw(port: int, address: str, size: int, seconds: float, *, presettled: bool) -> tuple[float, float]:
    raw = Raw(port, address, size, presettled=presettled)
    container = Container(raw)
    container.timeout = 0.05
    container.start()

    def until(deadline: float) -> None:
        while time.monotonic() < deadline:
            container.process()

    until(time.monotonic() + _WARM_SECONDS)
    found = _measure(lambda: raw.received, lambda: until(time.monotonic() + seconds))
    raw.over, late = True, time.monotonic() + _DRAIN_SECONDS  # nothing is left for who comes next
    while raw.received < raw.sent and time.monotonic() < late:
        container.process()
    return found


def run_probe(port: int, address: str, size: int, seconds: float, *, presettled: bool) -> tuple[float, float]:
    text = f"""
endpoints: {{a: {{url: "amqp://127.0.0.1:{port}"}}}}
defaults: {{window: 1s, settle: 1s}}
paths:
  p: {{from: a, to: a, address: "{address}", rate: 0, size: {size}B, credit: {CREDIT},
      presettled: {str(presettled).lower()}, max_backlog: 1000000}}
"""
    config, paths = parse(text)
    with tempfile.TemporaryDirectory() as folder:
        everything = list(paths.values())
        settings = Settings(site="bench", linger_seconds=0.1, journals=Path(folder))
        prober = Prober(everything, everything, config.endpoints, InProcessSink(_nowhere), settings)
        prober.start()
        receiver = prober.receivers[0]
        while not receiver.received:
            time.sleep(0.01)
        time.sleep(_WARM_SECONDS)
        found = _measure(lambda: receiver.received, lambda: time.sleep(seconds))
        prober.stop()
    return found


def run_many(port: int, address: str, size: int, seconds: float, *, presettled: bool) -> tuple[float, float]:
    """100 paths at 10/s each."""
    shown = f"rate: 10/s, size: {size}B, presettled: {str(presettled).lower()}"
    lines = [f'  p{n}: {{from: a, to: a, address: "{address}/{n}", {shown}}}' for n in range(100)]
    text = f'endpoints: {{a: {{url: "amqp://127.0.0.1:{port}"}}}}\npaths:\n' + "\n".join(lines)
    config, paths = parse(text)
    with tempfile.TemporaryDirectory() as folder:
        everything = list(paths.values())
        settings = Settings(site="bench", linger_seconds=1, journals=Path(folder))
        prober = Prober(everything, everything, config.endpoints, InProcessSink(_nowhere), settings)
        prober.start()
        while not all(receiver.received for receiver in prober.receivers):
            time.sleep(0.05)
        time.sleep(_WARM_SECONDS)
        found = _measure(lambda: sum(r.received for r in prober.receivers), lambda: time.sleep(seconds))
        prober.stop()
    return found


def _nowhere(record: bytes, key: str) -> None:
    """A sink that drops its records."""


def _measure(count: Any, work: Any) -> tuple[float, float]:
    """Return messages a second, and CPU microseconds a message."""
    before, cpu, began = count(), _cpu_seconds(), time.monotonic()
    work()
    messages, taken = count() - before, time.monotonic() - began
    return messages / taken, (_cpu_seconds() - cpu) / max(1, messages) * 1e6


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    kind, port, address, size, settled, seconds = sys.argv[1:]
    measure = {"raw": run_raw, "probe": run_probe, "many": run_many}[kind]
    rate, cpu_us = measure(int(port), address, int(size), float(seconds), presettled=settled == "yes")
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    sys.stdout.write(json.dumps({"rate": rate, "cpu_us": cpu_us, "mib": mib}) + "\n")
