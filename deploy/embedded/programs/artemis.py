"""Artemis: AMQP without login, and Jolokia with a password and a strict Origin, as consoles have it."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template
from xml.sax.saxutils import escape, quoteattr

from collectors.config.secrets import read_password
from deploy.embedded import http
from deploy.embedded.programs import artemis_security, java
from deploy.embedded.programs.security import Security
from deploy.embedded.supervise import password_files
from deploy.embedded.supervise.ports import LOOPBACK, accepts, free_port
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.service import Service
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.jvm import artifacts

_HEAP_MIB = 256
_MAIN = "org.apache.activemq.artemis.core.server.embedded.Main"

USER = "monitor"
# As in the stock console: a request without this Origin is refused, status 403 inside the reply.
ORIGIN = "http://localhost"

_BROKER = Template("""\
<configuration xmlns="urn:activemq">
  <core xmlns="urn:activemq:core">
    <name>$name</name>
    <security-enabled>$security</security-enabled>
    <persistence-enabled>true</persistence-enabled>
    <journal-type>NIO</journal-type>
    <journal-directory>$data/journal</journal-directory>
    <bindings-directory>$data/bindings</bindings-directory>
    <large-messages-directory>$data/large-messages</large-messages-directory>
    <paging-directory>$data/paging</paging-directory>
    <journal-pool-files>4</journal-pool-files>
    <journal-min-files>2</journal-min-files>
    <journal-file-size>1M</journal-file-size>
    <!-- A demonstration on a nearly full disk must not look like a broker that blocks its senders. -->
    <max-disk-usage>-1</max-disk-usage>
    <global-max-size>64M</global-max-size>
    <critical-analyzer>false</critical-analyzer>
    <acceptors>
$acceptors
    </acceptors>
    <security-settings>
      <security-setting match="#">
        <permission type="createAddress" roles="all"/>
        <permission type="createNonDurableQueue" roles="all"/>
        <permission type="createDurableQueue" roles="all"/>
        <permission type="deleteNonDurableQueue" roles="all"/>
        <permission type="send" roles="all"/>
        <permission type="consume" roles="all"/>
        <permission type="browse" roles="all"/>
      </security-setting>
    </security-settings>
    <address-settings>
      <!-- For probes: only a receiver or its TTL takes a message out of a queue. -->
      <address-setting match="inflight.#">
        <max-delivery-attempts>-1</max-delivery-attempts>
        <default-address-routing-type>ANYCAST</default-address-routing-type>
        <default-queue-routing-type>ANYCAST</default-queue-routing-type>
        <auto-create-queues>true</auto-create-queues>
        <auto-create-addresses>true</auto-create-addresses>
        <auto-delete-queues>false</auto-delete-queues>
        <auto-delete-addresses>false</auto-delete-addresses>
      </address-setting>
    </address-settings>
    <addresses>
$addresses
    </addresses>
  </core>
</configuration>
""")

_ACCEPTOR = """\
      <acceptor name={name}>{url}</acceptor>"""
_AMQP = "protocols=AMQP;amqpCredits=1000;amqpLowCredits=300"

_ADDRESS = """\
      <address name={name}><anycast><queue name={name}/></anycast></address>"""

_JOLOKIA = """\
host={host}
port={port}
agentContext=/jolokia
discoveryEnabled=false
authMode=basic
user={user}
password={password}
policyLocation={policy}
"""

_POLICY = f"""\
<?xml version="1.0" encoding="utf-8"?>
<restrict>
  <cors><allow-origin>{ORIGIN}</allow-origin><strict-checking/></cors>
