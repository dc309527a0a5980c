"""An Ansible inventory, and a playbook that copies configuration to hosts and restarts what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from deploy.topology.form import is_loopback
from deploy.topology.outputs import router
from deploy.topology.plan import Plan
from deploy.topology.programs import PROGRAMS

INVENTORY: Final = "inventory.ini"
PLAYBOOK: Final = "playbook.yaml"
_ARTEMIS_HOME: Final = "/var/lib/artemis-instance"


def inventory(plan: Plan) -> str:
    """Returns an inventory in which each router and broker is a host, so that several may share a machine."""
    lines = ["[routers]"]
    lines += [_line(plan, name, _router_variables(plan, name)) for name in plan.routers]
    if plan.brokers:
        lines += ["", "[brokers]"]
        lines += [_line(plan, name, _broker_variables(plan, name)) for name in plan.brokers]
    return "\n".join([*lines, ""])


def _line(plan: Plan, name: str, variables: Mapping[str, str]) -> str:
    topology = plan.topology
    machine = topology.hosts.get(topology.machine(name))
    known = machine.model_dump(mode="json", exclude_none=True) if machine else {}
    address = topology.address(name)
    if is_loopback(address):
        known.setdefault("ansible_connection", "local")
    told = {**known, "ansible_host": address, **variables}
    return " ".join([name, *(f"{key}={_quoted(value)}" for key, value in told.items())])


def _quoted(value: object) -> str:
    text = str(value)
    return f"'{text}'" if any(c in text for c in ' \t#;"') else text


def _router_variables(plan: Plan, name: str) -> dict[str, str]:
    """Returns a router's file and service: an instance of the service where several share a host."""
    program = PROGRAMS[plan.topology.program]
    alone = Counter(r.address for r in plan.routers.values())[plan.routers[name].address] == 1
    file = f"{program.command}.conf" if alone else f"{name}.conf"
    service = program.command if alone else f"{program.command}@{name}"
    return {"config_file": f"{program.config_folder}/{file}", "service": service}


def _broker_variables(plan: Plan, name: str) -> dict[str, str]:
    alone = Counter(b.address for b in plan.brokers.values())[plan.brokers[name].address] == 1
    folder, service = (_ARTEMIS_HOME, "artemis") if alone else (f"{_ARTEMIS_HOME}/{name}", f"artemis@{name}")
    return {"etc_folder": f"{folder}/etc", "service": service}


def service(plan: Plan, name: str) -> str:
    """Returns the unit of a router or broker, as the inventory names it for the playbook."""
    variables = _router_variables if name in plan.routers else _broker_variables
    return variables(plan, name)["service"]


def playbook(plan: Plan) -> list[dict[str, Any]]:
    """Returns the playbook. It takes one router after the other: a network with second ways stays whole."""
    source = "hosts/{{ inventory_hostname }}"
    plays = [
        _play(
            "routers",
            [
                _copy(
                    "Copy the router's configuration",
                    f"{source}/{router.file_name(plan)}",
                    "{{ config_file }}",
                )
            ],
        )
    ]
    if plan.brokers:
        everything = (
            "{{ query('ansible.builtin.fileglob', playbook_dir ~ '/hosts/' ~ inventory_hostname ~ '/*') }}"
        )
        task = _copy("Copy the broker's configuration", "{{ item }}", "{{ etc_folder }}/")
        plays.append(_play("brokers", [{**task, "loop": everything}]))
    return plays


def _play(group: str, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    restart = {"name": "{{ service }}", "state": "restarted"}
    return {
        "name": f"Configure the {group}",
        "hosts": group,
        "serial": 1,
        "become": True,
        "gather_facts": False,
        "tasks": tasks,
        "handlers": [{"name": "Restart", "ansible.builtin.service": restart}],
    }


def _copy(name: str, source: str, target: str) -> dict[str, Any]:
    what = {"src": source, "dest": target, "mode": "0644"}
    return {"name": name, "ansible.builtin.copy": what, "notify": "Restart"}
