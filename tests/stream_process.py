"""`inflight stream` as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from helpers import wait_until


class Stream:
    """`inflight stream`, started and ended by a test."""

    def __init__(self, config: Path, checkpoint: Path, log: Path, *options: str) -> None:
        self._argv = [
            *(sys.executable, "-m", "deploy", "stream", "-c", str(config), "--checkpoint", str(checkpoint)),
            *("--listen", "127.0.0.1:0", "--heap", "512m", *options),
        ]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._argv,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(10)
        # Its JVM goes when it finds that out.
        wait_until(self._nothing_left, 60, "the end of the killed job's JVM")

    def _nothing_left(self) -> bool:
        assert self._process is not None
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return True
        return False

    def stop(self) -> None:
        """Ask it to end, as Ctrl-C does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait(20) == 0
