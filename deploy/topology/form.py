"""The form of a topology file; README.md of this folder explains it to who writes one."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from pathlib import Path as File
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    model_validator,
)

from collectors.config.model import Address, Auth, FileName, HttpUrl, Name, PathConfig, Sasl, Tls
from deploy.topology.action import Action
from deploy.topology.names import NodeName
from deploy.topology.programs import EntityKind, ProgramName

LOOPBACK: Final = "127.0.0.1"
LinkKind = Literal["bridge", "amqp", "mirror"]
_HOST: Final = re.compile(r"[A-Za-z0-9._:%-]{1,253}")
_FILE: Final = re.compile(r"/[A-Za-z0-9._/@+:,=-]{1,1000}")
_USER: Final = r"^[A-Za-z0-9._@+=/-]{1,128}$"
_KEY_FILE: Final = r"^[A-Za-z0-9._/@+:,=~-]{1,1000}$"  # on the machine that runs Ansible
_MOST_PARTS: Final = 1_000  # drawing and checking take as long as these squared
_MOST_LINKS: Final = 10_000
_SYNTAX: Final = '{}#"\\'
_SECRETS: Final = ("password", "saslPassword")
_LEADS_TO_SECRET: Final = ("file:", "env:")


def host(value: str) -> str:
    if not _HOST.fullmatch(value):
        raise ValueError(f"{value!r} is not a host name or an IP address")
    return value


def config_text(value: str) -> str:
    """A text that a router's configuration file can hold: anything else would end it, or begin something."""
    if not value or value != value.strip() or not value.isprintable() or any(c in value for c in _SYNTAX):
        raise ValueError(
            f"a router's configuration cannot hold {value!a}: none of {_SYNTAX} and no line break"
        )
    return value


def pattern(value: str) -> str:
    """A pattern of addresses: the one text of a configuration file in which `#` begins no comment."""
    config_text(value.replace("#", "*"))
    if " " in value:
        raise ValueError(f"a router's configuration cannot hold {value!a}: no blanks in a pattern")
    return value


def router_address(value: str) -> str:
    return pattern(config_text(value))


def host_file(value: File) -> File:
    """A file of the hosts, whose name stands in many kinds of files."""
    if not _FILE.fullmatch(str(value)):
        raise ValueError(f"{str(value)!a}: name a file of the hosts from the root, without blanks and quotes")
    return value


def _attributes(value: dict[str, Any]) -> dict[str, Any]:
    for key, given in value.items():
        if not re.fullmatch(r"[A-Za-z]{1,64}", key):
            raise ValueError(f"{key!r} is not the name of an attribute")
        if isinstance(given, str):
            if key in _SECRETS and not given.startswith(_LEADS_TO_SECRET):
                raise ValueError(f"{key} must not stand here; write `{key}: file:/name/of/a/file`")
            (pattern if key == "pattern" else config_text)(given)
    return value


def _settings(value: dict[str, Any]) -> dict[str, Any]:
    for key, given in value.items():
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,63}", key) or key == "name":
            raise ValueError(f"{key!a} is not a setting of a broker, like max-disk-usage")
        if "password" in key:
            raise ValueError(f"{key} must not stand here; it is the instance's own")
        if isinstance(given, str):
            config_text(given)
    return value


def _several(value: object) -> object:
    return [value] if isinstance(value, str) else value


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


Host = Annotated[str, AfterValidator(host)]
RouterAddress = Annotated[Address, AfterValidator(router_address)]
Pattern = Annotated[Address, AfterValidator(pattern)]
HostFile = Annotated[FileName, AfterValidator(host_file)]
Attributes = Annotated[dict[str, str | bool | int | float], AfterValidator(_attributes)]
Settings = Annotated[dict[str, str | bool | int | float], AfterValidator(_settings)]
Port = Annotated[int, Field(ge=1, le=65_535)]
Count = Annotated[int, Field(ge=1, le=64)]
Addresses = Annotated[tuple[RouterAddress, ...], BeforeValidator(_several)]


class _Element(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, hide_input_in_errors=True)


class TlsProfile(Tls):
    """Names of files on the hosts; what is in them is never read here."""

    ca: HostFile
    cert: HostFile | None = None
    key: HostFile | None = None
    password_file: HostFile | None = None  # of the key

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if self.verify == "none":
            raise ValueError("routers always check the chain of certificates; `verify` is name or chain")
        return self


class Login(Sasl):
    """How the dialling side logs in; it reads the password on its own host."""

    user: Annotated[str, Field(pattern=_USER)] | None = None
    password_file: HostFile | None = None


class Machine(_Element):
    """A host as an Ansible inventory has it; no other variables are taken over, as they may hold secrets."""

    ansible_host: Host | None = None
    ansible_port: Port | None = None
    ansible_user: NodeName | None = None
    ansible_connection: NodeName | None = None
    ansible_become: bool | None = None
    ansible_ssh_private_key_file: Annotated[str, Field(pattern=_KEY_FILE)] | None = None
    ansible_python_interpreter: Annotated[str, Field(pattern=_KEY_FILE)] | None = None


