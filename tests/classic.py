"""A real ActiveMQ Classic, with Jolokia, in a JVM that Python speaks to (py4j, which PySpark brings).

Its jars are fetched for the tests alone, 2.8 MB, once.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from rich.console import Console

from deploy.embedded.supervise.ports import LOOPBACK, free_port
from deploy.errors import Problem
from deploy.jvm import artifacts
from deploy.jvm.fetch import Jar, fetch, pyspark_jars

LOCK = Path(__file__).with_name("classic.lock")
_DEPENDENCY = '<dependency org="{}" name="{}" rev="{}" conf="classic->default" transitive="false"/>'


def jars() -> list[Path]:
    """Return the jars of the lock, checked; raises Problem if one cannot be had."""
    folder = artifacts.cache_folder().with_name("classic")
    rows = [line.split() for line in LOCK.read_text().splitlines()]
    wanted = {Jar.of(ET.fromstring(_DEPENDENCY.format(*where))): sha256 for sha256, *where in rows}  # noqa: S314 -- ours

    def accept(jar: Jar, file: Path) -> None:
        if (artifacts.fingerprint(file) or ("",))[0] != wanted[jar]:
            raise Problem(f"{jar.file} is not what {LOCK.name} says")

    missing = [jar for jar in wanted if not (folder / jar.file).exists()]
    if missing:
        fetch(missing, folder, artifacts.java(), Console(stderr=True), None, accept)
    for jar in wanted:
        accept(jar, folder / jar.file)
    return [folder / jar.file for jar in wanted]


class Classic:
    """A broker called `classic`, with Jolokia at `jolokia_url`."""

    def __init__(self, gateway: Any, jolokia_port: int) -> None:
        self._gateway = gateway
        self.jolokia_url = f"http://{LOOPBACK}:{jolokia_port}/jolokia"
        self._broker: Any = None
        self._session: Any = None

    def start(self) -> None:
        activemq = self._gateway.jvm.org.apache.activemq
        self._broker = activemq.broker.BrokerFactory.createBroker(
            "broker:()/classic?persistent=false&useJmx=true"
        )
        self._broker.getManagementContext().setCreateConnector(False)
        self._broker.start()
        self._broker.waitUntilStarted()
        connection = activemq.ActiveMQConnectionFactory("vm://classic?create=false").createConnection()
        connection.start()
        self._session = connection.createSession(False, 1)

    def stop(self) -> None:
        self._broker.stop()
        self._broker.waitUntilStopped()

    def dial(self, name: str, port: int) -> None:
        """Connect to another broker at this port, again and again until there is one."""
        jvm = self._gateway.jvm
        uri = jvm.java.net.URI(f"static:(tcp://{LOOPBACK}:{port})")
        connector = jvm.org.apache.activemq.network.DiscoveryNetworkConnector(uri)
        connector.setName(name)
        self._broker.addNetworkConnector(connector)
        self._broker.registerNetworkConnectorMBean(connector)
        connector.setBrokerService(self._broker)
        connector.start()

    @contextmanager
    def another(self, name: str, port: int) -> Iterator[None]:
        """Start a broker beside this one, in the same JVM, that ends with the block."""
        other = self._gateway.jvm.org.apache.activemq.broker.BrokerService()
        other.setBrokerName(name)
        other.setPersistent(False)
        other.setUseJmx(False)
        other.addConnector(f"tcp://{LOOPBACK}:{port}")
        other.start()
        other.waitUntilStarted()
        try:
            yield
        finally:
            other.stop()
            other.waitUntilStopped()

    def send(self, queue: str, count: int) -> None:
        producer = self._session.createProducer(self._session.createQueue(queue))
        for _ in range(count):
            producer.send(self._session.createTextMessage("x"))
        producer.close()

    def receive(self, queue: str, count: int) -> None:
        consumer = self._session.createConsumer(self._session.createQueue(queue))
        for _ in range(count):
            assert consumer.receive(5_000) is not None
        consumer.close()


@contextmanager
def running() -> Iterator[Classic]:
    """Start a broker that ends with the block."""
    parts, port = artifacts.ensure(), free_port()
    (agent,) = parts.jars("jolokia")
    (py4j,) = pyspark_jars().glob("py4j-*.jar")
    logging = sorted(pyspark_jars().glob("slf4j-api-*.jar"))
    # The agent starts in a thread: what it says would now and then come before the port that py4j waits for.
    quiet = "logHandlerClass=org.jolokia.server.core.service.impl.QuietLogHandler"
    gateway_port, process = launch_gateway(
        jarpath=str(py4j),
        classpath=":".join(str(jar) for jar in [*jars(), *logging]),
        javaopts=[f"-javaagent:{agent}=port={port},host={LOOPBACK},{quiet}", "-Xmx128m", "-XX:+UseSerialGC"],
        java_path=str(parts.java),
        die_on_exit=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=gateway_port))
    classic = Classic(gateway, port)
    try:
        classic.start()
        yield classic
    finally:
        gateway.shutdown()
        process.kill()
        process.wait(10)
