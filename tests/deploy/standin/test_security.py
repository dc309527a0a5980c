"""TLS and passwords on a listener."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import proton
import pytest
from proton import ConnectionException
from proton.utils import BlockingConnection
from standin_clients import StandIn

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with tls.crt and tls.key for 127.0.0.1, its own authority."""
    directory = tmp_path_factory.mktemp("tls")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -keyout tls.key -out tls.crt"
    )
    subprocess.run(
        [*command.split(), "-addext", "subjectAltName=IP:127.0.0.1"],
        cwd=directory,
        check=True,
        capture_output=True,
    )
    return directory


@pytest.fixture
def guarded(standin: Callable[..., StandIn], certificate: Path, tmp_path: Path) -> StandIn:
    """A stand-in that wants TLS and a password."""
    users = tmp_path / "users"
    users.write_text("monitor:right\n")
    keys = f"cert={certificate}/tls.crt,key={certificate}/tls.key,users={users}"
    return standin("S", "--listen", f"127.0.0.1:0,{keys}")


def _connect(port: int, certificate: Path, password: str) -> BlockingConnection:
    domain = proton.SSLDomain(proton.SSLDomain.MODE_CLIENT)
    domain.set_trusted_ca_db(str(certificate / "tls.crt"))
    domain.set_peer_authentication(proton.SSLDomain.VERIFY_PEER)
    return BlockingConnection(
        f"amqps://127.0.0.1:{port}",
        timeout=5,
        ssl_domain=domain,
        user="monitor",
        password=password,
        allowed_mechs="PLAIN",
    )


def test_who_knows_the_password_gets_in(guarded: StandIn, certificate: Path) -> None:
    """Over TLS, verified, and messages flow."""
    connection = _connect(guarded.port, certificate, "right")
    receiver = connection.create_receiver("closest/tls", credit=5)
    sender = connection.create_sender("closest/tls")
    sender.link.send(proton.Message(body="secret"))
    assert receiver.receive(5).body == "secret"
    receiver.accept()
    connection.close()


def test_who_does_not_stays_out(guarded: StandIn, certificate: Path) -> None:
    """A wrong password is refused as such, and the password is in no log."""
    with pytest.raises(ConnectionException, match=r"unauthorized|[Aa]uthentication"):
        _connect(guarded.port, certificate, "wrong-password")
    assert "wrong-password" not in guarded.log()


def test_without_tls_nobody_gets_in(guarded: StandIn) -> None:
    """A plain connection to a TLS listener ends."""
    with pytest.raises(ConnectionException):
        BlockingConnection(f"amqp://127.0.0.1:{guarded.port}", timeout=5)


def test_a_bad_pair_of_certificate_and_key_is_told_in_one_line(tmp_path: Path) -> None:
    """Exit code 2 and the files by name."""
    listen = f"127.0.0.1:0,cert={tmp_path}/none.crt,key={tmp_path}/none.key"
    command = [sys.executable, "-m", "deploy.standin", "--name", "S", "--listen", listen]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert "none.crt" in done.stderr
    assert "Traceback" not in done.stderr
