"""Which Java to run. Standard library only: `make setup` asks before anything is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

OLDEST = 17
WHY = "Spark, Kafka and Artemis need Java 17 or newer"
_INSTALL = (
    "install one (Debian: apt-get install default-jre-headless; Fedora: dnf install java-21-openjdk-headless)"
    " or point JAVA_HOME at one"
)


class NoJavaError(Exception):
    """There is no Java that is new enough; `finding` says what was found, the text also what to do."""

    def __init__(self, finding: str) -> None:
        self.finding = finding
        super().__init__(f"{WHY}, but {finding}; {_INSTALL}")


def find_java(environ: Mapping[str, str] | None = None) -> Path:
    """Return the `java` of JAVA_HOME, else of the PATH; raises NoJavaError if that is not new enough."""
    environ = os.environ if environ is None else environ
    home = environ.get("JAVA_HOME")
    if home:
        java, where = Path(home) / "bin" / "java", f"JAVA_HOME={home}"
        if not os.access(java, os.X_OK):
            raise NoJavaError(f"{where} has no bin/java: correct or unset JAVA_HOME")
    else:
        found = shutil.which("java", path=environ.get("PATH"))
        if not found:
            raise NoJavaError("there is no java on the PATH")
        java, where = Path(found), found
    version = java_version(java)
    if version < OLDEST:
        raise NoJavaError(f"{where} is Java {version}")
    return java


def java_version(java: Path) -> int:
    """Return the feature number of a Java, such as 8, 11, 17 or 21."""
    try:
        ran = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise NoJavaError(f"`{java} -version` could not be run: {e}") from e
    told = ran.stderr + ran.stdout
    found = re.search(r'version "(\d+)(?:\.(\d+))?', told)
    if not found:
        last = (told.strip().splitlines() or ["nothing"])[-1]
        raise NoJavaError(f"`{java} -version` said: {last}")
    first, second = found.groups()
    return int(second or 0) if first == "1" else int(first)
