"""Artemis: AMQP without login, and Jolokia with a password and a strict Origin, as consoles have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from collectors.config.secrets import read_password
from deploy.embedded import http
from deploy.embedded.programs import artemis_security, java
from deploy.embedded.programs.postgres import PASSWORD_ENV, Postgres
from deploy.embedded.programs.security import Security
from deploy.embedded.supervise import password_files
from deploy.embedded.supervise.ports import LOOPBACK, accepts, free_port
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.service import Service
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.jvm import artifacts
from deploy.topology.outputs import artemis as written

_HEAP_MIB = 256
_MAIN = "org.apache.activemq.artemis.core.server.embedded.Main"

USER = "monitor"
# As in the stock console: a request without this Origin is refused, status 403 inside the reply.
ORIGIN = "http://localhost"

# It starts in seconds, and on a nearly full disk it does not look like one that blocks its senders.
SMALL: Final[Mapping[str, str | int | bool]] = {
    "journal-pool-files": 4,
    "journal-min-files": 2,
    "journal-file-size": "1M",
    "max-disk-usage": -1,
    "global-max-size": "64M",
    "critical-analyzer": False,
}
_AMQP = "protocols=AMQP;amqpCredits=1000;amqpLowCredits=300"

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
        folder: str | None = None,
        host: str = LOOPBACK,
        port: int | None = None,
        configuration: str | None = None,
        database: Postgres | None = None,
    ) -> None:
        """`configuration`: the text of a broker.xml that listens at `host` and `port`, in place of ours.

        `database`: what that names as its store.
        """
        super().__init__(supervisor)
        self.name = name
        self._heap_mib = heap_mib
        self._host = host
        self.port = port or free_port()
        self._jolokia_port = free_port()
        self._security = security
        self.database = database
        self._secure_ports = {way: free_port() for way in artemis_security.SECURE_WAYS} if security else {}
        self._directory = supervisor.directory(folder or name, fresh=fresh)
        self.password_file = self._directory / "jolokia.password"
        self._write(configuration or self._configuration(queues))

    @property
    def amqp_url(self) -> str:
        return f"amqp://{self._host}:{self.port}"

    @property
    def jolokia_url(self) -> str:
        return f"http://{self._host}:{self._jolokia_port}/jolokia"

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

    def _configuration(self, queues: Sequence[str]) -> str:
        acceptors = {"amqp": f"tcp://{LOOPBACK}:{self.port}?{_AMQP};securityDomain=open"}
        if self._security is not None:
            tls = artemis_security.tls(self._directory, self._security)
            for way, port in self._secure_ports.items():
                acceptors[way.name] = f"tcp://{LOOPBACK}:{port}?{_AMQP};{tls};{way.options}"
        settings = {"security-enabled": self._security is not None, **SMALL}
        return written.document(self.name, settings, acceptors, queues)

    def _write(self, configuration: str) -> None:
        password = password_files.password(self.password_file)
        policy = self._directory / "jolokia-access.xml"
        policy.write_text(_POLICY)
        # In a file, since every user of the machine can read the argv, and so the options of a -javaagent.
        password_files.write_private(
            self._directory / "jolokia.properties",
            _JOLOKIA.format(
                host=self._host, port=self._jolokia_port, user=USER, password=password, policy=policy.as_uri()
            ),
        )
        if self._security is not None:
            artemis_security.write(self._directory, self._security)
        etc = self._directory / "etc"
        etc.mkdir(exist_ok=True)
        (etc / written.FILE).write_text(configuration)

    def _spec(self) -> ProcessSpec:
        if self.database is not None and not self.database.alive:
            raise Problem(f"{self.name} keeps its messages in {self.database.name}: start that before")
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
                extras=[artifacts.DATABASE] if self.database else [],
            ),
            env={PASSWORD_ENV: str(self.database.pass_file)} if self.database else {},
            ready=self._ready,
            timeout_seconds=60,
            cwd=self._directory,
        )

    def _ready(self) -> bool:
        """Whether the broker says of itself that it is active, asked in the way of the collector."""
        if not accepts(self.port, self._host):
            return False
        question = {
            "type": "read",
            "mbean": f'org.apache.activemq.artemis:broker="{self.name}"',
            "attribute": "Active",
        }
        password = read_password(self.password_file)
        reply = http.post_json(self.jolokia_url, question, user=USER, password=password, origin=ORIGIN)
        return reply.get("value") is True
