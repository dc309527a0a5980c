"""`python -m deploy.setup`: does what is left to do, and nothing where nothing changed."""

from __future__ import annotations

import argparse
import fcntl
import os
import subprocess
import sys
import time

from deploy.setup import environment, install, needs
from deploy.setup.environment import PROJECT, PYTHON
from deploy.setup.progress import SetupError, say


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.setup", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say what the machine lacks")
    parser.add_argument("--dev", action="store_true", help="install the tools for tests and lint, too")
    asked = parser.parse_args()
    began = time.monotonic()
    try:
        if asked.check:
            check_machine([needs.JAVA, needs.VENV, *needs.FOR_PROTON], may_install=False)
            return 0
        changed = _environment(dev=asked.dev)
        status = subprocess.run([PYTHON, "-m", "deploy.jvm.artifacts"], cwd=PROJECT, check=False).returncode
    except SetupError as e:
        say(str(e))
        return 2
    except KeyboardInterrupt:
        say("interrupted; the next call begins where that is safe")
        return 130
    if changed and status == 0:
        say(f"done in {time.monotonic() - began:.0f} s; the command is .venv/bin/inflight")
    return status


def _environment(*, dev: bool) -> bool:
    """Brings .venv in line with the lock files; returns whether there was anything to do."""
    project = os.open(PROJECT, os.O_RDONLY)
    fcntl.flock(project, fcntl.LOCK_EX)  # two set-ups at a time would spoil each other's .venv
    try:
        ready = environment.RUN.is_current()
        if not ready:
            _install()
        if dev and not environment.DEV.is_current():
            ready = False
            say("installing the tools for tests and lint")
            with environment.DEV.installing():
                install.install_dev_tools()
        return not ready
    finally:
        os.close(project)


def _install() -> None:
    sound = environment.is_sound()
    asked = [needs.JAVA]
    asked += [] if sound else [needs.VENV]
    asked += [] if environment.has_proton() else needs.FOR_PROTON
    check_machine(asked, may_install=True)
    if sound:
        say("bringing .venv in line with requirements.lock and pyproject.toml")
    else:
        say(f"making the environment .venv with Python {sys.version.split()[0]} ({sys.executable})")
        install.make_venv()
    with environment.RUN.installing():
        install.install_packages()


def check_machine(asked: list[needs.Need], *, may_install: bool) -> None:
    absent = needs.missing(asked)
    if may_install and (ours := needs.installable(absent)):
        say(f"missing here: {', '.join(need.what for need in ours)}")
        say(f"this is Debian and you are root: installing {needs.packages(ours)}")
        needs.install(ours)
        absent = needs.missing(absent)
    if absent:
        raise SetupError(needs.explain(absent))


if __name__ == "__main__":
    sys.exit(main())
