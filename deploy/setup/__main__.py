"""`python -m deploy.setup`: does what is left to do, and nothing where nothing changed."""

from __future__ import annotations

import argparse
import fcntl
import os
import subprocess
import sys

from deploy.setup import environment, needs
from deploy.setup.environment import PROJECT, PYTHON, SetupError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.setup", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say what the machine lacks")
    only_check = parser.parse_args().check
    try:
        if only_check:
            check_machine([needs.JAVA, needs.VENV, *needs.FOR_PROTON], may_install=False)
            return 0
        _environment()
    except SetupError as e:
        _say(str(e))
        return 2
    except KeyboardInterrupt:
        _say("interrupted; the next call begins where that is safe")
        return 130
    return subprocess.run([PYTHON, "-m", "deploy.jvm.artifacts"], cwd=PROJECT, check=False).returncode


def _environment() -> None:
    project = os.open(PROJECT, os.O_RDONLY)
    fcntl.flock(project, fcntl.LOCK_EX)  # two set-ups at a time would spoil each other's .venv
    try:
        if environment.is_current():
            return
        sound = environment.is_sound()
        asked = [needs.JAVA]
        asked += [] if sound else [needs.VENV]
        asked += [] if environment.has_proton() else needs.FOR_PROTON
        check_machine(asked, may_install=True)
        if not sound:
            _say(f"making the environment .venv with Python {sys.version.split()[0]} ({sys.executable})")
            environment.make()
            _say("installing what requirements.lock lists, which takes some minutes")
        else:
            _say("bringing .venv in line with requirements.lock and pyproject.toml")
        environment.install(anew=not sound)
        _say("done; the command is .venv/bin/inflight")
    finally:
        os.close(project)


def check_machine(asked: list[needs.Need], *, may_install: bool) -> None:
    absent = needs.missing(asked)
    if may_install and (ours := needs.installable(absent)):
        _say(f"missing here: {', '.join(need.what for need in ours)}")
        _say(f"this is Debian and you are root: installing {needs.packages(ours)}")
        needs.install(ours)
        absent = needs.missing(absent)
    if absent:
        raise SetupError(needs.explain(absent))


def _say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr, flush=True)  # noqa: T201 -- the set-up talks to a person


if __name__ == "__main__":
    sys.exit(main())
