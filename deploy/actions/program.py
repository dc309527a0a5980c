"""Runs a program within its time, ends it with all its processes, and keeps the end of what it wrote."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict

from deploy.actions.steps import FailedError, NotBegunError, Result, Within
from deploy.embedded.supervise import orphans

OUTPUT_BYTES: Final = 16_384
_CHUNK_BYTES: Final = 65_536
_LOOK_SECONDS: Final = 0.05
_GRACE_SECONDS: Final = 1.0
_LAST_LINE: Final = 300
_MASKED: Final = "***"


class Run(BaseModel):
    """A program to run, as a step; `secrets` are variables of the environment whose values are not told."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    by: Literal["run"] = "run"
    argv: tuple[str, ...]
    folder: Path | None = None
    secrets: tuple[str, ...] = ()
    lasts: ClassVar[bool] = True

    def carry_out(self, within: Within) -> Result:
        return run(self.argv, within, folder=self.folder, secrets=self.secrets)


def run(
    argv: Sequence[str],
    within: Within,
    *,
    folder: Path | None = None,
    secrets: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> Result:
    """Run it to its end; raises FailedError for any exit status but 0, and where it is ended before.

    `env` is its environment, instead of this process's. `secrets` are variables of ours: their values are not
    in the result, nor in errors.
    """
    output = _Output([value for name in secrets if (value := os.environ.get(name))])
    try:
        program = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={
                **(os.environ if env is None else env),
                **({orphans.MARK: within.mark} if within.mark else {}),
            },
            start_new_session=True,  # a group of its own, which Ctrl-C does not reach, nor any end of ours
        )
    except (OSError, ValueError) as error:
        raise NotBegunError(f"{argv[0]} cannot be run: {getattr(error, 'strerror', None) or error}") from None
    try:
        why = _read(program, output, within)
        if why is not None:
            _end_group(program)
        output.read_what_is_there(program)
    finally:
        if program.stdout is not None:
            program.stdout.close()
    return _judged(argv, program.returncode, output, why)


def _read(program: subprocess.Popen[bytes], output: _Output, within: Within) -> str | None:
    """Read until it has ended; return why it has to be ended instead."""
    deadline = time.monotonic() + within.seconds
    with selectors.DefaultSelector() as selector:
        if program.stdout is not None:
            os.set_blocking(program.stdout.fileno(), False)
            selector.register(program.stdout, selectors.EVENT_READ)
        while program.poll() is None:
            if time.monotonic() > deadline:
                return f"not done within {within.seconds:g} s, and ended"
            if within.stopping.is_set():
                return "ended, as this is to stop"
            if not selector.get_map():
                time.sleep(_LOOK_SECONDS)
            elif selector.select(_LOOK_SECONDS) and output.read(program) == b"":
                selector.unregister(program.stdout)  # type: ignore[arg-type]  # it is there
    return None


def _end_group(program: subprocess.Popen[bytes]) -> None:
    """End its process group. It is waited for only afterwards: until then no other can have its number."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGTERM)
        os.killpg(program.pid, signal.SIGCONT)
        deadline = time.monotonic() + _GRACE_SECONDS
        while not _has_ended(program.pid) and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
        os.killpg(program.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        program.wait(_GRACE_SECONDS)


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _judged(argv: Sequence[str], status: int | None, output: _Output, why: str | None) -> Result:
    result = Result(status, output.text())
    name = Path(argv[0]).name
    said = f": {line}" if (line := _last_line(result.output)) else ""
    if why is not None:
        raise FailedError(f"{name} was {why}{said}", result)
    if status != 0:
        how = f"signal {-status}" if status is not None and status < 0 else f"exit status {status}"
        raise FailedError(f"{name}: {how}{said}", result)
    return result


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "".join(c if c.isprintable() else "?" for c in lines[-1][-_LAST_LINE:]) if lines else ""


class _Output:
    """The end of what a program writes, without secrets, of which none may be cut in two."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = sorted((os.fsencode(secret) for secret in secrets), key=len, reverse=True)
        self._bound = OUTPUT_BYTES + max(map(len, self._secrets), default=0)
        self._kept = b""

    def read(self, program: subprocess.Popen[bytes]) -> bytes | None:
        """Read once; return nothing at the end, and None where there is no more now."""
        if program.stdout is None:
            return b""
        try:
            data = os.read(program.stdout.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return None
        self._kept = (self._kept + data)[-self._bound :]
        return data

    def read_what_is_there(self, program: subprocess.Popen[bytes]) -> None:
        """Not to the end: a process that it left behind may hold the pipe open, and write."""
        for _ in range(16):
            if not self.read(program):
                return

    def text(self) -> str:
        kept = self._kept
        for secret in self._secrets:
            # Zeros of the same length first: what stands before the bound has to stay there.
            kept = kept.replace(secret, b"\0" * len(secret))
        kept = kept[-OUTPUT_BYTES:]
        while b"\0\0" in kept:
            kept = kept.replace(b"\0\0", b"\0")
        return kept.replace(b"\0", _MASKED.encode()).decode(errors="replace")
