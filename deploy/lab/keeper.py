"""The process that keeps a lab: it starts the parts, does what the control socket tells, and ends them.

It is started by `starting.up`, which it tells on its standard output how far it is. Until that has answered
`stay`, the end of its standard input ends the lab: whoever is interrupted while a lab starts leaves nothing.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel

from collectors.config.load import ConfigError
from collectors.process.worker import Worker
from deploy import logs
from deploy.embedded.supervise.ports import LOOPBACK, free_port
from deploy.embedded.supervise.process import Interrupted
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab import client, wirings
from deploy.lab import record as records
from deploy.lab.control import Control
from deploy.lab.lab import Lab
from deploy.lab.parts import Parts
from deploy.lab.record import LabState, Part, ProcessId, Record
from deploy.signals import stop_on_signals
from deploy.topology import load
from deploy.topology.mistakes import Source

STAY: Final = b"stay\n"
TOPOLOGY: Final = "topology.yaml"
_ORDER_BYTES: Final = 16 << 20
_STDIN, _STDOUT = 0, 1
# Who breaks a lab wants to see it: results become final after a few seconds, not after a quarter of a minute.
_WATCHED: Final = {"window": "2s", "settle": "4s", "ttl": "8s"}
_WATCH_SECONDS: Final = 1.0
_log: Final = logging.getLogger("inflight.keeper")


class Order(BaseModel):
    """What to keep. `document` is a topology in its form, complete without other files."""

    name: str
    folder: Path
    document: dict[str, Any]
    wiring: str
    stand_ins: bool = False
    kafka: bool = False


class Caller:
    """The command that started this process."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping

    def order(self) -> bytes:
        """Return what it wants, empty when it is gone already."""
        return sys.stdin.buffer.readline(_ORDER_BYTES)

    # Without Python's buffers: a thread that waits in one of them would keep this process from ending.

    def tell(self, **what: Any) -> None:
        with contextlib.suppress(OSError):  # it is gone, which `wait` has noticed
            os.write(_STDOUT, json.dumps(what).encode() + b"\n")

    def wait(self) -> None:
        if os.read(_STDIN, len(STAY)) != STAY:
            self._stopping.set()


class _Told(logging.Handler):
    """Hands the log of what was started on to the caller."""

    def __init__(self, caller: Caller) -> None:
        super().__init__(logging.INFO)
        self._caller = caller

    def emit(self, record: logging.LogRecord) -> None:
        self._caller.tell(say=record.getMessage())


class Keeper:
    """A lab, and what is known of it beside its parts: its state, and the faults of its links."""

    def __init__(
        self, order: Order, supervisor: Supervisor, caller: Caller, stopping: threading.Event
    ) -> None:
        self._order = order
        self._supervisor = supervisor
        self._caller = caller
        self._stopping = stopping
        self._state: LabState = "starting"
        self._since_ns = time.time_ns()
        self._me = ProcessId.own()
        topology = load.made(order.document, Source(TOPOLOGY)).topology
        self._lab = Lab(
            supervisor,
            topology,
            wiring=wirings.made(order.wiring, supervisor),
            stand_ins=order.stand_ins,
            kafka=order.kafka,
        )
        self._parts = Parts(self._lab, supervisor)
        self._faults: dict[str, list[dict[str, Any]]] = {}  # by link
        self._lock = threading.Lock()
        self._writing = threading.Lock()

    def keep(self) -> None:
        """Start the lab, keep it until asked to end, and end it."""
        folder = self._order.folder
        folder.chmod(0o700)
        control = Control(folder / client.CONTROL, self._carry_out)
        Worker("control", control.serve).start()
        try:
            self._start()
            while not self._stopping.wait(_WATCH_SECONDS):
                for ended in self._parts.ended_since():
                    _log.warning("%s", ended)
                if not (folder / records.FILE).exists():
                    _log.error("%s was removed: nobody can find this lab, so it ends", folder / records.FILE)
                    break
        finally:
            self._stopping.set()
            self._state = "ending"
            if folder.exists():
                self._write_record()
            self._supervisor.end_processes()
            control.close()
            client.clear(folder)

    def _start(self) -> None:
        folder = self._order.folder
        records.write(folder, self._record())  # a folder that cannot be written to is no place for a lab
        (folder / TOPOLOGY).write_text(yaml.safe_dump(self._order.document, sort_keys=False))
        self._lab.start()
        self._caller.tell(say="all are ready; waiting until they reach each other")
        self._lab.wait_connected()
        config = {
            **self._lab.config(),
            "defaults": _WATCHED,
            "state": str(folder / "monitor"),
            "export": {"listen": f"{LOOPBACK}:{free_port()}"},
        }
        (folder / client.CONFIG).write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
        self._state = "up"
        self._write_record()
        self._caller.tell(ready=True)

    def _record(self) -> Record:
        with self._lock:
            faults = {link: tuple(told) for link, told in self._faults.items() if told}
        return Record(
            name=self._order.name,
            state=self._state,
            keeper=self._me,
            since_ns=self._since_ns,
            wiring=self._order.wiring,
            parts=self._all_parts(),
            links=tuple(sorted(self._lab.links)),
            verbs=tuple(sorted(self._lab.verbs)),
            faults=faults,
        )

    def _all_parts(self) -> tuple[Part, ...]:
        return self._parts.now(starting=self._state == "starting")

    def _carry_out(self, command: Mapping[str, Any]) -> dict[str, Any]:
        match command.get("do"):
            case "status":
                return self._record().model_dump(mode="json")
            case "down":
                self._stopping.set()
                return {}
        if self._state != "up":
            raise Problem(f"the lab is {self._state}; ask again when it is up")
        with self._parts.one_at_a_time(command):
            answer = self._lab.tell(command)
        if "link" in answer:
            with self._lock:
                self._faults[answer["link"]] = answer["faults"]
        self._write_record()
        return answer

    def _write_record(self) -> None:
        try:
            with self._writing:
                records.write(self._order.folder, self._record())
        except OSError as error:
            _log.warning("cannot write %s, which is as before: %s", records.FILE, error)


def main() -> None:
    logs.setup()
    stopping = threading.Event()
    stop_on_signals(stopping)
    caller = Caller(stopping)
    asked = caller.order()
    if not asked:
        return
    order = Order.model_validate_json(asked)
    Worker("caller", caller.wait, again=False).start()
    for part in ("inflight.embedded", "inflight.lab"):
        logging.getLogger(part).addHandler(_Told(caller))
    try:
        with Supervisor(order.folder, stopping=stopping.is_set) as supervisor:
            Keeper(order, supervisor, caller, stopping).keep()
    except Interrupted:
        pass
    except Problem as problem:
        _refuse(caller, problem.message)
    except ConfigError as error:
        _refuse(caller, "\n  ".join(error.mistakes))
    except OSError as error:
        _refuse(caller, f"{error.filename or order.folder}: {error.strerror}")


def _refuse(caller: Caller, problem: str) -> None:
    _log.error("%s", problem)
    caller.tell(problem=problem)
    raise SystemExit(2)


if __name__ == "__main__":
    main()
