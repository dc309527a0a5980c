"""Actions on hosts by OpenSSH's client, which asks for nothing and trusts no host that it does not know."""

from __future__ import annotations

import getpass
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from deploy.actions.here import called
from deploy.actions.program import Run
from deploy.actions.steps import Steps
from deploy.errors import Problem
from deploy.topology.action import Action
from deploy.topology.action_kinds import KINDS
from deploy.topology.form import Machine
from deploy.topology.outputs import ansible
from deploy.topology.plan import Plan

# What is run on the host; the unit is the one that the playbook restarts.
VERBS: Final[Mapping[str, tuple[str, ...]]] = {
    "kill": ("systemctl", "kill", "--signal=SIGKILL"),
    "stop": ("systemctl", "stop"),
    "start": ("systemctl", "start"),
    "restart": ("systemctl", "restart"),
    "pause": ("systemctl", "kill", "--signal=SIGSTOP"),
    "resume": ("systemctl", "kill", "--signal=SIGCONT"),
}
_OPTIONS: Final = {
    "BatchMode": "yes",
    "StrictHostKeyChecking": "yes",
    "ConnectTimeout": "10",
    "ConnectionAttempts": "1",
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "2",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "ClearAllForwardings": "yes",
    "PermitLocalCommand": "no",
    "EscapeChar": "none",
    "LogLevel": "ERROR",
}
_SECOND_NS: Final = 1_000_000_000


class Ssh:
    """Actions on the parts of a topology, on its hosts; `config` is read by ssh instead of the user's own."""

    def __init__(self, plan: Plan, config: Path | None = None) -> None:
        self._plan, self._config = plan, config

    def steps(self, action: Action) -> Steps:
        undo = KINDS[action.do].undo
        return Steps(
            self._step(action.do, action),
            self._step(undo, action) if undo else None,
            check=Run(argv=(*self._ssh(action.what), "true")),
        )

    def called(self, what: str) -> str:
        plan = self._plan
        return called(
            what, {**dict.fromkeys(plan.routers, "router"), **dict.fromkeys(plan.brokers, "broker")}
        )

    def _step(self, verb: str, action: Action) -> Run:
        what = action.what
        if verb not in VERBS:
            raise Problem(
                f"ssh has no way to {action.do} {what}; it has {', '.join(VERBS)}; a `command` can do more"
            )
        ssh = self._ssh(what)
        # What does not end on the host is ended there: here only the connection to it could be.
        within = ("timeout", "--kill-after=2", f"{action.deadline / _SECOND_NS:g}")
        sudo = ("sudo", "-n") if self._becomes_root(what) else ()
        return Run(
            argv=(*ssh, shlex.join((*within, *sudo, *VERBS[verb], "--", ansible.service(self._plan, what))))
        )

    def _ssh(self, what: str) -> tuple[str, ...]:
        """Return the command line of ssh up to the host."""
        host = self._machine(what)
        if host.ansible_connection not in {None, "ssh"}:
            raise Problem(
                f"{what} is reached by {host.ansible_connection}, not by ssh; for this machine there is"
                " `--with systemctl`"
            )
        given = {"-p": host.ansible_port, "-l": host.ansible_user, "-i": host.ansible_ssh_private_key_file}
        options = {**_OPTIONS, "IdentitiesOnly": "yes"} if host.ansible_ssh_private_key_file else _OPTIONS
        return (
            "ssh",
            "-T",
            *(("-F", str(self._config.absolute())) if self._config else ()),
            *(word for name, value in options.items() for word in ("-o", f"{name}={value}")),
            *(word for flag, value in given.items() if value is not None for word in (flag, str(value))),
            "--",
            self._plan.topology.address(what),
        )

    def _machine(self, what: str) -> Machine:
        if what not in self._plan.routers and what not in self._plan.brokers:
            parts = ", ".join((*self._plan.routers, *self._plan.brokers))
            raise Problem(f"no router or broker is called {what}; there are: {parts}")
        return self._plan.topology.hosts.get(self._plan.topology.machine(what)) or Machine()

    def _becomes_root(self, what: str) -> bool:
        """As the inventory says; else whoever is not root does, as the playbook has it."""
        host = self._machine(what)
        if host.ansible_become is not None:
            return host.ansible_become
        return (host.ansible_user or getpass.getuser()) != "root"
