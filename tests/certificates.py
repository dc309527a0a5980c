"""A certificate authority for one test run, by the openssl program."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from helpers import missing

_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


@dataclass(frozen=True)
class Certificate:
    cert: Path
    key: Path


class Authority:
    """Issues certificates, for loopback unless hosts are given; `ca` is its own."""

    def __init__(self, directory: Path) -> None:
        if shutil.which("openssl") is None:
            missing("openssl")
        self._directory = directory
        self.ca = directory / "ca.pem"
        self._key = directory / "ca.key"
        _openssl(
            "req",
            "-x509",
            *_KEY,
            "-days",
            "2",
            "-subj",
            "/CN=test authority",
            "-keyout",
            self._key,
            "-out",
            self.ca,
        )

    def issue(
        self, name: str, *, hosts: str = "DNS:localhost,IP:127.0.0.1", expired: bool = False
    ) -> Certificate:
        """Issue a certificate with its key, for servers and clients alike."""
        made = Certificate(self._directory / f"{name}.pem", self._directory / f"{name}.key")
        request, extensions = self._directory / f"{name}.csr", self._directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName={hosts}\n")
        _openssl("req", *_KEY, "-subj", f"/CN={name}", "-keyout", made.key, "-out", request)
        _openssl(
            *("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self._key, "-CAcreateserial"),
            *("-days", "-1" if expired else "2", "-extfile", extensions, "-out", made.cert),
        )
        return made


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
