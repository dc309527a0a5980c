"""Artemis with TLS: an acceptor and a JAAS domain for each kind of login."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.embedded.programs.security import Security
from deploy.embedded.supervise import password_files
from deploy.topology.outputs.artemis import ROLE


@dataclass(frozen=True)
class Way:
    """One kind of login: its name, and the options of its acceptor beside those of TLS."""

    name: str
    options: str


PLAIN: Final = Way("plain", "securityDomain=plain;saslMechanisms=PLAIN;wantClientAuth=true")
SCRAM: Final = Way(
    "scram",
    "securityDomain=scram;saslLoginConfigScope=scram-exchange;saslMechanisms=SCRAM-SHA-256,SCRAM-SHA-512",
)
EXTERNAL: Final = Way("external", "securityDomain=external;saslMechanisms=EXTERNAL;needClientAuth=true")
SECURE_WAYS: Final = (PLAIN, SCRAM, EXTERNAL)

# Each acceptor has a domain of its own: with one for all, a wrong password would be let in as a guest.
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


def write(directory: Path, security: Security) -> Path:
    """Write users, certificates, roles and the JAAS configuration that names them; return the latter."""
    modules = "org.apache.activemq.artemis.spi.core.security.jaas"
    domains = directory / "login.config"
    domains.write_text(_DOMAINS.format(modules=modules, directory=directory, role=ROLE))
    password_files.write_private(directory / "users.properties", f"{security.user}={security.password}\n")
    (directory / "certificates.properties").write_text(f"{security.user}={security.client_name}\n")
    (directory / "roles.properties").write_text(f"{ROLE}={security.user}\n")
    return domains


def tls(directory: Path, security: Security) -> str:
    """Return an acceptor's options for TLS."""
    store = security.keystore(directory)
    keys = f"sslEnabled=true;keyStoreType=PEM;keyStorePath={store}"
    return f"{keys};trustStoreType=PEM;trustStorePath={security.ca}"
