"""One process of the embedded network: started, waited for until it is ready, ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.embedded.supervise import look, orphans
from deploy.embedded.supervise.look import Seen
from deploy.errors import Problem

_POLL_SECONDS = 0.05
_LOG_LINES = 15


@dataclass(frozen=True)
class ProcessSpec:
    """What to start, and how to know that it is ready; if `ready` raises, it is not."""

    name: str
    argv: Sequence[str | Path]
    ready: Callable[[], bool]
    timeout_seconds: float = 30.0
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    stop_seconds: float = 6.0
    stop_signal: signal.Signals = signal.SIGTERM


class Interrupted(Exception):  # noqa: N818 -- not an error: someone asked for the end while a process was starting
    """A start was given up because the supervisor is asked to stop."""


class Process:
    """A started part. `stop` and `kill` may be called at any time, also when it has ended."""

    def __init__(self, spec: ProcessSpec, *, log: Path, mark: str) -> None:
        self.spec = spec
        self.log = log
        self._mark = mark
        self._asked_to_end = False
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log_start_bytes = log.stat().st_size if log.exists() else 0
        with log.open("ab") as out:
            try:
                # A session of its own: Ctrl-C must reach only the supervisor, which ends processes in order.
                self._popen = subprocess.Popen(
                    [str(a) for a in spec.argv],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **spec.env, orphans.MARK: mark},
                    cwd=spec.cwd,
                    start_new_session=True,
                )
            except OSError as e:
                raise Problem(f"could not start {spec.name}: {e.strerror}: {spec.argv[0]}") from e

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    @property
    def ended_unasked(self) -> str | None:
        """How it ended, like `signal SIGKILL`; None while it runs, and where it was asked to end."""
        status = self._popen.poll()
        return None if status is None or self._asked_to_end else _status(status)

    def check(self) -> None:
        """Raise `Problem`, with the end of its log, if the process ended without being asked to."""
        if (how := self.ended_unasked) is not None:
            raise Problem(f"{self.spec.name} ended unasked with {how}. {self._log_end()}")

    def wait_ready(self, *, stopping: Callable[[], bool] = lambda: False) -> None:
        """Return when the process is ready; raise `Problem` with the end of its log if it will not be."""
        deadline = time.monotonic() + self.spec.timeout_seconds
        reason = "its readiness check said no"
        while True:
            if (status := self._popen.poll()) is not None:
                raise Problem(self._failure(f"ended with {_status(status)}"))
            if stopping():
                raise Interrupted(self.spec.name)
            try:
                if self.spec.ready():
                    return
            except Exception as e:  # noqa: BLE001 -- whatever a process that is starting up answers, it is not ready
                reason = f"{type(e).__name__}: {e}"
            if time.monotonic() > deadline:
                raise Problem(self._failure(f"not ready after {self.spec.timeout_seconds:g} s ({reason})"))
            time.sleep(_POLL_SECONDS)

    def ask_to_end(self) -> None:
        """Send its signal and return: `stop` without its wait, for ending several processes at once."""
        self._asked_to_end = True
        self._popen.send_signal(self.spec.stop_signal)
        self._signal(signal.SIGCONT)  # one that stands still would not hear of it

    def stop(self, within_seconds: float | None = None) -> None:
        """Ask the process to end, and kill it if it has not within the time."""
        if self.alive:
            if not self._asked_to_end:
                self.ask_to_end()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(
                    self.spec.stop_seconds if within_seconds is None else max(within_seconds, 0.0)
                )
        self.kill()

    def kill(self) -> None:
        """Kill the process and the processes that it has started."""
        self._asked_to_end = True
        self._signal(signal.SIGKILL)
        self._popen.wait()

    def pause(self) -> None:
        """Let the process and those that it has started stand still: connections stay, nobody answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def memory_bytes(self, seen: Seen | None = None) -> int:
        """Resident memory of the process and of what it started, with what they share once."""
        return look.memory_bytes(self._session(seen))

    def log_tail(self) -> str:
        """The last lines that this start of the process wrote."""
        with self.log.open("rb") as f:
            f.seek(self._log_start_bytes)
            lines = f.read().decode(errors="replace").splitlines()
        return "\n".join(lines[-_LOG_LINES:])

    def _failure(self, what: str) -> str:
        return f"{self.spec.name} did not start: {what}. {self._log_end()}"

    def _log_end(self) -> str:
        return f"The end of its log, {self.log}:\n{self.log_tail() or '(nothing)'}"

    def _signal(self, number: signal.Signals) -> None:
        for pid in self._session():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _session(self, seen: Seen | None = None) -> list[int]:
        """Return the pids in its session, and of all that these have started."""
        return (seen or Seen.of(self._mark)).session(self.pid)


def _status(code: int) -> str:
    return f"status {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
