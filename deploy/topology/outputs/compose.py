"""compose.yaml: every router and broker a container of its own, which others reach by its name."""

from __future__ import annotations

from typing import Any, Final

from deploy.topology import plan as planning
from deploy.topology.form import LOOPBACK
from deploy.topology.outputs import artemis, router
from deploy.topology.plan import Plan
from deploy.topology.programs import PROGRAMS

FILE: Final = "compose.yaml"
FOLDER: Final = "compose"  # of the configuration files
# No image is named for you: where images come from, and which, is your decision.
_IMAGES: Final = {"qdrouterd": "QDROUTERD_IMAGE", "skrouterd": "SKROUTERD_IMAGE", "artemis": "ARTEMIS_IMAGE"}
_ROUTER_FILE: Final = "/etc/inflight-router.conf"
_BROKER_FOLDER: Final = (
    "/var/lib/artemis-instance/etc-override"  # where Apache's image looks for files of etc
)
_BROKER_FILE: Final = f"{_BROKER_FOLDER}/{artemis.FILE}"


def apart(plan: Plan) -> Plan:
    """Returns the same network, each part on a host that has its name."""
    return planning.make(plan.topology.placed(lambda name: name))


def compose(plan: Plan, inside: Plan) -> dict[str, Any]:
    """Returns the whole file, of a network and the same `apart`; clients come by ports of loopback."""
    services = {name: _router(plan, inside, name, number) for number, name in enumerate(plan.routers)}
    services |= {name: _broker(plan, inside, name, number) for number, name in enumerate(plan.brokers)}
    return {"name": _project(plan.topology.name), "services": services}


def _project(name: str) -> str:
    return "".join(c if c.isalnum() or c in "_-" else "-" for c in name.lower())


def _router(plan: Plan, inside: Plan, name: str, number: int) -> dict[str, Any]:
    program = PROGRAMS[plan.topology.program]
    there = inside.routers[name]
    made = _service(program.command, name, router.file_name(plan), _ROUTER_FILE)
    made["command"] = [program.command, "-c", _ROUTER_FILE]
    made["ports"] = [_published("normal", number, there.listener("normal").port)]
    profiles = {listener.tls for listener in there.listeners} | {c.tls for c in there.connectors}
    made["volumes"] += _secrets(plan, profiles, {c.sasl for c in there.connectors})
    dialled = dict.fromkeys(c.to for c in there.connectors if c.to in inside.brokers)
    return made | ({"depends_on": list(dialled)} if dialled else {})


def _broker(plan: Plan, inside: Plan, name: str, number: int) -> dict[str, Any]:
    made = _service("artemis", name, artemis.FILE, _BROKER_FILE)
    made["ports"] = [_published("broker", number, inside.brokers[name].port)]
    if artemis.pem_files(plan, name) is not None:
        pem = artemis.pem_name(name)
        made["volumes"].append(_mounted(f"./{FOLDER}/{name}/{pem}", f"{_BROKER_FOLDER}/{pem}"))
    profiles = {
        plan.brokers[end].broker.tls for end in (name, *(link.to for link in plan.brokers[name].links))
    }
    made["volumes"] += _secrets(plan, profiles, set())
    database = plan.brokers[name].broker.database
    if database is not None and database.password_file is not None:
        file = str(database.password_file)
        made["environment"] = {"PGPASSFILE": file}
        made["volumes"].append(_mounted(file, file))
    return made


def _service(image: str, name: str, file: str, target: str) -> dict[str, Any]:
    return {
        "image": f"${{{_IMAGES[image]}:?name an image of {image}}}",
        "hostname": name,
        "restart": "unless-stopped",
        "volumes": [_mounted(f"./{FOLDER}/{name}/{file}", target)],
    }


def _secrets(plan: Plan, tls: set[str | None], sasl: set[str | None]) -> list[dict[str, Any]]:
    """Returns mounts of the files that the configuration names, where it names them."""
    topology = plan.topology
    profiles = [profile for name, profile in topology.tls.items() if name in tls]
    files = [file for p in profiles for file in (p.ca, p.cert, p.key, p.password_file)]
    files += [login.password_file for name, login in topology.sasl.items() if name in sasl]
    return [_mounted(str(file), str(file)) for file in dict.fromkeys(files) if file is not None]


def _mounted(source: str, target: str) -> dict[str, Any]:
    return {"type": "bind", "source": source, "target": target, "read_only": True}


def _published(role: str, number: int, inside: int) -> str:
    return f"{LOOPBACK}:{planning.FIRST_PORTS[role] + number}:{inside}"
