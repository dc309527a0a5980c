"""Starts processes, keeps their files in one directory, and leaves no process behind when it ends."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, Self

from collectors.process.private_files import private_folder
from deploy.embedded.supervise import elsewhere, orphans
from deploy.embedded.supervise.look import Seen
from deploy.embedded.supervise.process import Interrupted, Process, ProcessSpec
from deploy.errors import Problem

log = logging.getLogger("inflight.embedded")

# The share of the time to stop after which the processes that are left are asked to end all at once.
_RESERVED_SHARE = 0.4


class Supervisor:
    """The processes of one embedded network, and its state directory, which no other supervisor may use.

    `with Supervisor(dir) as s: s.start(spec)`. Processes end with the `with`, the last started first. If this
    process is killed, a second one (`orphans`) ends them; if that is killed, too, the next start here does.
    While a process starts, `start` raises Interrupted as soon as `stopping` returns True.
    """

    def __init__(
        self,
        state_dir: Path,
        *,
        stopping: Callable[[], bool] = lambda: False,
        stop_seconds: float = 8.0,
    ) -> None:
        self.state_dir = state_dir.resolve()
        self._asked_to_stop = stopping
        self._stop_seconds = stop_seconds
        self._mark = f"{self.state_dir}//{uuid.uuid4().hex}"
        self._processes: dict[str, Process] = {}
        self._lock = threading.Lock()
        self._lock_file: IO[str] | None = None
        self._reaper: subprocess.Popen[bytes] | None = None
        self._is_ending = False

    def __enter__(self) -> Self:
        self._is_ending = False
        private_folder(self.state_dir)
        self._lock_file = _take(self.state_dir / "lock")
        if ended := orphans.end_marked(f"{self.state_dir}//", grace_seconds=0):
            log.warning("ended %d processes that an earlier run left behind in %s", ended, self.state_dir)
        orphans.remove_elsewhere(self.state_dir)
        # No environment: a supervisor above this one would find its own mark there, and end the reaper first.
        self._reaper = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", orphans.__file__),
                *(self._mark, str(self._stop_seconds / 2), self.state_dir),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stopping(self) -> bool:
        """Whether to give up what is waited for: someone asked for the end, or it has begun."""
        return self._is_ending or self._asked_to_stop()

    def give_up_if_asked(self) -> None:
        """Raise Interrupted where it is to be given up: for who waits for something in small steps."""
        if self.stopping():
            raise Interrupted("asked to end")

    @property
    def processes(self) -> list[Process]:
        """All processes in the order of their first start, also those that have ended."""
        with self._lock:
            return list(self._processes.values())

    def directory(self, name: str, *, fresh: bool = False) -> Path:
        """Return the directory for a process's files, made if need be; `fresh` empties it."""
        path = self.state_dir / name
        if fresh and path.exists():
            shutil.rmtree(path)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def directory_elsewhere(self, user: str) -> Path:
        """Return an empty directory of another user, who may not enter this state directory.

        It is on the disk, and removed when the supervisor ends, however it does. For root alone.
        """
        return elsewhere.directory(self.state_dir, user)

    def log_path(self, name: str) -> Path:
        return self.state_dir / "logs" / f"{name}.log"

    def start(self, spec: ProcessSpec, begun: Callable[[Process], None] = lambda _process: None) -> Process:
        """Start a process, return when it is ready. Raises Problem if it fails, Interrupted when stopping.

        `begun` is called with it before it is ready, so that it can be killed and stopped meanwhile. The log
        goes on over restarts within this supervisor.
        """
        if self._reaper is None:
            raise RuntimeError("a Supervisor starts processes only inside its `with`")
        with self._lock:
            if self._is_ending:  # other threads may still want to start something
                raise Interrupted(spec.name)
            old = self._processes.get(spec.name)
            if old is not None and old.alive:
                raise ValueError(f"a process named {spec.name} is running already, pid {old.pid}")
            if old is None:
                self.log_path(spec.name).unlink(missing_ok=True)
            process = Process(spec, log=self.log_path(spec.name), mark=self._mark)
            self._processes[spec.name] = process
        begun(process)
        began = time.monotonic()
        try:
            process.wait_ready(stopping=self.stopping)
        except BaseException:
            process.kill()
            raise
        log.info("%s is ready, pid %d, after %.1f s", spec.name, process.pid, time.monotonic() - began)
        return process

    def run(
        self,
        what: str,
        argv: Sequence[str | Path],
        *,
        within_seconds: float,
        text: str = "",
        env: Mapping[str, str] = MappingProxyType({}),
        cwd: Path | None = None,
    ) -> str:
        """Run a program to its end, `text` its input, and return what it wrote.

        Raises Problem if it fails or takes longer.
        """
        try:
            done = subprocess.run(
                [str(a) for a in argv],
                input=text,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, **env, orphans.MARK: self._mark},
                cwd=cwd,
                timeout=within_seconds,
                check=False,
                text=True,
            )
        except subprocess.TimeoutExpired as e:
            raise Problem(f"{what} took longer than {within_seconds:g} s: {argv[0]}") from e
        except OSError as e:
            raise Problem(f"{what} could not be begun: {e.strerror}: {argv[0]}") from e
        if done.returncode != 0:
            raise Problem(f"{what} failed with status {done.returncode}:\n{done.stdout.strip()}")
        return done.stdout

    def check(self) -> None:
        """Raise `Problem` if a process ended without being asked to."""
        for process in self.processes:
            process.check()

    def end_processes(self) -> None:
        """End all processes, the last started first, within about `stop_seconds`; keep the directory."""
        with self._lock:
            self._is_ending = True
        _stop_in_order(self.processes[::-1], self._stop_seconds)
        orphans.end_marked(self._mark, grace_seconds=0)

    def stop(self) -> None:
        """End all processes, and give the state directory free."""
        if self._reaper is None:
            return
        self.end_processes()
        orphans.remove_elsewhere(self.state_dir)
        self._reaper.communicate(b"q")
        self._reaper = None
        if self._lock_file is not None:
            self._lock_file.close()

    def memory_bytes(self) -> dict[str, int]:
        """Resident memory of each process that runs, and of what it started; looks at all processes once."""
        seen = Seen.of(self._mark)
        return {p.spec.name: p.memory_bytes(seen) for p in self.processes if p.alive}


def _stop_in_order(processes: Sequence[Process], within_seconds: float) -> None:
    """End one after the other while there is time, since earlier ones use later ones; then all at once."""
    deadline = time.monotonic() + within_seconds
    one_by_one_until = deadline - _RESERVED_SHARE * within_seconds
    left = list(processes)
    while left and (seconds := one_by_one_until - time.monotonic()) > 0:
        process = left.pop(0)
        process.stop(min(process.spec.stop_seconds, seconds))
    for process in left:
        if process.alive:
            process.ask_to_end()
    for process in left:
        process.stop(deadline - time.monotonic())


def _take(path: Path) -> IO[str]:
    """Lock a state directory for as long as the returned file is open; raises Problem if it is in use."""
    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "another process"
        file.close()
        raise Problem(
            f"{path.parent} is in use by pid {holder}: end that one, or name another state directory"
        ) from None
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file
