"""TLS and a login for Kafka and Artemis, beside the open listener. For tests of just that."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from collectors.config.secrets import read_password
from deploy.embedded.supervise import password_files


@dataclass(frozen=True)
class Security:
    """Certificate and key (PEM) of the servers, the authority of both sides, and the one user."""

    ca: Path
    cert: Path
    key: Path
    password_file: Path
    user: str = "inflight"

    @property
    def client_name(self) -> str:
        """The subject of the user's certificate."""
        return f"CN={self.user}"

    @property
    def password(self) -> str:
        return read_password(self.password_file)

    def keystore(self, directory: Path) -> Path:
        """Write key and certificate into one file, as the JVM wants them, and return it."""
        path = directory / "keystore.pem"
        password_files.write_private(path, self.key.read_text() + self.cert.read_text())
        return path
