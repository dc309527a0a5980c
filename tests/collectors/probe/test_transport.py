"""The ends of paths over another protocol: all that they need of one is in transport.py."""

from __future__ import annotations

import ast
import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import wait_until
from measured import Accounted, parse
from memory_transport import MemoryConnection, MemorySendingLink, MemoryTransport

import collectors.probe
from collectors.config.paths import Path as ProbePath
from collectors.config.units import Step
from collectors.contract.record_codec import decode
from collectors.contract.records import OUTCOMES, Gap, Record
from collectors.kafka.in_process_sink import InProcessSink
from collectors.probe.durable.journal import NoLedgerJournal
from collectors.probe.engine.loop import Loop
from collectors.probe.measure.clock import RunClock
from collectors.probe.measure.guard import Guard, RateCap
from collectors.probe.measure.schedule import Schedule
from collectors.probe.message import decode_body
from collectors.probe.prober import Prober, Settings
from collectors.probe.publisher import Publisher, header_for
from collectors.probe.sender import Sender

_FOLDER = Path(collectors.probe.__file__).parent
_PROTON = {"proton", "cproton", "cproton_ffi"}
_RUN = 0xFEED


class _Kept:
    def __init__(self) -> None:
        self.records: list[Record] = []

    def put(self, record: bytes, key: str) -> None:  # noqa: ARG002 -- the interface
        self.records.append(decode(record))

    def gaps(self, path: str, role: str, name: str, run: str) -> tuple[Gap, ...]:  # noqa: ARG002
        return ()


class _Sending:
    """A sender that sends as fast as it may, over a link that does what the test says."""

    def __init__(self, path: ProbePath, *, count: int, presettled: bool = False) -> None:
        path = dataclasses.replace(path, presettled=presettled)
        self.loop, self.sink, clock = Loop(), _Kept(), RunClock.start()
        self.transport = MemoryTransport(self.loop, credit=0)
        self.connection = MemoryConnection(self.transport)
        header = header_for(path, "sender", "end-0", _RUN, clock.now_ns())
        self.sender = Sender(
            self.loop,
            self.connection,
            path,
            Schedule([Step(0.0, 0.0, None)], count=count),
            Publisher([header], self.sink, lambda _number, _frontier: None),
            run=_RUN,
            clock=clock,
            guard=Guard(1_000_000),
            cap=RateCap(0),
            journal=NoLedgerJournal(),
        )
        self.link: MemorySendingLink = self.connection.links[0]
        self.address = path.address
        self.sender.start()

    def outcomes(self) -> dict[str, int]:
        return {name: n for name, n in zip(OUTCOMES, self.sender.outcomes, strict=True) if n}

    def ledger(self) -> dict[str, int]:
        """The outcomes that its records tell, when its run has ended."""
        self.sender.publish(bye=True)
        told: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for record in self.sink.records:
            if record.ledger is not None:
                rows = zip(*(column.tolist() for column in record.ledger), strict=True)
                told[record.header.second, record.header.revision] = list(rows)
        found: dict[str, int] = {}
        for _, length, outcome in (row for rows in told.values() for row in rows):
            found[OUTCOMES[outcome]] = found.get(OUTCOMES[outcome], 0) + length
        return found


def test_credit_outcomes_and_loss(probe_path: ProbePath) -> None:
    """A sender sends what it has credit for, notes each outcome, and after a loss sends the next number."""
    sending = _Sending(probe_path, count=10)
    sender, link = sending.sender, sending.link
    assert not sender.link_up
    assert sender.problem == "not connected yet"
    sending.connection.start()
    assert sender.link_up
    assert not sender.has_credit
    link.grant(3)
    assert (sender.sent, link.numbers) == (3, [0, 1, 2])
    bodies = [decode_body(data, 4) for _, _, data in sending.transport.queues[sending.address]]
    assert [body and (body.run, body.sequence) for body in bodies] == [(_RUN, 0), (_RUN, 1), (_RUN, 2)]
    link.settle(1, "accepted")
    link.settle(2, "rejected")
    assert sender.refused == 1
    assert sender.unsettled == 1
    assert sending.connection.peer == "memory"
    sending.connection.cut("the cable")
    assert sender.problem == "the cable"
    assert sending.outcomes() == {"accepted": 1, "rejected": 1, "unsettled": 1}
    assert sender.unsettled == 0
    sending.connection.start()
    link.grant(100)
    assert link.numbers == list(range(3, 10))
    for number in range(3, 10):
        link.settle(number, "accepted" if number < 9 else "modified")
    assert sender.refused == 2
    assert sending.ledger() == {"accepted": 7, "rejected": 1, "modified": 1, "unsettled": 1}


def test_nothing_more_is_sent_before_what_waits_is_written(probe_path: ProbePath) -> None:
    """Where messages are still in this process a sender waits, and sends on when they are out."""
    sending = _Sending(probe_path, count=5)
    sending.connection.start()
    sending.link.held = True
    sending.link.grant(100)
    assert sending.sender.sent == 0
    sending.link.write()
    assert sending.sender.sent == 5


def test_presettled_messages_that_were_not_written(probe_path: ProbePath) -> None:
    """Those that had not left when the connection went count as unsettled, all others as presettled."""
    sending = _Sending(probe_path, count=9, presettled=True)
    sending.connection.start()
    sending.link.grant(4)
    assert sending.sender.unsettled == 4
    sending.link.write()
    assert sending.sender.unsettled == 0
    sending.link.grant(2)
    sending.connection.cut()
    sending.connection.start()
    sending.link.grant(3)
    sending.link.write()
    assert sending.sender.unsettled == 0
    assert sending.ledger() == {"presettled": 7, "unsettled": 2}


def test_a_path_over_another_protocol() -> None:
    """From the sender to the receiver and into the accounting: every message is received."""
    text = """
endpoints: {a: {url: "amqp://127.0.0.1:5672"}}
defaults: {window: 1s, settle: 1s}
paths: {p: {from: a, to: a, address: any, rate: 200/s, count: 100}}
"""
    config, paths = parse(text)
    accounted, everything = Accounted(paths), list(paths.values())
    sink = InProcessSink(accounted.take)
    settings = Settings(site="test", compare_clocks=False)
    prober = Prober(everything, everything, config.endpoints, sink, settings, transport=MemoryTransport)
    prober.start()
    wait_until(lambda: prober.senders[0].sender.finished, 20, "the schedule's end")
    prober.stop()
    sink.close()
    assert accounted.total("p") == {"sent": 100, "received": 100, "due": 100}


def _imported(file: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(file.read_text())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def test_only_the_engine_knows_proton() -> None:
    """No other module of a probe imports it, and measure/ imports neither engine/ nor durable/."""
    files = [file for file in _FOLDER.rglob("*.py") if file.parent.name != "engine"]
    assert len(files) > 20
    assert not [f.name for f in files if {name.partition(".")[0] for name in _imported(f)} & _PROTON]
    measure = [name for file in (_FOLDER / "measure").glob("*.py") for name in _imported(file)]
    others = ("collectors.probe.engine", "collectors.probe.durable")
    assert not [name for name in measure if name.startswith(others)]


@pytest.mark.parametrize("module", ["sender", "receiver", "measure.clock_exchange", "transport"])
def test_an_end_runs_without_proton(module: str) -> None:
    """Importing it, and all that it imports, does not load proton."""
    code = f"import sys, collectors.probe.{module}; print([n for n in {sorted(_PROTON)} if n in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
