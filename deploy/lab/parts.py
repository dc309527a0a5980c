"""What is known of a lab's parts at the moment, and that two commands do not start one of them at once."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, Final

from deploy.embedded.programs.postgres import Postgres
from deploy.embedded.supervise.process import Process
from deploy.embedded.supervise.service import Service
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.jvm import artifacts
from deploy.lab.lab import Lab
from deploy.lab.record import Kind, Part, PartState, is_stopped
from deploy.lab.routers import Router, StandIn

# Those that take time. The others are done at once, and also to a part that is just being started.
_ALONE: Final = {"start": "started", "stop": "stopped", "restart": "restarted"}
_BEGINS: Final = ("start", "restart")
_VERSION_SECONDS: Final = 3.0
_JVM_PARTS: Final[Mapping[Kind, tuple[str, str]]] = {
    "broker": ("Artemis", "artemis-server-"),
    "kafka": ("Kafka", "kafka-server-"),
}


class Parts:
    def __init__(self, lab: Lab, supervisor: Supervisor) -> None:
        self._lab = lab
        self._supervisor = supervisor
        self._doing: dict[str, str] = {}  # verb by part
        self._lock = threading.Lock()
        self._told_ended: set[int] = set()

    def now(self, *, starting: bool) -> tuple[Part, ...]:
        """Return all parts, and what else runs or has ended unasked.

        A part that does not run yet is being started while the lab is.
        """
        processes = self._processes()
        there = [name for name, process in processes.items() if process.alive or process.ended_unasked]
        names = dict.fromkeys([*self._lab.parts, *there])
        return tuple(self._part(name, processes.get(name), starting=starting) for name in names)

    def ended_since(self) -> Iterator[str]:
        """Yield what to tell of each part that has ended unasked since the last call."""
        for name, process in self._processes().items():
            how = process.ended_unasked
            if how is not None and process.pid not in self._told_ended:
                self._told_ended.add(process.pid)
                yield f"{name} ended unasked with {how}; the others go on"

    def one_at_a_time(self, command: Mapping[str, Any]) -> AbstractContextManager[None]:
        """Return the block in which to carry out a command; raises Problem while another one takes time."""
        verb, part = str(command.get("do")), str(command.get("part"))
        return self._alone(verb, part) if verb in _ALONE else nullcontext()

    @contextmanager
    def _alone(self, verb: str, part: str) -> Iterator[None]:
        with self._lock:
            if part in self._doing:
                raise Problem(f"{part} is just being {_ALONE[self._doing[part]]}; ask again")
            self._doing[part] = verb
        try:
            yield
        finally:
            with self._lock:
                del self._doing[part]

    def _processes(self) -> dict[str, Process]:
        return {process.spec.name: process for process in self._supervisor.processes}

    def _part(self, name: str, process: Process | None, *, starting: bool) -> Part:
        kind, service = self._kind(name), self._lab.parts.get(name)
        return Part(
            name=name,
            kind=kind,
            runs=_runs(kind, service),
            url=_url(service),
            jolokia=getattr(service, "jolokia_url", None),
            pid=process.pid if process is not None and process.alive else None,
            state=self._state(name, process, starting=starting),
            ended=process.ended_unasked if process is not None else None,
        )

    def _state(self, name: str, process: Process | None, *, starting: bool) -> PartState:
        if process is not None and process.alive and is_stopped(process.pid):
            return "paused"
        if starting or self._doing.get(name) in _BEGINS:
            return "starting"
        if process is not None and process.alive:
            return "up"
        return "ended" if process is not None and process.ended_unasked else "down"

    def _kind(self, name: str) -> Kind:
        if name in self._lab.routers:
            return "router"
        if name in self._lab.brokers:
            return "broker"
        if name in self._lab.databases:
            return "database"
        return "kafka" if name in self._lab.parts else "wiring"


def _url(service: Service | None) -> str:
    """Where clients connect, by the word that each kind of part has for it."""
    found = (getattr(service, word, None) for word in ("url", "amqp_url", "bootstrap"))
    return next((str(url) for url in found if url), "")


def _runs(kind: Kind, service: Service | None) -> str:
    if service is None:
        return "the lab's links"
    if isinstance(service, StandIn):
        return f"stand-in for {service.program.command}"
    if isinstance(service, Router):
        return f"{service.program.command} {_version(service.program.command)}".rstrip()
    if isinstance(service, Postgres):
        return service.version
    name, jar = _JVM_PARTS[kind]
    return f"{name} {_jar_version(jar)}".rstrip()


@cache
def _version(program: str) -> str:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        argv = [program, "--version"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_VERSION_SECONDS, check=False)
        return done.stdout.strip()[:40]
    return ""


@cache
def _jar_version(begins: str) -> str:
    files = (jar.file for jar in artifacts.ivy_jars() if jar.file.startswith(begins))
    return next((file.removeprefix(begins).removesuffix(".jar") for file in files), "")
