"""The environment .venv: made from requirements.lock, remade where broken, left alone where right."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
VENV = PROJECT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = PROJECT / "requirements.lock"
_STAMP = VENV / "inflight-setup"
_HALFWAY = VENV / "inflight-setup-halfway"
_PROTON_SAYS = "import proton; print(int(proton.SSL.present()), int(proton.SASL.extended()))"


class SetupError(Exception):
    """The set-up cannot go on; the text says why and what to do."""


def is_current() -> bool:
    """Tells whether what the last complete set-up saw is what there is now."""
    try:
        return _STAMP.read_text() == _fingerprint() and PYTHON.exists()
    except OSError:
        return False


def is_sound() -> bool:
    """Tells whether there is an environment to build on: not interrupted, its Python there and new enough."""
    if not PYTHON.exists() or _HALFWAY.exists():
        return False
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([PYTHON, "-c", check], capture_output=True, check=False).returncode == 0


def has_proton() -> bool:
    """Tells whether the locked qpid-proton is there, with TLS and SASL, so that no compiler is needed."""
    locked = re.search(r"^python-qpid-proton==(\S+)", LOCK.read_text(), re.MULTILINE)
    query = "from importlib.metadata import version; print(version('python-qpid-proton'))"
    return bool(locked and is_sound() and _said(query) == locked[1] and not proton_lacks())


def proton_lacks() -> list[str]:
    """Returns what qpid-proton was built without: TLS, SASL, both or nothing."""
    said = (_said(_PROTON_SAYS) or "0 0").split()
    return [what for what, there in zip(("TLS", "SASL"), said, strict=True) if there == "0"]


def make() -> None:
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    # Run from .venv's own Python, the environment that is cleared must not be the one that clears it.
    python = str(base) if sys.prefix != sys.base_prefix else sys.executable
    _run([python, "-m", "venv", "--clear", str(VENV)], "make the environment .venv")


def install(*, anew: bool) -> None:
    """Installs the locked set and the project itself, then looks at qpid-proton."""
    _STAMP.unlink(missing_ok=True)
    _HALFWAY.touch()
    try:
        _pip_installs(anew=anew)
    except SetupError:
        _HALFWAY.unlink()  # pip gave up in good order; only an interrupted one leaves half a package behind
        raise
    _STAMP.write_text(_fingerprint())
    _HALFWAY.unlink()


def _pip_installs(*, anew: bool) -> None:
    _pip(
        *("install", "--require-hashes", "-r", str(LOCK)),
        *(() if anew else ("-q",)),  # it would tell of each package that it is there already
        doing="install the packages of requirements.lock",
    )
    _pip(
        *("install", "-q", "--no-deps", "--no-build-isolation", "-e", str(PROJECT)),
        doing="install Inflight itself into .venv",
        quiet=True,  # setuptools has long warnings about packages named as folders are
    )
    if proton_lacks():
        _rebuild_proton()


def _rebuild_proton() -> None:
    # pip keeps wheels it has built: one built before the headers came would be used again and again.
    print(f"setup: qpid-proton has no {' and no '.join(proton_lacks())}, building it anew", file=sys.stderr)  # noqa: T201 -- the set-up talks to a person
    block = re.search(r"^python-qpid-proton==.*?(?=^\S)", LOCK.read_text(), re.MULTILINE | re.DOTALL)
    if not block:
        raise SetupError(f"{LOCK.name} has no python-qpid-proton: run `make lock`")
    only = VENV / "inflight-setup-proton.txt"
    only.write_text(block[0])
    _pip(
        *("install", "--force-reinstall", "--no-deps", "--no-cache-dir"),
        *("--no-binary", "python-qpid-proton", "--require-hashes", "-r", str(only)),
        doing="build qpid-proton anew",
    )
    if lacks := proton_lacks():
        raise SetupError(
            f"qpid-proton was built without {' and '.join(lacks)}, although pkg-config finds openssl and "
            "libsasl2; what the compiler says is told by `.venv/bin/pip install -v --force-reinstall "
            "--no-deps --no-cache-dir --no-binary :all: python-qpid-proton`"
        )


def _pip(*args: str, doing: str, quiet: bool = False) -> None:
    _run([str(PYTHON), "-m", "pip", "--disable-pip-version-check", *args], doing, quiet=quiet)


def _run(command: list[str], doing: str, *, quiet: bool = False) -> None:
    # What programs say goes to standard error, as everything of the set-up does.
    with tempfile.TemporaryFile() as held_back:
        out, err = (held_back, subprocess.STDOUT) if quiet else (sys.stderr, None)
        ran = subprocess.run(
            command, cwd=PROJECT, stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False
        )
        if ran.returncode and quiet:
            held_back.seek(0)
            sys.stderr.write(held_back.read().decode(errors="replace"))
    if ran.returncode:
        raise SetupError(
            f"could not {doing} (exit {ran.returncode}, see above): is the network there? "
            "Run the same command again, what has come is kept"
        )


def _said(code: str) -> str | None:
    ran = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else None


def _fingerprint() -> str:
    """Stands for what the environment is made of: the locked set, the project's metadata, the Python."""
    parts = [LOCK.read_bytes(), (PROJECT / "pyproject.toml").read_bytes(), str(PROJECT).encode()]
    parts.append((VENV / "pyvenv.cfg").read_bytes())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
