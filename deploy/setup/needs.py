"""What the set-up asks of the machine, why, and what to do where it is missing: a table and its checks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deploy.jvm.java import NoJavaError, find_java

DEBIAN = Path("/etc/debian_version")
_SASL_PLACES = ("usr/lib*/sasl2", "usr/lib/*/sasl2", "usr/local/lib*/sasl2")
_PROTON = "qpid-proton has no Linux wheel and is compiled here"


@dataclass(frozen=True)
class Need:
    what: str
    why: str
    there: Callable[[], bool]
    debian: str
    fedora: str


def _java() -> bool:
    try:
        find_java()
    except NoJavaError:
        return False
    return True


def _venv() -> bool:
    try:
        import ensurepip  # noqa: F401, PLC0415 -- Debian leaves it out of python3: that is the question
        import venv  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def _python_headers() -> bool:
    return (Path(sysconfig.get_path("include")) / "Python.h").is_file()


def _compiler() -> bool:
    return any(shutil.which(cc) for cc in (os.environ.get("CC", "cc").split()[0], "gcc"))


def _pkg_config_knows(library: str) -> Callable[[], bool]:
    def there() -> bool:
        program = shutil.which(os.environ.get("PKG_CONFIG", "pkg-config"))
        if not program:
            return False
        return subprocess.run([program, "--exists", library], check=False).returncode == 0

    return there


def _scram() -> bool:
    found = os.environ.get("SASL_PATH", "").split(":")
    folders = [Path(folder) for folder in found if folder] or [
        folder for place in _SASL_PLACES for folder in Path("/").glob(place)
    ]
    return any(True for folder in folders for _ in folder.glob("libscram*"))


def _pkg_config() -> bool:
    return shutil.which(os.environ.get("PKG_CONFIG", "pkg-config")) is not None


JAVA = Need(
    "Java 17 or newer",
    "Spark, Kafka and Artemis run on it",
    _java,
    "default-jre-headless",
    "java-21-openjdk-headless",
)
VENV = Need(
    "Python's venv and ensurepip modules",
    "the environment .venv is made with them",
    _venv,
    "python3-venv",
    "python3",
)
FOR_PROTON = (
    Need("a C compiler", _PROTON, _compiler, "gcc libc6-dev", "gcc"),
    Need("pkg-config", "qpid-proton's build finds its libraries by it", _pkg_config, "pkg-config", "pkgconf"),
    Need("Python's headers (Python.h)", _PROTON, _python_headers, "python3-dev", "python3-devel"),
    Need(
        "OpenSSL's headers",
        "without them qpid-proton is built with no TLS, and says nothing",
        _pkg_config_knows("openssl"),
        "libssl-dev",
        "openssl-devel",
    ),
    Need(
        "Cyrus SASL's headers",
        "without them qpid-proton is built with no PLAIN or SCRAM, and says nothing",
        _pkg_config_knows("libsasl2"),
        "libsasl2-dev",
        "cyrus-sasl-devel",
    ),
    Need(
        "Cyrus SASL's mechanisms",
        "PLAIN and SCRAM are modules that it loads when somebody logs in",
        _scram,
        "libsasl2-modules",
        "cyrus-sasl-plain cyrus-sasl-scram",
    ),
)


def missing(needs: list[Need]) -> list[Need]:
    return [need for need in needs if not need.there()]


def explain(absent: list[Need]) -> str:
    """Says what is missing, why it is asked for, and the line that installs it."""
    lines = [
        "this machine lacks:",
        *(f"  - {need.what}: {need.why}{_about_java() if need is JAVA else ''}" for need in absent),
        "Install, then run the same command again:",
        f"  Debian, Ubuntu:  apt-get update && apt-get install {packages(absent)}",
        f"  Fedora:          dnf install {' '.join(need.fedora for need in absent)}",
    ]
    if VENV in absent or any(need.debian == "python3-dev" for need in absent):
        lines.append(f"  (for {sys.executable}; another Python: make setup PYTHON=/path/to/python3)")
    return "\n".join(lines)


def packages(absent: list[Need]) -> str:
    return " ".join(need.debian for need in absent)


def installable(absent: list[Need]) -> list[Need]:
    """Returns what we may install and what that would help: on Debian, as root, where nobody said no."""
    may = (
        DEBIAN.exists()
        and shutil.which("apt-get") is not None
        and os.geteuid() == 0
        and os.environ.get("INFLIGHT_SETUP_APT", "1") != "0"
    )
    return [need for need in absent if may and not (need is JAVA and os.environ.get("JAVA_HOME"))]


def install(absent: list[Need]) -> None:
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-q"], env=environ, stdout=sys.stderr, check=False)
    subprocess.run(
        ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages(absent).split()],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        check=False,
    )


def _about_java() -> str:
    try:
        find_java()
    except NoJavaError as e:
        return f"; {e.finding}"
    return ""
