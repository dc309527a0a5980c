"""Finding labs, and asking ones that hang, hang up, or answer rubbish."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from collectors.process.worker import Worker
from deploy import control_socket
from deploy.errors import Problem
from deploy.lab import client, log_end
from deploy.lab import record as records
from deploy.lab.client import LabRecord, Silent
from deploy.lab.record import Part, ProcessId, Record


def record(name: str = "ring", keeper: ProcessId | None = None) -> Record:
    """A record whose keeper is this process."""
    part = Part(name="A", kind="router", runs="stand-in", url="amqp://127.0.0.1:1", state="up")
    keeper = keeper or ProcessId.own()
    return Record(name=name, state="up", keeper=keeper, since_ns=1, wiring="direct", parts=(part,))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the labs of this folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / ".inflight" / "labs"


def put(labs: Path, *names: str) -> None:
    for name in names:
        records.write(labs / name, record(name))


class Answering(Protocol):
    def __call__(self, answer: bytes, *, hang_up: bool = False) -> LabRecord: ...


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[Answering]:
    """Return a lab that sends these bytes when it is asked, and then nothing more."""
    with contextlib.ExitStack() as opened:

        def make(answer: bytes, *, hang_up: bool = False) -> LabRecord:
            server = opened.enter_context(control_socket.listen(tmp_path / "control"))

            def serve() -> None:
                sock, _ = server.accept()
                opened.enter_context(sock)
                sock.recv(100)
                with contextlib.suppress(OSError):
                    sock.sendall(answer)
                if hang_up:
                    sock.shutdown(socket.SHUT_RDWR)

            Worker("a lab", serve, again=False).start()
            return LabRecord(tmp_path, record())

        yield make


def test_the_only_lab_needs_no_name(here: Path) -> None:
    put(here, "ring")
    assert client.find().name == client.find("ring").name == "ring"


def test_of_several_one_is_named(here: Path) -> None:
    put(here, "ring", "line")
    with pytest.raises(Problem, match="several labs: name one of line, ring"):
        client.find()
    assert client.find("line").name == "line"


def test_where_there_is_none(here: Path) -> None:
    """The words say where was looked, and what there is."""
    with pytest.raises(Problem, match=f"no lab in {here}"):
        client.find()
    put(here, "line")
    with pytest.raises(Problem, match=f"no lab ring in {here}; there are: line"):
        client.find("ring")


@pytest.mark.parametrize("name", ["", "..", "../../etc", "a/b", "/etc", "a b", "a--b", "x" * 64])
def test_a_name_leads_nowhere_else(here: Path, name: str) -> None:
    put(here, "line")
    with pytest.raises(Problem, match="cannot be the name of a lab"):
        client.find(name)


def test_a_file_that_cannot_be_read_is_told(here: Path) -> None:
    """And does not keep the other labs from being found."""
    put(here, "line", "ring")
    (here / "ring" / "lab.json").write_text("{")
    with pytest.raises(Problem, match=r"ring/lab.json cannot be read: .*Invalid JSON"):
        client.find("ring")
    assert client.find().name == "line"


def test_an_answer(answering: Answering) -> None:
    """After as many signs of life as it takes."""
    assert answering(b'\n\n\n{"ok": {"a": 1}}\n').ask({"do": "x"}) == {"a": 1}


def test_the_labs_own_words(answering: Answering) -> None:
    with pytest.raises(Problem, match=r"^not that$"):
        answering(b'{"problem": "not that"}\n').ask({"do": "x"})


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"rubbish\n", "Expecting value"),
        (b"[]\n", "JSON object"),
        (b"x" * 1_200_000, "more than 1048576 bytes"),
    ],
    ids=["rubbish", "no-object", "huge"],
)
def test_rubbish_is_no_answer(answering: Answering, answer: bytes, reason: str) -> None:
    with pytest.raises(Silent, match=reason):
        answering(answer).ask({"do": "x"})


def test_a_lab_that_hangs_up(answering: Answering) -> None:
    with pytest.raises(Silent, match="hung up"):
        answering(b"", hang_up=True).ask({"do": "x"})


def test_a_lab_that_hangs(answering: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words say what to do."""
    monkeypatch.setattr(client, "_SILENT_SECONDS", 0.5)
    with pytest.raises(Silent, match=r"does not answer.*`inflight lab down --kill ring`"):
        answering(b"\n\n").ask({"do": "x"})


def test_a_lab_of_another_version(answering: Answering) -> None:
    """Is told as such; what its record says is shown all the same."""
    condition, found, problem = answering(b'{"ok": {"version": 2}}\n').look()
    assert (condition, found.name) == ("silent", "ring")
    assert "another version" in problem


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(Silent, match="cannot be asked"):
        LabRecord(tmp_path, record()).ask({"do": "x"})


def test_a_lab_of_another_boot_is_gone(tmp_path: Path) -> None:
    """Its keeper's pid may be anybody's by now: nobody is asked, nor ended."""
    own = ProcessId.own()
    lab = LabRecord(tmp_path, record(keeper=own.model_copy(update={"boot": "another"})))
    records.write(tmp_path, lab.record)
    with pytest.raises(Problem, match=r"is gone.*`inflight lab down ring` clears up"):
        lab.ask({"do": "x"})
    assert lab.look()[0] == "gone"
    lab.end(kill=True)
    assert records.read(tmp_path) is None


def test_the_end_of_a_log(here: Path) -> None:
    """Of a part or the keeper; what would steer the terminal is written out."""
    put(here, "ring")
    logs = here / "ring" / "logs"
    logs.mkdir()
    (logs / "A.log").write_bytes(b"".join(b"%d\n" % n for n in range(100)) + b"\x1b[2Jred\xff\ttab\n")
    (here / "ring" / "keeper.log").write_text("kept\n")
    lab = client.find()
    assert log_end.lines(lab, "A", 3) == ["98", "99", "\\x1b[2Jred�\ttab"]
    assert log_end.lines(lab, "keeper", 3) == ["kept"]
    with pytest.raises(Problem, match=r"'../A' is no part of ring; parts are A, and keeper"):
        log_end.lines(lab, "../A", 3)
    (logs / "A.log").unlink()
    with pytest.raises(Problem, match="no log yet"):
        log_end.lines(lab, "A", 3)
