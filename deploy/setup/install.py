"""Installs into .venv what the lock files list, in steps that spare what pip would do for nothing.

A pip of today comes first: the one that Python 3.11 brings takes twice the time. qpid-proton has no wheel
for Linux and is compiled while PySpark is fetched. PySpark has no wheel at all: pip would pack its 450 MB
and unpack them again. Its source stays in .venv instead, as an editable package. Of 5,000 files only those
that Inflight loads are compiled to byte code.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from deploy.setup import environment
from deploy.setup.environment import DEV_LOCK, LOCK, PROJECT, PROTON, PYTHON, SPARK, TEMP, VENV
from deploy.setup.progress import SetupError, Step, say

# What the lock files list is complete, and has setuptools for the builds.
_LOCKED = ("--no-deps", "--no-build-isolation", "--require-hashes")
_AS_IT_IS = ("--no-deps", "--no-build-isolation", "--no-compile")


def make_venv() -> None:
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    # Run from .venv's own Python, the environment that is cleared must not be the one that clears it.
    python = str(base) if sys.prefix != sys.base_prefix else sys.executable
    with Step("make the environment .venv", [python, "-m", "venv", "--clear", str(VENV)], PROJECT) as step:
        step.finish("made .venv")


def install_packages() -> None:
    """Installs Inflight and what it runs with; SetupError where qpid-proton stays without TLS or SASL."""
    _install_wheels()
    if not environment.has_locked(PROTON):
        with _build_proton() as proton:
            _install_spark()
            proton.finish("compiled qpid-proton meanwhile")
    else:
        _install_spark()
    built = [str(wheel) for wheel in TEMP.glob("*.whl")]
    with _pip("install", *_AS_IT_IS, *built, "-e", str(PROJECT), doing="install Inflight itself") as step:
        step.finish()
    if environment.proton_lacks():
        _rebuild_proton()
    with _python("-m", "deploy.setup.load_all", doing="load the modules of Inflight") as step:
        step.finish("compiled the modules that Inflight loads")


def install_dev_tools() -> None:
    with _pip("install", *_LOCKED, "-r", str(DEV_LOCK), doing=f"install {DEV_LOCK.name}") as step:
        step.finish(f"installed {DEV_LOCK.name}", growing=TEMP)


def _install_wheels() -> None:
    pins = environment.pins()
    pip = pins.pop("pip", "")
    if pip and not environment.has_locked("pip"):
        with _pip("install", *_LOCKED, *_listing("pip", pip), doing="install the locked pip") as step:
            step.finish()
    wheels = [pin for name, pin in pins.items() if name not in {PROTON, SPARK}]
    with _pip(
        *("install", "--no-compile", *_LOCKED, *_listing("wheels", *wheels)),
        doing=f"install the packages of {LOCK.name}",
    ) as step:
        step.finish(f"{len(wheels)} packages are installed", growing=TEMP)


def _build_proton() -> Step:
    """Begins to make a wheel in TEMP, with this Python's flags for C but for what only takes time to compile.

    Messages are sent no faster with -O3, which some Pythons have, and nobody looks at debug symbols.
    """
    flags = os.environ.get("CFLAGS") or f"{sysconfig.get_config_var('CFLAGS') or ''} -O2 -g0"
    command = ("wheel", *_LOCKED, *_listing("proton", environment.pins()[PROTON]), "-w", str(TEMP))
    return _pip(*command, doing="build qpid-proton", CFLAGS=flags)


def _rebuild_proton() -> None:
    # pip keeps wheels it has built: one built before the headers came would be used again and again.
    say(f"qpid-proton has no {' and no '.join(environment.proton_lacks())}, building it anew")
    with _pip(
        *("install", "--no-cache-dir", "--force-reinstall", "--no-binary", PROTON, *_LOCKED),
        *_listing("proton", environment.pins()[PROTON]),
        doing="build qpid-proton anew",
    ) as step:
        step.finish("built qpid-proton")
    if lacks := environment.proton_lacks():
        raise SetupError(
            f"qpid-proton was built without {' and '.join(lacks)}, although pkg-config finds openssl and "
            "libsasl2; what the compiler says is told by `.venv/bin/pip install -v --force-reinstall "
            "--no-deps --no-cache-dir --no-binary :all: python-qpid-proton`"
        )


def _install_spark() -> None:
    if environment.has_locked(SPARK):
        return
    # Kept by us, as pip keeps no file for an index that does not say for how long.
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inflight" / "python"
    with _pip(
        *("download", "--no-cache-dir", "--no-clean", "--no-binary", SPARK, *_LOCKED),
        *_listing("spark", environment.pins()[SPARK]),
        *("-d", str(kept)),
        doing="fetch PySpark",
    ) as step:
        step.finish("fetched PySpark and unpacked it", growing=TEMP)
    name = f"{SPARK}-{environment.locked_version(SPARK)}"
    source = VENV / "src" / name
    shutil.rmtree(source.parent, ignore_errors=True)
    source.parent.mkdir()
    # pip unpacks a source to ask for its metadata, and with --no-clean leaves it there.
    unpacked = next(TEMP.glob(f"pip-*/{SPARK}*/setup.py"), None)
    if unpacked is None:
        shutil.unpack_archive(kept / f"{name}.tar.gz", TEMP)
        unpacked = TEMP / name / "setup.py"
    unpacked.parent.rename(source)
    # Strict: a tree of links, each file in the place where an installed PySpark has it.
    with _pip(
        *("install", *_AS_IT_IS, "--config-settings", "editable_mode=strict", "-e", str(source)),
        doing="install PySpark",
    ) as step:
        step.finish()


def _listing(name: str, *pins: str) -> tuple[str, str]:
    """Returns the option that gives pip these pins."""
    file = TEMP / f"{name}.txt"
    file.write_text("".join(pins))
    return "-r", str(file)


def _pip(*args: str, doing: str, **environ: str) -> Step:
    return _python("-m", "pip", "--disable-pip-version-check", *args, doing=doing, **environ)


def _python(*args: str, doing: str, **environ: str) -> Step:
    return Step(doing, [str(PYTHON), *args], PROJECT, TMPDIR=str(TEMP), **environ)
