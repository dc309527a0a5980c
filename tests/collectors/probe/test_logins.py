"""Probes log in at a real broker in every way there is, and say what is wrong where they cannot."""

from __future__ import annotations

import itertools
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from certificates import Authority
from helpers import wait_until

if TYPE_CHECKING:
    from deploy.embedded.programs.artemis import Artemis
    from deploy.embedded.programs.security import Security

pytestmark = pytest.mark.e2e
_numbers = itertools.count()
_PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    """A file whose password is wrong."""
    file = tmp_path / "password"
    file.write_text("not-the-right-one\n")
    return file


def _config(url: str, tls: str, sasl: str) -> str:
    return f"""
endpoints: {{a: {{url: "{url}", tls: {{{tls}}}, sasl: {{{sasl}}}}}}}
defaults: {{window: 1s, settle: 2s}}
paths: {{p: {{from: a, to: a, address: inflight.login.{next(_numbers)}, rate: 100/s, count: 20}}}}
"""


def _url(artemis: Artemis, mechanism: str) -> str:
    return artemis.plain_url if mechanism == "PLAIN" else artemis.scram_url


def _sasl(mechanism: str, user: str, file: Path) -> str:
    return f"mechanism: {mechanism}, user: {user}, password_file: {file}"


def _arrive(run: Any, text: str) -> None:
    measured = run(text)
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 20, "received": 20, "due": 20}


def _refused(run: Any, text: str, *said: str) -> None:
    """Nothing goes out, and the reason is given."""
    measured = run(text)

    def told() -> bool:
        problem = measured.prober.not_ready() or ""
        return all(part in problem for part in said)

    try:
        wait_until(told, 20, f"{said} to be said")
    except pytest.fail.Exception:
        pytest.fail(f"{said} is not in {measured.prober.not_ready()!r}")
    assert measured.sent == 0
    measured.finish()


@pytest.mark.parametrize("mechanism", _PASSWORDS)
def test_password(secure_artemis: Artemis, security: Security, run: Any, mechanism: str) -> None:
    """The right password is let in by each mechanism, and messages go there and back."""
    sasl = _sasl(mechanism, security.user, security.password_file)
    _arrive(run, _config(_url(secure_artemis, mechanism), f"ca: {security.ca}", sasl))


@pytest.mark.parametrize("mechanism", _PASSWORDS)
def test_wrong_password(
    secure_artemis: Artemis,
    security: Security,
    run: Any,
    password_file: Path,
    caplog: pytest.LogCaptureFixture,
    mechanism: str,
) -> None:
    """A wrong password is told as such, and never by its text; with the file put right, all goes on."""
    caplog.set_level(logging.INFO, "inflight")
    wrong = password_file.read_text().strip()
    sasl = _sasl(mechanism, security.user, password_file)
    measured = run(_config(_url(secure_artemis, mechanism), f"ca: {security.ca}", sasl))
    wait_until(
        lambda: "the peer refuses this user or password" in (measured.prober.not_ready() or ""),
        20,
        "the refusal to be told",
    )
    assert mechanism in (measured.prober.not_ready() or "")
    assert measured.sent == 0
    password_file.write_text(security.password_file.read_text())
    measured.wait_finished()
    measured.finish()
    total = measured.total("p")
    assert total["sent"] == total["received"] == 20 - total["unsent no_connection"]
    assert total["sent"] > 0
    assert wrong not in caplog.text
    refusals = [record for record in caplog.records if "refuses this user" in record.getMessage()]
    assert 1 <= len(refusals) <= 2  # of each connection


def test_unknown_user(secure_artemis: Artemis, security: Security, run: Any) -> None:
    """A user that the broker does not have is told as a wrong password is."""
    sasl = _sasl("SCRAM-SHA-512", "nobody", security.password_file)
    text = _config(secure_artemis.scram_url, f"ca: {security.ca}", sasl)
    _refused(run, text, "the peer refuses this user or password")


def test_mechanism_that_is_not_offered(secure_artemis: Artemis, security: Security, run: Any) -> None:
    """A password is not sent in the clear to who only offers SCRAM; the message names the mechanism."""
    sasl = _sasl("PLAIN", security.user, security.password_file)
    text = _config(secure_artemis.scram_url, f"ca: {security.ca}", sasl)
    _refused(run, text, "the peer does not offer PLAIN")


def test_wrong_authority(secure_artemis: Artemis, security: Security, run: Any, tmp_path: Path) -> None:
    """A broker with a certificate of another authority gets no password; the message names the file."""
    other = Authority(tmp_path)
    sasl = _sasl("SCRAM-SHA-256", security.user, security.password_file)
    text = _config(secure_artemis.scram_url, f"ca: {other.ca}", sasl)
    _refused(run, text, "certificate verify failed", "signed by `tls.ca`")


@pytest.mark.parametrize("sasl", ["mechanism: EXTERNAL", None])
def test_certificate(
    secure_artemis: Artemis, security: Security, authority: Authority, run: Any, sasl: str | None
) -> None:
    """A client is known by its certificate alone, also where only the certificate is configured."""
    mine = authority.issue(security.user)
    text = _config(
        secure_artemis.external_url,
        f"ca: {security.ca}, cert: {mine.cert}, key: {mine.key}",
        sasl or "",
    )
    _arrive(run, text if sasl else text.replace(", sasl: {}", ""))


def test_certificate_of_a_stranger(
    secure_artemis: Artemis, security: Security, authority: Authority, run: Any
) -> None:
    """A certificate of the right authority for a name that the broker does not know is told by that name."""
    other = authority.issue("stranger")
    tls = f"ca: {security.ca}, cert: {other.cert}, key: {other.key}"
    _refused(run, _config(secure_artemis.external_url, tls, "mechanism: EXTERNAL"), "CN=stranger")


def test_certificate_of_another_authority(
    secure_artemis: Artemis, security: Security, run: Any, tmp_path: Path
) -> None:
    """The right name, signed by somebody else, is not let in; the message names the setting."""
    forged = Authority(tmp_path).issue(security.user)
    tls = f"ca: {security.ca}, cert: {forged.cert}, key: {forged.key}"
    text = _config(secure_artemis.external_url, tls, "mechanism: EXTERNAL")
    _refused(run, text, "does not trust this side's certificate, `tls.cert`")


def test_no_certificate(secure_artemis: Artemis, security: Security, run: Any) -> None:
    """Who wants to be known by a certificate has to show one."""
    text = _config(secure_artemis.external_url, f"ca: {security.ca}", "mechanism: EXTERNAL")
    _refused(run, text, "wants a certificate of this side", "`tls.cert`")
