"""Why a query or the JVM failed, in one line; and whether starting it again can help."""

from __future__ import annotations

import re
import subprocess
from typing import Any, Final

from pyspark import SparkContext

_ENDING_SECONDS: Final = 2  # of a process whose connections are closed
_OUT_OF_MEMORY: Final = (3, 52)  # exit statuses, of the JVM itself and of Spark
_UNFIT: Final = re.compile(
    r"ModuleNotFoundError|ImportError|(\S+: )?Cannot run program|.*\[PYTHON_VERSION_MISMATCH\]"
)


class OutOfMemoryError(Exception):
    """Spark's JVM ended for want of memory: another one goes on, around what it could not hold."""


class UnfitError(Exception):
    """The Python of these machines cannot run the job."""


def cause(error: Exception | None) -> str:
    """Returns the first cause that says something, in one line."""
    lines = [line for line in str(error or "").splitlines() if line.strip()]
    causes = [found[1] for line in lines if (found := re.match(r"\s*Caused by: (.*)", line))]
    said = _of_python(lines) or causes[-1:] or lines[:1] or ["it ended without saying why"]
    return said[0].strip()[:500]


def is_unfit(said: str) -> bool:
    """Returns whether that cause is one of the machines' Python, which no restart mends."""
    return _UNFIT.match(said) is not None


def out_of_memory() -> OutOfMemoryError | None:
    """Returns the error to raise where the JVM has just ended for want of memory."""
    status = _jvm_status()
    if status not in _OUT_OF_MEMORY:
        return None
    return OutOfMemoryError(f"Spark's JVM was out of memory and ended with status {status}")


def jvm_has_ended() -> bool:
    """Returns whether it has, or is just ending: an error of whatever kind then comes of that."""
    return _jvm_status() is not None


def _jvm_status() -> int | None:
    process = jvm_process()
    if process is None:
        return None
    try:
        return int(process.wait(_ENDING_SECONDS))
    except subprocess.TimeoutExpired:
        return None


def jvm_process() -> Any:
    """Returns the JVM's process, or None where it was not started from here."""
    return getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 -- nobody else knows it


def _of_python(lines: list[str]) -> list[str]:
    """Returns the lines from what a Python worker raised on.

    It stands below the frames of the last traceback, no deeper than its heading.
    """
    headings = [n for n, line in enumerate(lines) if line.endswith("Traceback (most recent call last):")]
    if not headings:
        return []
    depth = _depth(lines[headings[-1]])
    return [line for line in lines[headings[-1] + 1 :] if _depth(line) <= depth]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
