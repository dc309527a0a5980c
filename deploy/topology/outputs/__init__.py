"""Everything that is written from one plan, by the names of files."""

from __future__ import annotations

from typing import Any, Final

import yaml

from deploy.topology.load import Network
from deploy.topology.outputs import ansible, artemis, compose, monitor, router, skupper
from deploy.topology.plan import Plan
from deploy.topology.show import picture

TOPOLOGY: Final = "topology.yaml"
PICTURE: Final = "topology.svg"
HOSTS: Final = "hosts"
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # in C where PyYAML has it: ten times as fast


def files(network: Network) -> dict[str, str]:
    """Returns all texts by relative file names, with the topology itself, complete without other files."""
    plan = network.plan
    apart = compose.apart(plan)
    made = {
        TOPOLOGY: _yaml(
            network.document, "inflight topology check|show|write; see deploy/topology/README.md"
        ),
        PICTURE: picture.svg(plan),
        monitor.FILE: _yaml(monitor.config(plan), "for `inflight check` and `inflight run`"),
        ansible.INVENTORY: ansible.inventory(plan),
        ansible.PLAYBOOK: _yaml(
            ansible.playbook(plan), f"ansible-playbook -i {ansible.INVENTORY} {ansible.PLAYBOOK}"
        ),
        compose.FILE: _yaml(
            compose.compose(plan, apart), "docker compose up, with images named in the environment"
        ),
    }
    for folder, placed in ((HOSTS, plan), (compose.FOLDER, apart)):
        made |= {f"{folder}/{name}": text for name, text in configurations(placed).items()}
    for site, resources in skupper.files(plan).items():
        made[f"skupper/{site}.yaml"] = _yaml(resources, skupper.NOTE, several=True)
    return made


def configurations(plan: Plan) -> dict[str, str]:
    """Returns the configuration of each router and broker, in a folder of its name."""
    made = {f"{name}/{router.file_name(plan)}": router.configuration(plan, name) for name in plan.routers}
    for name in plan.brokers:
        made[f"{name}/{artemis.FILE}"] = artemis.configuration(plan, name)
        pem = artemis.pem_files(plan, name)
        if pem is not None:
            made[f"{name}/{artemis.pem_name(name)}"] = pem
    return made


def _yaml(value: Any, comment: str, *, several: bool = False) -> str:
    """Returns a value as YAML; with `several`, each item is a document of its own."""
    text = yaml.dump_all(
        value if several else [value], Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=110
    )
    return f"# {comment}\n{text}"
