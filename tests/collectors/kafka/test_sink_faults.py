"""A Kafka that is silent, gone, or slow: nothing is lost, order stays, and readiness tells."""

from __future__ import annotations

import itertools
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from helpers import free_port, wait_until
from kafka_topics import consume
from relay import Relay

from collectors.config.model import Kafka as KafkaConfig
from collectors.contract.topics import SAMPLES
from collectors.kafka import client
from collectors.kafka import sink as sink_module
from collectors.kafka.sink import KafkaSink
from collectors.kafka.spool import Spool

if TYPE_CHECKING:
    from deploy.embedded.programs.kafka import Kafka

pytestmark = pytest.mark.e2e
_KEYS = ("a", "b", "c", "d")
_WAYS = ("HELD20", "HELD50", "HELD120", "OTHER")
_LATE = "the oldest record has waited for Kafka for "
_prefixes = itertools.count()


class Far:
    """A Kafka behind relays, one for each way in; `own` is the way without one."""

    def __init__(self, kafka: Kafka, relays: dict[str, Relay]) -> None:
        self.kafka, self.relays = kafka, relays

    def config(self, way: str | None = None) -> KafkaConfig:
        """A prefix of its own, with its topic."""
        own = KafkaConfig(servers=(self.kafka.bootstrap,), prefix=f"faults{next(_prefixes)}")
        client.create_topics(own, [SAMPLES])
        servers = (f"127.0.0.1:{self.relays[way].port}",) if way else own.servers
        return own.model_copy(update={"servers": servers})


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    """Of this module alone, which ends it, too."""
    from deploy.embedded.programs.kafka import Kafka  # noqa: PLC0415 -- most test runs do without it

    here = "127.0.0.1"
    own, controller, *ports = (free_port() for _ in range(2 + len(_WAYS)))
    relays = {way: Relay(port) for way, port in zip(_WAYS, ports, strict=True)}
    ways = [f"{way}://{here}:{port}" for way, port in zip(_WAYS, ports, strict=True)]
    told = [f"{way}://{here}:{relay.port}" for way, relay in relays.items()]
    settings = {
        "listeners": ",".join([f"OPEN://{here}:{own}", *ways, f"CONTROLLER://{here}:{controller}"]),
        "advertised.listeners": ",".join([f"OPEN://{here}:{own}", *told]),
        "controller.quorum.voters": f"1@{here}:{controller}",
        "listener.security.protocol.map": ",".join(
            f"{name}:PLAINTEXT" for name in ("OPEN", "CONTROLLER", *_WAYS)
        ),
    }
    with Kafka.alone(tmp_path_factory.mktemp("far-kafka"), port=own, settings=settings) as kafka:
        yield Far(kafka, relays)
    for relay in relays.values():
        relay.__exit__()


class Fed:
    """A sink that gets a record of each key each 0.2 s, until `end`."""

    def __init__(self, config: KafkaConfig, folder: Path) -> None:
        self.config = config
        self.sink = KafkaSink(config, Spool(folder, 1 << 30))
        self.put: dict[str, list[bytes]] = {key: [] for key in _KEYS}
        self.pausing = threading.Lock()  # held, nothing is put
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._feed)
        self.sink.start()
        self._thread.start()

    def _feed(self) -> None:
        for number in itertools.count():
            with self.pausing:
                for key, records in self.put.items():
                    records.append(b"%d of %s" % (number, key.encode()))
                    self.sink.put(records[-1], key)
            if self._stop.wait(0.2):
                return

    def wait_delivered(self) -> None:
        """Some, and nothing waits."""
        wait_until(lambda: self.sink.delivered and not self.sink.not_ready(), 60, "records to be delivered")

    def wait_late(self) -> str:
        return wait_until(self.sink.not_ready, 60, "late records to be told")

    def end(self) -> None:
        """Stop feeding it."""
        self._stop.set()
        self._thread.join()

    def check(self, server: str) -> None:
        """Ends it. All that was put is in Kafka, by key in order; what is there twice is all there twice."""
        self.end()
        wait_until(lambda: not self.sink.spool.waiting_bytes, 60, "all to be acknowledged")
        assert self.sink.not_ready() is None
        assert self.sink.problem is None
        self.sink.close()
        found = _read(self.config.model_copy(update={"servers": (server,)}))
        for key, records in self.put.items():
            assert list(dict.fromkeys(found[key])) == records, key


