"""The guarded ways into Artemis: an acceptor and a JAAS domain for each kind of login."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.embedded.programs.secured import Guard
from deploy.embedded.supervise import secret

_ROLE: Final = "all"


@dataclass(frozen=True)
class Way:
    """What an acceptor says of its clients, beside TLS."""

    name: str
    options: str


PLAIN: Final = Way("plain", "securityDomain=plain;saslMechanisms=PLAIN;wantClientAuth=true")
SCRAM: Final = Way(
    "scram",
    "securityDomain=scram;saslLoginConfigScope=scram-exchange;saslMechanisms=SCRAM-SHA-256,SCRAM-SHA-512",
)
EXTERNAL: Final = Way("external", "securityDomain=external;saslMechanisms=EXTERNAL;needClientAuth=true")
WAYS: Final = (PLAIN, SCRAM, EXTERNAL)

# Who comes by the open way needs no password; a wrong one by a guarded way must not be taken for none.
_DOMAINS: Final = """\
open {{
   {modules}.GuestLoginModule required
      org.apache.activemq.jaas.guest.user="guest" org.apache.activemq.jaas.guest.role="{role}";
}};
plain {{
   {modules}.PropertiesLoginModule required
      baseDir="{directory}"
      org.apache.activemq.jaas.properties.user="users.properties"
      org.apache.activemq.jaas.properties.role="roles.properties";
}};
scram-exchange {{
   {modules}.SCRAMPropertiesLoginModule required
      baseDir="{directory}"
      org.apache.activemq.jaas.properties.user="users.properties"
      org.apache.activemq.jaas.properties.role="roles.properties";
}};
scram {{
   {modules}.SCRAMLoginModule required;
}};
external {{
   {modules}.TextFileCertificateLoginModule required
      baseDir="{directory}"
      org.apache.activemq.jaas.textfiledn.user="certificates.properties"
      org.apache.activemq.jaas.textfiledn.role="roles.properties";
}};
"""


def write(directory: Path, guard: Guard) -> Path:
    """Users, certificates, roles, and the JAAS configuration that names them; this one is returned."""
    modules = "org.apache.activemq.artemis.spi.core.security.jaas"
    domains = directory / "login.config"
    domains.write_text(_DOMAINS.format(modules=modules, directory=directory, role=_ROLE))
    secret.write(directory / "users.properties", f"{guard.user}={guard.password}\n")
    (directory / "certificates.properties").write_text(f"{guard.user}={guard.client_name}\n")
    (directory / "roles.properties").write_text(f"{_ROLE}={guard.user}\n")
    return domains


def tls(directory: Path, guard: Guard) -> str:
    """An acceptor's options for TLS, the clients' certificates checked where they show any."""
    store = guard.keystore(directory)
    keys = f"sslEnabled=true;keyStoreType=PEM;keyStorePath={store}"
    return f"{keys};trustStoreType=PEM;trustStorePath={guard.ca}"
