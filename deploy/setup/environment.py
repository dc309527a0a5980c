"""The state of the environment .venv: whether it is there, whole, and what the lock files ask for."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.setup.progress import SetupError

PROJECT = Path(__file__).resolve().parents[2]
VENV = PROJECT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = PROJECT / "deploy" / "setup" / "requirements.lock"
DEV_LOCK = PROJECT / "deploy" / "setup" / "requirements-dev.lock"
PROTON = "python-qpid-proton"
SPARK = "pyspark"
TEMP = VENV / "inflight-setup-temp"  # while something is installed
_HALFWAY = VENV / "inflight-setup-halfway"
_PROTON_SAYS = "import proton; print(int(proton.SSL.present()), int(proton.SASL.extended()))"


@dataclass(frozen=True)
class Level:
    """A part of the set-up: what its lock files list, and the stamp that it was installed."""

    stamp: Path
    locks: tuple[Path, ...]

    def is_current(self) -> bool:
        """Tells whether what the last complete set-up saw is what there is now."""
        try:
            same = self.stamp.read_text() == self._fingerprint()
        except OSError:
            return False
        return same and PYTHON.exists() and not _HALFWAY.exists()

    @contextmanager
    def installing(self) -> Iterator[None]:
        """Stamps when the block ends well; one that was interrupted leaves a mark that half is there."""
        self.stamp.unlink(missing_ok=True)
        _HALFWAY.touch()
        shutil.rmtree(TEMP, ignore_errors=True)
        TEMP.mkdir()
        try:
            yield
        except SetupError:
            _HALFWAY.unlink()  # pip gave up in good order; an interrupted one leaves half a package behind
            raise
        finally:
            shutil.rmtree(TEMP, ignore_errors=True)  # a compiler that is being ended may still write there
        self.stamp.write_text(self._fingerprint())
        _HALFWAY.unlink()

    def _fingerprint(self) -> str:
        """Stands for what the environment is made of: the locks, the project's metadata, the Python."""
        parts = [lock.read_bytes() for lock in self.locks]
        parts += [(PROJECT / "pyproject.toml").read_bytes(), str(PROJECT).encode()]
        parts.append((VENV / "pyvenv.cfg").read_bytes())
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


RUN = Level(VENV / "inflight-setup", (LOCK,))
DEV = Level(VENV / "inflight-setup-dev", (LOCK, DEV_LOCK))


def is_sound() -> bool:
    """Tells whether there is an environment to build on: not interrupted, its Python there and new enough."""
    if not PYTHON.exists() or _HALFWAY.exists():
        return False
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([PYTHON, "-c", check], capture_output=True, check=False).returncode == 0


def has_proton() -> bool:
    """Tells whether the locked qpid-proton is there, with TLS and SASL, so that no compiler is needed."""
    return is_sound() and has_locked(PROTON) and not proton_lacks()


def proton_lacks() -> list[str]:
    """Returns what qpid-proton was built without: TLS, SASL, both or nothing."""
    said = (_said(_PROTON_SAYS) or "0 0").split()
    return [what for what, there in zip(("TLS", "SASL"), said, strict=True) if there == "0"]


def has_locked(package: str) -> bool:
    """Tells whether .venv has a package in the version that requirements.lock pins."""
    query = f"from importlib.metadata import version; print(version('{package}'))"
    return _said(query) == locked_version(package)


def locked_version(package: str) -> str:
    """Returns the version that requirements.lock pins; SetupError when it pins none."""
    pin = pins().get(package)
    if not pin:
        raise SetupError(f"{LOCK.name} has no {package}: run `make lock`")
    return re.split(r"==|[\s;]", pin)[1]


def pins() -> dict[str, str]:
    """Returns the lines of requirements.lock for each package, with its hashes."""
    found: dict[str, str] = {}
    for block in re.finditer(r"^([\w.-]+)==.*?(?=^\w|\Z)", LOCK.read_text(), re.MULTILINE | re.DOTALL):
        found[block[1]] = found.get(block[1], "") + block[0]  # twice where Pythons need two versions
    return found


def _said(code: str) -> str | None:
    ran = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else None
