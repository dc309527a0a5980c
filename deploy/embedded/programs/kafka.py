"""Kafka: one node that is broker and controller in one (KRaft)."""

from __future__ import annotations

import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from typing import Self

from kafka.admin import KafkaAdminClient, UserScramCredentialUpsertion

from collectors.config import model
from collectors.contract.topics import ALL, Topic
from collectors.kafka.client import KafkaSetupError, create_topics
from deploy.embedded.programs import java
from deploy.embedded.programs.security import Security
from deploy.embedded.supervise import password_files
from deploy.embedded.supervise.ports import LOOPBACK, accepts, free_port
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.service import Service
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem

_HEAP_MIB = 384
_FORMAT_SECONDS = 60
_REQUEST_MS = 10_000

_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "OPEN",
    "listener.security.protocol.map": "OPEN:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
    "auto.create.topics.enable": "false",
    "num.partitions": 12,
    # There is one node for every copy.
    "default.replication.factor": 1,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    # A group of one consumer need not wait for others.
    "group.initial.rebalance.delay.ms": 0,
    # Fits the small heap: the cleaner alone takes 128 MiB otherwise.
    "log.cleaner.dedupe.buffer.size": 8_388_608,
    "log.cleaner.threads": 1,
    "num.network.threads": 2,
    "num.io.threads": 4,
    "background.threads": 2,
    "num.recovery.threads.per.data.dir": 2,
    # A killed broker may come back when its session has expired: sooner than by default (9 s), but not so
    # soon that a busy machine fences one that lives.
    "broker.heartbeat.interval.ms": 500,
    "broker.session.timeout.ms": 5_000,
}
_SCRAM = "SCRAM-SHA-512"


class Kafka(Service):
    """Listens at `bootstrap`, on a free port if none is given; `fresh` drops the data of earlier starts.

    With `security` it also listens at `secure_bootstrap`, with TLS, and SCRAM-SHA-512 or PLAIN.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        *,
        name: str = "kafka",
        folder: str | None = None,
        port: int | None = None,
        fresh: bool = True,
        security: Security | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(supervisor)
        self.name = name
        self._port = port or free_port()
        self._security = security
        self._secure_port = free_port() if security else 0
        self._directory = supervisor.directory(folder or name, fresh=fresh)
        self._config = self._directory / "server.properties"
        made = {**_SETTINGS, **self._listeners(), **self._security_settings(), **(settings or {})}
        password_files.write_private(self._config, "".join(f"{key}={value}\n" for key, value in made.items()))

    @property
    def bootstrap(self) -> str:
        return f"{LOOPBACK}:{self._port}"

    @property
    def secure_bootstrap(self) -> str:
        if self._security is None:
            raise RuntimeError("this Kafka was made without security")
        return f"{LOOPBACK}:{self._secure_port}"

    def start(self) -> Self:
        super().start()
        if self._security is not None:
            admin = self._admin()
            try:
                admin.alter_user_scram_credentials(
                    [UserScramCredentialUpsertion(self._security.user, _SCRAM, self._security.password)]
                )
            finally:
                admin.close()
        return self

    def make_topics(self, prefix: str = "inflight", topics: Iterable[Topic] = ALL) -> None:
        """Make the topics that do not exist; raises Problem if Kafka refuses."""
        try:
            create_topics(model.Kafka(servers=(self.bootstrap,), prefix=prefix), topics)
        except KafkaSetupError as e:
            raise Problem(str(e)) from e

    def _listeners(self) -> dict[str, object]:
        controller = f"{LOOPBACK}:{free_port()}"
        ways_in = f"OPEN://{self.bootstrap}"
        if self._security is not None:
            ways_in += f",SECURE://{self.secure_bootstrap}"
        return {
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"{ways_in},CONTROLLER://{controller}",
            "advertised.listeners": ways_in,
            "log.dirs": self._directory / "data",
        }

    def _security_settings(self) -> dict[str, object]:
        if self._security is None:
            return {}
        security = "org.apache.kafka.common.security"
        user, password = self._security.user, self._security.password
        return {
            "listener.name.secure.ssl.keystore.type": "PEM",
            "listener.name.secure.ssl.keystore.location": self._security.keystore(self._directory),
            "listener.name.secure.ssl.truststore.type": "PEM",
            "listener.name.secure.ssl.truststore.location": self._security.ca,
            "listener.name.secure.ssl.client.auth": "requested",
            "listener.name.secure.sasl.enabled.mechanisms": f"{_SCRAM},PLAIN",
            "listener.name.secure.scram-sha-512.sasl.jaas.config": (
                f"{security}.scram.ScramLoginModule required;"
            ),
            "listener.name.secure.plain.sasl.jaas.config": (
                f'{security}.plain.PlainLoginModule required user_{user}="{password}";'
            ),
        }

    def _spec(self) -> ProcessSpec:
        if not (self._directory / "data" / "meta.properties").exists():
            self._format()
        return ProcessSpec(
            name=self.name,
            argv=java.command("kafka", "kafka.Kafka", self._config, heap_mib=_HEAP_MIB),
            ready=self._ready,
            timeout_seconds=60,
            cwd=self._directory,
        )

    def _format(self) -> None:
        # An id that begins with a dash would be taken for an option.
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A")
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
