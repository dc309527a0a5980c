"""Starts a lab's keeper, follows it until the lab is up, and takes everything back if that is not to be."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from collectors.process.private_files import private_folder
from deploy.embedded.supervise import orphans
from deploy.errors import Problem
from deploy.jvm import artifacts
from deploy.lab import brokers, client
from deploy.lab import record as records
from deploy.lab.client import LabRecord
from deploy.lab.keeper import STAY, Order

_POLL_SECONDS: Final = 0.2
_SILENT_SECONDS: Final = 300.0  # more than any part may take
_END_SECONDS: Final = 30.0
_LOG_BYTES: Final = 4_000
_READ_BYTES: Final = 65_536


class GivenUp(Exception):  # noqa: N818 -- no error: somebody asked for it
    """The start was interrupted, and taken back."""


def prepare(order: Order) -> None:
    """Raise Problem where there is such a lab already; fetch what it needs, and show that."""
    _refuse_if_there(order)
    brokers.prepare(order.document)
    if order.kafka:
        artifacts.ensure()


def up(order: Order, say: Callable[[str], None], stopping: threading.Event) -> LabRecord:
    """Return when the lab is up; raises Problem if it will not be, GivenUp when `stopping` is set before.

    In both cases nothing of it runs any more.
    """
    new = not order.folder.exists()
    try:
        keeper = _Keeper(private_folder(order.folder) / client.KEEPER_LOG)
    except OSError as error:
        raise Problem(f"a lab needs its folder {order.folder}: {error.strerror}") from None
    try:
        keeper.follow(order, say, stopping)
    except BaseException as error:
        keeper.end(order.folder)
        if new and isinstance(error, GivenUp) and not (order.folder / records.FILE).exists():
            shutil.rmtree(order.folder, ignore_errors=True)
        raise
    lab = client.at(client.LABS / order.name)  # as people name it
    if lab is None:
        raise Problem(f"the lab {order.name} was ended as soon as it was up; see {keeper.log}")
    return lab


def _refuse_if_there(order: Order) -> None:
    lab = client.at(order.folder)
    if lab is not None and lab.record.keeper.state() != "gone":
        raise Problem(
            f"the lab {order.name} is there already: `inflight lab status {order.name}` shows it,"
            f" `inflight lab down {order.name}` ends it, and `--name` names another one beside it"
        )


class _Keeper:
    """The process, as the one who starts it sees it."""

    def __init__(self, log: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self._log_start_bytes = out.tell()
            # A session of its own: Ctrl-C and the end of this terminal reach it by its stdin alone.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "deploy.lab.keeper"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=out,
                start_new_session=True,
                env={name: value for name, value in os.environ.items() if name != orphans.MARK},
            )

    def follow(self, order: Order, say: Callable[[str], None], stopping: threading.Event) -> None:
        """Return when the lab is up, and stays."""
        self._send(order.model_dump_json().encode() + b"\n")
        for told in self._told(stopping):
            if "problem" in told:
                raise Problem(f"the lab {order.name} did not start: {told['problem']}")
            if "ready" in told:
                self._send(STAY)
                return
            say(str(told.get("say", "")))
        status = self._process.wait()
        if status == 0:
            raise Problem(f"the lab {order.name} was ended while it started")
        raise Problem(f"the keeper of {order.name} ended with status {status}. {self._log_end()}")

    def end(self, folder: Path) -> None:
        """Let the keeper end, with what it has started, and end what it left where it cannot."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        client.wait_until(self._ended_or_stopped, _END_SECONDS)
        lab = client.at(folder)
        if lab is not None and lab.record.keeper.pid == self._process.pid:
            lab.end(kill=True)
        self._process.kill()
        self._process.wait()

    def _ended_or_stopped(self) -> bool:
        return self._process.poll() is not None or records.is_stopped(self._process.pid)

    def _send(self, data: bytes) -> None:
        if self._process.stdin is None:
            raise RuntimeError("the keeper was started without a pipe")
        with contextlib.suppress(BrokenPipeError):  # it has ended; what it has told says why
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def _told(self, stopping: threading.Event) -> Iterator[dict[str, Any]]:
        """Yield what the keeper tells until it ends."""
        if self._process.stdout is None:
            raise RuntimeError("the keeper was started without a pipe")
        out = self._process.stdout.fileno()
        waiting = b""
        silent_until = time.monotonic() + _SILENT_SECONDS
        while True:
            if stopping.is_set():
                raise GivenUp
            if time.monotonic() > silent_until:
                raise Problem(f"the keeper says nothing for {_SILENT_SECONDS:g} s. {self._log_end()}")
            if not select.select([out], [], [], _POLL_SECONDS)[0]:
                continue
            data = os.read(out, _READ_BYTES)
            if not data:
                return
            *lines, waiting = (waiting + data).split(b"\n")
            silent_until = time.monotonic() + _SILENT_SECONDS
            for line in lines:
                if stopping.is_set():
                    raise GivenUp
                yield json.loads(line)

    def _log_end(self) -> str:
        with self.log.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(self._log_start_bytes, end - _LOG_BYTES))
            text = file.read(_LOG_BYTES).decode(errors="replace").strip()
        return f"The end of its log, {self.log}:\n{text or '(nothing)'}"