def _config_of(port: int) -> KafkaConfig:
    return KafkaConfig(servers=(f"127.0.0.1:{port}",))


def _read(config: KafkaConfig) -> dict[str, list[bytes]]:
    """All that the topic holds."""
    found: dict[str, list[bytes]] = {key: [] for key in _KEYS}
    for message in consume("", SAMPLES.name(config.prefix), **client.client_kwargs(config)):
        found[message.key.decode()].append(message.value)
    return found


@contextmanager
def _fed(config: KafkaConfig, folder: Path) -> Iterator[Fed]:
    fed = Fed(config, folder)
    try:
        yield fed
    finally:
        fed.end()
        fed.sink.close(0)


def test_silent_for_long(far: Far, kafka: Kafka, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Kafka silent for 20, 50 and 120 s, and one that is really stopped for 50 s: all goes on after it."""
    caplog.set_level(logging.INFO, "inflight")
    stopped_config = KafkaConfig(servers=(kafka.bootstrap,), prefix=f"faults{next(_prefixes)}")
    client.create_topics(stopped_config, [SAMPLES])
    held = {seconds: far.relays[f"HELD{seconds}"] for seconds in (20, 50, 120)}
    feds = {seconds: Fed(far.config(f"HELD{seconds}"), tmp_path / str(seconds)) for seconds in held}
    stopped = Fed(stopped_config, tmp_path / "stopped")
    try:
        for fed in (*feds.values(), stopped):
            fed.wait_delivered()
        os.kill(kafka.process.pid, signal.SIGSTOP)
        try:
            for relay in held.values():
                relay.hold()
            began = time.monotonic()
            _sleep_until(began + 20)
            held[20].go_on()
            _sleep_until(began + 50)
            assert _LATE in str(stopped.sink.not_ready())
        finally:
            os.kill(kafka.process.pid, signal.SIGCONT)
        assert _LATE in str(feds[50].sink.not_ready())
        held[50].go_on()
        feds[20].check(far.kafka.bootstrap)
        stopped.wait_delivered()
        stopped.check(kafka.bootstrap)
        feds[50].check(far.kafka.bootstrap)
        _sleep_until(began + 120)
        assert _LATE in str(feds[120].sink.not_ready())
        assert "records wait on disk: Kafka at 127.0.0.1:" in str(feds[120].sink.not_ready())
        held[120].go_on()
        feds[120].check(far.kafka.bootstrap)
    finally:
        for relay in held.values():
            relay.go_on()
        for fed in (*feds.values(), stopped):
            fed.end()
            fed.sink.close(0)
    waiting = [record.message for record in caplog.records if "records wait on disk" in record.message]
    assert len(waiting) == len(set(waiting)), "told at each try"


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


def test_killed_and_refused_until_it_is_back(
    far: Far, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka killed while records come, and away for a while: what was put is delivered when it is back."""
    monkeypatch.setattr(sink_module, "_SILENT_SECONDS", 2.0)
    with _fed(far.config(), tmp_path) as fed:
        fed.wait_delivered()
        far.kafka.kill()
        try:
            wait_until(lambda: fed.sink.problem, 60, "the problem to be told")
        finally:
            far.kafka.start()
        delivered = fed.sink.delivered
        wait_until(lambda: fed.sink.delivered > delivered, 60, "records to be delivered again")
        fed.check(far.kafka.bootstrap)


def test_slow(far: Far, tmp_path: Path) -> None:
    """A way that passes on 20 kB/s: no answer is waited for in vain, and all comes."""
    with _fed(far.config("OTHER"), tmp_path) as fed:
        fed.wait_delivered()
        far.relays["OTHER"].slow(0.05)
        try:
            before = fed.sink.delivered
            for _ in range(3):
                with fed.pausing:
                    for key, records in fed.put.items():
                        records.append(os.urandom(10_000))
                        fed.sink.put(records[-1], key)
            wait_until(lambda: fed.sink.delivered > before + 50, 60, "records to be delivered slowly")
            assert fed.sink.problem is None
            fed.check(far.kafka.bootstrap)
        finally:
            far.relays["OTHER"].slow(0)


def test_a_connection_that_is_forgotten(far: Far, tmp_path: Path) -> None:
    """What stands between drops a connection and tells nobody: another one is made."""
    with _fed(far.config("OTHER"), tmp_path) as fed:
        fed.wait_delivered()
        far.relays["OTHER"].lose()
        delivered = fed.sink.delivered
        wait_until(lambda: fed.sink.delivered > delivered + 20, 90, "records over another connection")
        fed.check(far.kafka.bootstrap)


def _fds() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_peer_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections are taken, and that is all: it is told, and no try leaves a thread or a socket behind."""
    monkeypatch.setattr(sink_module, "_BOOTSTRAP_MS", 100)
    monkeypatch.setattr(sink_module, "_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(sink_module, "_LATE_SECONDS", 0.5)
    tries = itertools.count()
    monkeypatch.setattr(sink_module, "explain", lambda *_: f"silent {next(tries)}")
    with Relay() as silent, _fed(_config_of(silent.port), tmp_path) as fed:
        wait_until(lambda: str(fed.sink.problem).endswith("silent 5"), 60, "some tries")
        assert _LATE in fed.wait_late()
        threads, fds = threading.active_count(), _fds() - len(silent.sockets)
        wait_until(lambda: next(tries) > 60, 60, "many tries")
        assert threading.active_count() <= threads
        assert _fds() - len(silent.sockets) <= fds + 4


def test_no_producer_stays_behind(far: Far, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time that Kafka falls silent a producer is given up: its thread ends, and its connections do."""
    monkeypatch.setattr(sink_module, "_SILENT_SECONDS", 0.3)
    monkeypatch.setattr(sink_module, "_RETRY_SECONDS", 0.01)
    relay = far.relays["OTHER"]
    with _fed(far.config("OTHER"), tmp_path) as fed:
        counts = []
        for _ in range(5):
            fed.wait_delivered()
            wait_until(lambda: fed.sink.problem is None, 30, "records to be delivered")
            counts.append((threading.active_count(), _fds() - len(relay.sockets)))
            relay.hold()
            try:
                wait_until(lambda: fed.sink.problem, 60, "the silence to be told")
            finally:
                relay.go_on()
        assert counts[-1][0] <= counts[0][0]
        assert counts[-1][1] <= counts[0][1] + 4
        fed.check(far.kafka.bootstrap)


def test_an_end_while_kafka_is_silent(far: Far, tmp_path: Path) -> None:
    """It does not wait for Kafka; the next start sends the rest."""
    config = far.config("OTHER")
    with _fed(config, tmp_path) as fed:
        fed.wait_delivered()
        far.relays["OTHER"].hold()
        try:
            taken = fed.sink.delivered
            wait_until(lambda: len(fed.put["d"]) > taken // 4 + 5, 30, "records that wait")
            fed.end()
            fed.sink.close(0.1)
        finally:
            far.relays["OTHER"].go_on()
    again = KafkaSink(config, Spool(tmp_path, 1 << 30))
    again.start()
    wait_until(lambda: not again.spool.waiting_bytes, 60, "the rest to be sent")
    again.close()
    found = _read(config.model_copy(update={"servers": (far.kafka.bootstrap,)}))
    assert {key: list(dict.fromkeys(records)) for key, records in found.items()} == fed.put
