"""A real Kafka for demonstrations and tests: one node, broker and controller in one (KRaft)."""

from __future__ import annotations

import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterable

from kafka.admin import KafkaAdminClient

from collectors.topics import ALL, Topic
from deploy.embedded import java
from deploy.embedded.ports import LOOPBACK, accepts, free_port
from deploy.embedded.process import Part
from deploy.embedded.service import Service
from deploy.embedded.supervisor import Supervisor

_HEAP_MIB = 384
_FORMAT_SECONDS = 60
_REQUEST_MS = 10_000

_CONFIG = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller_port}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=PLAINTEXT://{host}:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
num.partitions=12
# One node holds every copy.
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
# A group of one consumer need not wait for a second.
group.initial.rebalance.delay.ms=0
# Fits the small heap: the cleaner alone takes 128 MiB otherwise.
log.cleaner.dedupe.buffer.size=8388608
log.cleaner.threads=1
num.network.threads=2
num.io.threads=4
background.threads=2
num.recovery.threads.per.data.dir=2
# A killed broker is let in again when its session has expired: shorter than the default of nine seconds, but
# a busy machine must not fence a broker that lives.
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=5000
"""


class Kafka(Service):
    """`bootstrap` is where it listens: a free port if none is given. `fresh` drops what earlier runs left."""

    def __init__(
        self, supervisor: Supervisor, *, name: str = "kafka", port: int | None = None, fresh: bool = True
    ) -> None:
        super().__init__(supervisor)
        self._name = name
        self._port = port or free_port()
        self._directory = supervisor.directory(name, fresh=fresh)
        self._config = self._directory / "server.properties"
        self._config.write_text(
            _CONFIG.format(
                host=LOOPBACK, port=self._port, controller_port=free_port(), data=self._directory / "data"
            )
        )

    @property
    def bootstrap(self) -> str:
        return f"{LOOPBACK}:{self._port}"

    def make_topics(self, prefix: str = "inflight", topics: Iterable[Topic] = ALL) -> None:
        """Make the topics that are not there yet, and return when each partition has its leader."""
        admin = self._admin()
        try:
            there = set(admin.list_topics())
            missing = {t.name(prefix): _new(t) for t in topics if t.name(prefix) not in there}
            if missing:
                admin.create_topics(missing, timeout_ms=_REQUEST_MS, wait_for_metadata=True)
        finally:
            admin.close()

    def _part(self) -> Part:
        if not (self._directory / "data" / "meta.properties").exists():
            self._format()
        return Part(
            name=self._name,
            argv=java.command("kafka", "kafka.Kafka", self._config, heap_mib=_HEAP_MIB),
            ready=self._ready,
            timeout_seconds=60,
            cwd=self._directory,
        )

    def _format(self) -> None:
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        argv = java.command(
            "kafka",
            "kafka.tools.StorageTool",
            *("format", "--cluster-id", cluster, "--config", self._config),
            heap_mib=128,
        )
        self._supervisor.run(f"preparing {self._directory}", argv, within_seconds=_FORMAT_SECONDS)

    def _ready(self) -> bool:
        if not accepts(self._port):
            return False
        admin = self._admin()
        try:
            return bool(admin.describe_cluster()["brokers"])
        finally:
            admin.close()

    def _admin(self) -> KafkaAdminClient:
        return KafkaAdminClient(
            bootstrap_servers=self.bootstrap, request_timeout_ms=_REQUEST_MS, bootstrap_timeout_ms=_REQUEST_MS
        )


def _new(topic: Topic) -> dict[str, object]:
    return {"num_partitions": topic.partitions, "replication_factor": 1, "configs": topic.settings()}
