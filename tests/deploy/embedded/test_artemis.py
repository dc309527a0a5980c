"""The embedded Artemis: a real one, with its Jolokia."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from proton import Message
from proton.utils import BlockingConnection

from deploy.embedded import http
from deploy.embedded.programs.artemis import Artemis

pytestmark = pytest.mark.e2e

VERSION = {"type": "version"}


def ask(
    artemis: Artemis, question: object, *, password: str | None = None, origin: str | None = None
) -> dict:
    return http.post_json(
        artemis.jolokia_url,
        question,
        user=artemis.user,
        password=password or artemis.password_file.read_text().strip(),
        origin=origin or artemis.origin,
    )


def test_jolokia_answers_who_knows_the_password(artemis: Artemis) -> None:
    """The agent's version comes back with status 200; a wrong password is refused with 401."""
    assert ask(artemis, VERSION)["value"]["agent"] == "2.3.0"
    with pytest.raises(OSError, match="401"):
        ask(artemis, VERSION, password="wrong")  # noqa: S106 -- wrong on purpose


def test_jolokia_refuses_a_strange_origin(artemis: Artemis) -> None:
    """As stock consoles do: status 403, told inside the reply."""
    assert ask(artemis, VERSION, origin="http://elsewhere.example")["status"] == 403


def test_the_password_is_for_its_owner_only(artemis: Artemis) -> None:
    """The password stands in files of mode 600, and not in the argv of the process."""
    password = artemis.password_file.read_text().strip()
    assert stat.S_IMODE(artemis.password_file.stat().st_mode) == 0o600
    assert password not in Path(f"/proc/{artemis.process.pid}/cmdline").read_text()


def test_a_crash_loses_no_message_and_no_address(tmp_path: Path) -> None:
    """After kill -9 the broker comes back at the same ports with the durable messages of its queues."""
    with Artemis.alone(tmp_path) as artemis:
        before = (artemis.amqp_url, artemis.jolokia_url)
        connection = BlockingConnection(artemis.amqp_url)
        connection.create_sender("inflight.orders").send(Message("kept", durable=True))
        artemis.kill()
        artemis.start()
        assert (artemis.amqp_url, artemis.jolokia_url) == before
        connection = BlockingConnection(artemis.amqp_url)
        receiver = connection.create_receiver("inflight.orders")
        assert receiver.receive(timeout=20).body == "kept"
        receiver.accept()
        connection.close()
