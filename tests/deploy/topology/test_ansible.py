"""Ansible itself takes the inventory and the playbook, and does what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from helpers import missing

from deploy.topology import load, outputs
from deploy.topology.mistakes import Source
from deploy.topology.outputs import ansible

_OWN_FOLDERS = ("ANSIBLE_HOME", "ANSIBLE_LOCAL_TEMP", "ANSIBLE_REMOTE_TEMP")


def ansible_playbook(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("ansible-playbook")
    if not program.exists():
        missing("ansible-playbook")
    return subprocess.run(
        [program, "-i", ansible.INVENTORY, ansible.PLAYBOOK, *more],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **dict.fromkeys(_OWN_FOLDERS, str(folder / "tmp"))},
    )


def put(files: dict[str, str], folder: Path) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_ansible_takes_the_playbook(files: dict[str, str], tmp_path: Path) -> None:
    put(files, tmp_path)
    done = ansible_playbook(tmp_path, "--syntax-check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "playbook: playbook.yaml" in done.stdout
    inventory = (tmp_path / ansible.INVENTORY).read_text()
    east = "hub-east ansible_host=10.0.0.1 ansible_user=ops config_file=/etc/qpid-dispatch/hub-east.conf"
    assert f"{east} service=qdrouterd@hub-east\n" in inventory
    assert (
        "store ansible_host=10.0.0.9 etc_folder=/var/lib/artemis-instance/etc service=artemis\n" in inventory
    )


def test_the_playbook_copies_and_restarts(tmp_path: Path) -> None:
    """Run here for real: the file arrives, and a service that does not exist is asked to restart."""
    value = {"version": 1, "routers": {"A": {}}}
    put(outputs.files(load.made(value, Source("one"))), tmp_path)
    target = tmp_path / "etc" / "router.conf"
    target.parent.mkdir()
    given = {
        "config_file": target,
        "service": "inflight-test-that-is-no-service",
        "ansible_become": "false",
        "ansible_python_interpreter": sys.executable,
    }
    told = ansible_playbook(tmp_path, *(f"-e{key}={value}" for key, value in given.items()))
    assert target.read_text() == (tmp_path / "hosts/A/qdrouterd.conf").read_text(), told.stdout + told.stderr
    assert "RUNNING HANDLER [Restart]" in told.stdout
