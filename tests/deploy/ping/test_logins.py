"""`inflight ping` where it is not let in: one line says why, and the exit status is that of misuse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from deploy.embedded.programs.artemis import Artemis
    from deploy.embedded.programs.security import Security

pytestmark = pytest.mark.e2e


def _ping(
    artemis: Artemis, security: Security, password_file: Path, **environ: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deploy", "ping", artemis.scram_url, "inflight.ping-login"]
    command += ["--count", "5", "--rate", "50/s", "--settle", "2s", "--tls-ca", str(security.ca)]
    command += ["--connect-timeout", "3s", "--mechanism", "SCRAM-SHA-512"]
    command += ["--user", security.user, "--password-file", str(password_file)]
    environ = {**os.environ, **environ}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)


def test_let_in(secure_artemis: Artemis, security: Security) -> None:
    """The right password, by SCRAM, from the command line."""
    done = _ping(secure_artemis, security, security.password_file)
    assert done.returncode == 0, done.stderr
    assert "sent 5  received 5" in done.stdout
    assert security.password not in done.stderr + done.stdout


def test_wrong_password(secure_artemis: Artemis, security: Security, tmp_path: Path) -> None:
    """The last line names the cause, and not the password."""
    wrong = tmp_path / "password"
    wrong.write_text("not-the-right-one\n")
    done = _ping(secure_artemis, security, wrong)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("inflight: nothing could be sent to inflight.ping-login within 3.")
    assert last.endswith("the peer refuses this user or password")
    assert "not-the-right-one" not in done.stderr


def test_no_module_for_the_mechanism(secure_artemis: Artemis, security: Security, tmp_path: Path) -> None:
    """Where Cyrus SASL's modules are not installed, the package that has them is named."""
    done = _ping(secure_artemis, security, security.password_file, SASL_PATH=str(tmp_path))
    assert done.returncode == 2
    assert "no module for SCRAM-SHA-512 here" in done.stderr
    assert "apt-get install libsasl2-modules" in done.stderr.splitlines()[-1]