</restrict>
"""


class Artemis(Service):
    """AMQP at `amqp_url`; Jolokia at `jolokia_url` for `user`, the password in `password_file`, `origin`.

    With `security` also AMQP with TLS: with logins by PLAIN at `plain_url`, by SCRAM at `scram_url`, by
    certificate at `external_url`.
    """

    user = USER
    origin = ORIGIN

    def __init__(
        self,
        supervisor: Supervisor,
        *,
        name: str = "artemis",
        queues: Sequence[str] = (),
        fresh: bool = True,
        security: Security | None = None,
        heap_mib: int = _HEAP_MIB,
    ) -> None:
        super().__init__(supervisor)
        self.name = name
        self._heap_mib = heap_mib
        self.port = free_port()
        self._jolokia_port = free_port()
        self._security = security
        self._secure_ports = {way: free_port() for way in artemis_security.SECURE_WAYS} if security else {}
        self._directory = supervisor.directory(name, fresh=fresh)
        self.password_file = self._directory / "jolokia.password"
        self._write(queues)

    @property
    def amqp_url(self) -> str:
        return f"amqp://{LOOPBACK}:{self.port}"

    @property
    def jolokia_url(self) -> str:
        return f"http://{LOOPBACK}:{self._jolokia_port}/jolokia"

    @property
    def plain_url(self) -> str:
        return self._url(artemis_security.PLAIN)

    @property
    def scram_url(self) -> str:
        return self._url(artemis_security.SCRAM)

    @property
    def external_url(self) -> str:
        return self._url(artemis_security.EXTERNAL)

    def _url(self, way: artemis_security.Way) -> str:
        if self._security is None:
            raise RuntimeError("this Artemis was made without security")
        # By name: qpid-proton does not look for addresses in certificates.
        return f"amqps://localhost:{self._secure_ports[way]}"

    def _acceptors(self) -> dict[str, str]:
        acceptors = {"amqp": f"tcp://{LOOPBACK}:{self.port}?{_AMQP};securityDomain=open"}
        if self._security is not None:
            tls = artemis_security.tls(self._directory, self._security)
            for way, port in self._secure_ports.items():
                acceptors[way.name] = f"tcp://{LOOPBACK}:{port}?{_AMQP};{tls};{way.options}"
        return acceptors

    def _write(self, queues: Sequence[str]) -> None:
        password = password_files.password(self.password_file)
        policy = self._directory / "jolokia-access.xml"
        policy.write_text(_POLICY)
        # In a file, since every user of the machine can read the argv, and so the options of a -javaagent.
        password_files.write_private(
            self._directory / "jolokia.properties",
            _JOLOKIA.format(
                host=LOOPBACK, port=self._jolokia_port, user=USER, password=password, policy=policy.as_uri()
            ),
        )
        if self._security is not None:
            artemis_security.write(self._directory, self._security)
        etc = self._directory / "etc"
        etc.mkdir(exist_ok=True)
        (etc / "broker.xml").write_text(
            _BROKER.substitute(
                name=escape(self.name),
                data=escape(str(self._directory / "data")),
                security=str(self._security is not None).lower(),
                acceptors="\n".join(
                    _ACCEPTOR.format(name=quoteattr(name), url=escape(url))
                    for name, url in self._acceptors().items()
                ),
                addresses="\n".join(_ADDRESS.format(name=quoteattr(q)) for q in queues),
            )
        )

    def _spec(self) -> ProcessSpec:
        options = (
            [f"-Djava.security.auth.login.config={self._directory / 'login.config'}"]
            if self._security
            else []
        )
        agent = artifacts.ensure().jars("jolokia")[0]
        return ProcessSpec(
            name=self.name,
            argv=java.command(
                "artemis",
                _MAIN,
                self._directory,
                heap_mib=self._heap_mib,
                options=[*options, f"-javaagent:{agent}=config={self._directory / 'jolokia.properties'}"],
            ),
            ready=self._ready,
            timeout_seconds=60,
            cwd=self._directory,
        )

    def _ready(self) -> bool:
        """Whether the broker says of itself that it is active, asked in the way of the collector."""
        if not accepts(self.port):
            return False
        question = {
            "type": "read",
            "mbean": f'org.apache.activemq.artemis:broker="{self.name}"',
            "attribute": "Active",
        }
        password = read_password(self.password_file)
        reply = http.post_json(self.jolokia_url, question, user=USER, password=password, origin=ORIGIN)
        return reply.get("value") is True
