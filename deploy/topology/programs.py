"""What differs between router programs and their versions, as a table: facts of their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

ProgramName = Literal["qdrouterd", "qdrouterd-1.8", "qdrouterd-1.1", "qdrouterd-1.0", "skrouterd"]
EntityKind = Literal["listener", "connector", "address", "linkRoute", "autoLink", "sslProfile"]


@dataclass(frozen=True)
class Program:
    """A router's program; what is written for it holds for these versions."""

    name: ProgramName
    versions: str
    command: str
    waypoint: Mapping[str, str]  # attributes of an address that leads through a queue
    receive_suffix: str  # without phases, who receives from a queue uses another address than who sends to it
    link_routes: bool
    config_folder: str  # as its packages have it
    stand_in: Literal["dispatch", "skupper"]  # how the stand-in is told to speak like it
    key_password: tuple[str, str] = (
        "password",
        "file:",
    )  # attribute of an sslProfile, and what precedes the file
    login_password_files: bool = True  # of connectors
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # attributes, by kind of entity


_DISPATCH: Final = Program(
    "qdrouterd",
    versions="1.10 to 1.19",
    command="qdrouterd",
    waypoint={"waypoint": "yes"},
    receive_suffix="",
    link_routes=True,
    config_folder="/etc/qpid-dispatch",
    stand_in="dispatch",
)
_DISPATCH_1_8: Final = replace(
    _DISPATCH,
    name="qdrouterd-1.8",
    versions="1.8 and 1.9",
    key_password=("passwordFile", ""),
    login_password_files=False,
)
_DISPATCH_1_1: Final = replace(
    _DISPATCH_1_8,
    name="qdrouterd-1.1",
    versions="1.1 to 1.7",
    renamed={"autoLink": {"address": "addr", "externalAddress": "externalAddr"}},
)
_DISPATCH_1_0: Final = replace(
    _DISPATCH_1_1,
    name="qdrouterd-1.0",
    versions="1.0",
    renamed={
        "autoLink": {"address": "addr", "externalAddress": "externalAddr", "direction": "dir"},
        "linkRoute": {"direction": "dir"},
        "sslProfile": {"caCertFile": "certDb", "privateKeyFile": "keyFile"},
        "connector": {"verifyHostname": "verifyHostName"},
    },
)
_SKUPPER: Final = Program(
    "skrouterd",
    versions="2.0 to 3.5",
    command="skrouterd",
    waypoint={},
    receive_suffix=".from-queue",
    link_routes=False,
    config_folder="/etc/skupper-router",
    stand_in="skupper",
)
PROGRAMS: Final = {
    program.name: program for program in (_DISPATCH, _DISPATCH_1_8, _DISPATCH_1_1, _DISPATCH_1_0, _SKUPPER)
}
