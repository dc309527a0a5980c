"""Further ways into Kafka and Artemis, beside the open one: TLS, and a login. For tests of just that."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from collectors.config.secrets import read_password
from deploy.embedded.supervise import secret


@dataclass(frozen=True)
class Guard:
    """The server's certificate and key (PEM), the authority of both sides, and the one user there is."""

    ca: Path
    cert: Path
    key: Path
    password_file: Path
    user: str = "inflight"

    @property
    def client_name(self) -> str:
        """The subject of the certificate by which the user is known."""
        return f"CN={self.user}"

    @property
    def password(self) -> str:
        return read_password(self.password_file)

    def keystore(self, directory: Path) -> Path:
        """Key and certificate in one file, as the JVM's PEM keystores want them."""
        path = directory / "keystore.pem"
        secret.write(path, self.key.read_text() + self.cert.read_text())
        return path
