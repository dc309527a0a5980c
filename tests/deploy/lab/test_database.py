"""A broker that keeps its messages in PostgreSQL, in a lab: what psql counts is what was sent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import missing, wait_until
from proton import Message, ProtonException
from proton.utils import BlockingConnection

from deploy.embedded.programs import postgres
from deploy.embedded.supervise import orphans
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab import brokers
from deploy.lab.lab import Lab
from deploy.topology import load
from deploy.topology.mistakes import Source

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

_SECONDS = 120.0
_CLIENT_SECONDS = 60
DOCUMENT: dict[str, Any] = {
    "version": 1,
    "name": "stored",
    "routers": {"A": {}},
    "brokers": {"store": {"queues": ["orders"], "database": "postgres"}},
    "links": [{"from": "A", "to": "store", "queues": ["orders"]}],
}
ADDED_MESSAGE = 45  # Artemis' type of a record that has a message over AMQP
_FOREVER = """\
import sys, time, yaml
from pathlib import Path
from deploy.embedded.programs.postgres import Postgres
from deploy.embedded.supervise.supervisor import Supervisor
with Supervisor(Path(sys.argv[1])) as supervisor:
    Postgres(supervisor).start()
    print("up", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _there_is_postgres() -> None:
    try:
        postgres.programs()
    except Problem:
        missing("postgres")


@contextmanager
def lab(folder: Path) -> Iterator[Lab]:
    brokers.prepare(DOCUMENT)
    with Supervisor(folder) as supervisor:
        made = Lab(supervisor, load.made(DOCUMENT, Source("")).topology, stand_ins=True)
        made.start("store.database", "store")
        yield made


def send(of: Lab, count: int) -> None:
    connection = BlockingConnection(of.brokers["store"].amqp_url, timeout=_CLIENT_SECONDS)
    sender = connection.create_sender("orders")
    for number in range(count):
        sender.send(Message(durable=True, body=number))
    connection.close()


def receive(of: Lab, count: int) -> list[int]:
    connection = BlockingConnection(of.brokers["store"].amqp_url, timeout=_CLIENT_SECONDS)
    receiver = connection.create_receiver("orders", credit=count)
    found = []
    for _ in range(count):
        found.append(receiver.receive().body)
        receiver.accept()
    connection.close()
    return found


def stored(of: Lab) -> int:
    """Count the messages that the broker has in its table."""
    sql = f"SELECT count(*) FROM messages WHERE userrecordtype = {ADDED_MESSAGE}"  # noqa: S608 -- a number
    ((count,),) = of.databases["store.database"].query(sql)
    return int(count)


def elsewhere(folder: Path) -> list[Path]:
    """Return the folders outside of the state directory, where root has them."""
    noted = folder / orphans.ELSEWHERE
    return [Path(line) for line in noted.read_text().splitlines()] if noted.exists() else []


def test_messages_outlive_the_broker(tmp_path: Path) -> None:
    """Killed and started again it has all of them, in order; each is a row until it is received."""
    with lab(tmp_path / "lab") as made:
        send(made, 40)
        wait_until(lambda: stored(made) == 40, _SECONDS, "40 rows")
        assert not list((tmp_path / "lab" / "parts" / "store").rglob("*.amq"))  # a journal's files
        made.tell({"do": "kill", "part": "store"})
        made.tell({"do": "start", "part": "store"})
        assert receive(made, 40) == list(range(40))
        wait_until(lambda: stored(made) == 0, _SECONDS, "no row")
        outside = elsewhere(tmp_path / "lab")
        secret = made.databases["store.database"].pass_file.read_text().rpartition(":")[2].strip()
        assert len(secret) >= 20
        pids = orphans.marked(f"{tmp_path / 'lab'}//")
        assert not [pid for pid in pids if secret.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()]
        texts = [*(tmp_path / "lab" / "logs").iterdir(), *(tmp_path / "lab" / "parts").rglob("*.xml")]
        assert not [file for file in texts if secret in file.read_text(errors="replace")]
    assert not orphans.marked(f"{tmp_path / 'lab'}//")
    assert not [folder for folder in outside if folder.exists()]


def test_the_database_goes_and_comes_back(tmp_path: Path) -> None:
    """The broker ends by itself, which is told; it does not begin without its database; nothing is lost."""
    with lab(tmp_path / "lab") as made:
        send(made, 5)
        made.tell({"do": "kill", "part": "store.database"})
        with pytest.raises(ProtonException):
            send(made, 1)
        broker = made.parts["store"].process
        wait_until(lambda: broker.ended_unasked is not None, _SECONDS, "the broker to end")
        with pytest.raises(Problem, match=r"^store keeps its messages in store\.database: start that before"):
            made.tell({"do": "start", "part": "store"})
        made.tell({"do": "start", "part": "store.database"})
        made.tell({"do": "start", "part": "store"})
        assert receive(made, 5) == list(range(5))


def test_a_database_that_stands_still(tmp_path: Path) -> None:
    """Its processes stand still, all of them; a query is given up, and answered once it goes on."""
    with lab(tmp_path / "lab") as made:
        database = made.databases["store.database"]
        made.tell({"do": "pause", "part": "store.database"})
        with pytest.raises(Problem, match=r"a query to store\.database failed"):
            database.query("SELECT 1")
        made.tell({"do": "resume", "part": "store.database"})
        assert database.query("SELECT 1") == [["1"]]


def test_nothing_is_left_after_kill_9(tmp_path: Path) -> None:
    """Killed, the process that started it leaves neither PostgreSQL nor its data outside."""
    folder = tmp_path / "alone"
    argv = [sys.executable, "-c", _FOREVER, str(folder)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        outside = elsewhere(folder)
        assert bool(outside) == (os.geteuid() == 0)
        assert orphans.marked(f"{folder}//")
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not orphans.marked(f"{folder}//"), _SECONDS, "PostgreSQL to end")
    wait_until(lambda: not any(one.exists() for one in outside), _SECONDS, "its folder to be gone")