class Router(_Element):
    """A router. Ports left out are counted; the host is that of its name in `hosts`, or this one."""

    host: Host | None = None
    mode: Literal["interior", "edge"] = "interior"
    port: Port | None = None  # for clients
    mesh_port: Port | None = None  # for interior routers
    edge_port: Port | None = None  # for edge routers
    workers: Annotated[int, Field(ge=1, le=256)] | None = None
    tls: Name | None = None  # a profile, of the listener for clients
    sasl: Name | None = None
    entities: dict[EntityKind, tuple[Attributes, ...]] = {}  # written as they are


class Broker(_Element):
    """An Artemis; `jolokia`, `origin` and `auth` are how Inflight asks it."""

    host: Host | None = None
    port: Port | None = None
    queues: Addresses = ()
    stomp: bool = False  # spoken beside AMQP, at the same port
    settings: Settings = {}  # elements of `core` in broker.xml
    address_settings: Settings = {}  # of the addresses of probes, inflight.#
    tls: Name | None = None
    sasl: Name | None = None
    jolokia: HttpUrl | None = None
    origin: HttpUrl | None = None
    auth: Auth | None = None


class Link(_Element):
    """A link between two routers, a router and a broker, or two brokers; `from` dials."""

    source: NodeName = Field(alias="from")
    to: NodeName
    cost: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    redundancy: Count = 1  # connections between two routers
    queues: Addresses = ()  # auto-linked by a router; forwarded or mirrored by a broker
    link_routes: Addresses = ()  # prefixes that a router leaves to the broker
    by: LinkKind | None = None  # between brokers
    tls: Name | None = None  # a profile, of both ends of a link between routers
    sasl: Name | None = None


class AddressRule(_Element):
    """How routers distribute what is sent to an address."""

    prefix: RouterAddress | None = None
    pattern: Pattern | None = None
    distribution: Literal["multicast", "closest", "balanced"]

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.prefix is None) == (self.pattern is None):
            raise ValueError("an address rule has either `prefix` or `pattern`")
        return self

    @property
    def matches(self) -> tuple[str, str]:
        if self.prefix is not None:
            return "prefix", self.prefix
        return "pattern", self.pattern or ""


class Talk(PathConfig):
    """A path of inflight.yaml, whose ends are routers or brokers of the topology."""

    _written: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _keep(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        made = handler(value)
        made.written.update(value)
        return made

    @property
    def written(self) -> dict[str, Any]:
        """Returns the path as a file has it, with units."""
        return self._written


MULTICAST: Final = AddressRule(prefix="multicast", distribution="multicast")


class Topology(_Element):
    """The whole file."""

    version: Literal[1]
    name: NodeName = "mesh"
    program: ProgramName = "qdrouterd"
    inventory: FileName | None = None
    hosts: dict[NodeName, Machine] = {}
    tls: dict[Name, TlsProfile] = {}
    sasl: dict[Name, Login] = {}
    routers: Annotated[dict[NodeName, Router], Field(min_length=1, max_length=_MOST_PARTS)]
    brokers: Annotated[dict[NodeName, Broker], Field(max_length=_MOST_PARTS)] = {}
    links: Annotated[tuple[Link, ...], Field(max_length=_MOST_LINKS)] = ()
    addresses: tuple[AddressRule, ...] = (MULTICAST,)
    paths: dict[Name, Talk] = {}
    stories: dict[Name, Annotated[tuple[Action, ...], Field(min_length=1, max_length=200)]] = {}

    def placed(self, address: Callable[[str], str]) -> Topology:
        """Returns the same network with other addresses of its parts, and ports to be counted anew."""
        nowhere: dict[str, Any] = {"host": None, "port": None}
        unnumbered = {**nowhere, "mesh_port": None, "edge_port": None}
        return self.model_copy(
            update={
                "hosts": {
                    name: Machine(ansible_host=address(name)) for name in (*self.routers, *self.brokers)
                },
                "routers": {name: part.model_copy(update=unnumbered) for name, part in self.routers.items()},
                "brokers": {name: part.model_copy(update=nowhere) for name, part in self.brokers.items()},
            }
        )

    def machine(self, node: str) -> str:
        """Returns the host of a router or broker: as given, that of its name in `hosts`, or this one."""
        given = self.routers[node].host if node in self.routers else self.brokers[node].host
        return given or (node if node in self.hosts else LOOPBACK)

    def address(self, name: str) -> str:
        """Returns the address of a host, or of the one that a router or broker runs on."""
        if name in self.routers or name in self.brokers:
            name = self.machine(name)
        found = self.hosts.get(name)
        address = (found.ansible_host if found else None) or name
        return LOOPBACK if address == "localhost" else address


ENTITY_KINDS: Final[tuple[EntityKind, ...]] = get_args(EntityKind)
