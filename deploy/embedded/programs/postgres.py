"""PostgreSQL of the PATH or of Debian's packages: fresh, for one user with a random password."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
from functools import cached_property
from pathlib import Path
from typing import Final

from deploy.embedded.supervise import password_files
from deploy.embedded.supervise.ports import LOOPBACK, free_port
from deploy.embedded.supervise.process import ProcessSpec
from deploy.embedded.supervise.service import Argv, Service
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem

NAME: Final = "inflight"  # of the database and its user
PASSWORD_ENV: Final = "PGPASSFILE"  # names the file with the password, for psql and for the JDBC driver  # noqa: S105 -- a variable's name
# PostgreSQL refuses to run as root: its own user where the packages have made one, else who owns nothing.
_USERS: Final = ("postgres", "nobody")
_PACKAGED: Final = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")  # not on the PATH
_INITDB_SECONDS: Final = 120.0
_START_SECONDS: Final = 60.0
_QUERY_SECONDS: Final = 30.0
_OPTIONS: Final = {
    "unix_socket_directories": "",
    "dynamic_shared_memory_type": "mmap",  # in its folder, so that kill -9 leaves nothing elsewhere
}


def programs() -> Path:
    """Return the folder with postgres, initdb and psql; raises Problem, with what to install, without one."""
    on_path = shutil.which("postgres")
    packaged = (folder for pattern in _PACKAGED for folder in Path("/").glob(pattern.lstrip("/")))
    folders = [
        *([Path(on_path).parent, Path(on_path).resolve().parent] if on_path else []),
        *sorted(packaged, key=_version, reverse=True),
    ]
    for folder in folders:
        if all(os.access(folder / program, os.X_OK) for program in ("postgres", "initdb", "psql")):
            return folder
    if on_path:
        raise Problem(f"{on_path} has no initdb and psql beside it: install all of PostgreSQL's server")
    raise Problem(
        f"a broker is to keep its messages in PostgreSQL, and there is no `postgres` on the PATH or in"
        f" {_PACKAGED[0]}: install Debian's package postgresql"
    )


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", str(folder))))


def _other_user() -> str | None:
    """Return the user to run as, None where it is the one that is; raises Problem where there is none."""
    if os.geteuid() != 0:
        return None
    for name in _USERS:
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise Problem(f"PostgreSQL does not run as root, and there is no user {' or '.join(_USERS)} to be")


class Postgres(Service):
    """A database at `host` and `port` for the user NAME; its password is in `pass_file`, as libpq has it."""

    def __init__(
        self,
        supervisor: Supervisor,
        *,
        name: str = "postgres",
        folder: str | None = None,
        host: str = LOOPBACK,
        port: int | None = None,
    ) -> None:
        super().__init__(supervisor)
        self.name = name
        self.host = host
        self.port = port or free_port()
        self._programs = programs()
        self._user = _other_user()
        if self._user is None:
            self._directory = supervisor.directory(folder or name, fresh=True)
        else:
            self._directory = supervisor.directory_elsewhere(self._user)
        self._data = self._directory / "data"
        self._password_file = self._directory / "password"
        self.pass_file = supervisor.directory(folder or name) / "pgpass"
        secret = password_files.password(self._password_file)
        if self._user is not None:
            shutil.chown(self._password_file, self._user)
        password_files.write_private(self.pass_file, f"{host}:{self.port}:{NAME}:{NAME}:{secret}\n")

    @property
    def url(self) -> str:
        return f"postgresql://{self.host}:{self.port}/{NAME}"

    @cached_property
    def version(self) -> str:
        """Return what `postgres --version` calls itself."""
        told = self._supervisor.run(
            "asking PostgreSQL its version", [self._programs / "postgres", "--version"], within_seconds=10
        )
        return " ".join(("PostgreSQL", *told.split()[2:3]))

    def query(self, sql: str) -> list[list[str]]:
        """Return the rows of a statement, by psql; raises Problem where it fails, or takes long."""
        argv = [
            "psql",
            "-X",
            "-w",
            "-q",
            "-At",
            "-F",
            "\t",
            "-h",
            self.host,
            "-p",
            str(self.port),
            "-U",
            NAME,
        ]
        told = self._supervisor.run(
            f"a query to {self.name}",
            [self._programs / argv[0], *argv[1:], "-d", NAME, "-c", sql],
            within_seconds=_QUERY_SECONDS,
            env={PASSWORD_ENV: str(self.pass_file), "PGCONNECT_TIMEOUT": "5"},
        )
        return [line.split("\t") for line in told.splitlines()]

    def _spec(self) -> ProcessSpec:
        if not self._data.exists():
            self._initialize()
        settings = {"listen_addresses": self.host, "port": str(self.port), **_OPTIONS}
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        return ProcessSpec(
            name=self.name,
            argv=self._as_user([self._programs / "postgres", "-D", self._data, *options]),
            ready=self._ready,
            timeout_seconds=_START_SECONDS,
            cwd=self._directory,
            stop_signal=signal.SIGINT,  # at SIGTERM it would wait until all its clients are gone
        )

    def _initialize(self) -> None:
        """Make the data folder, whole or not at all, with the one user, and the database of that name."""
        part = self._data.with_suffix(".part")
        initdb: Argv = [
            *(self._programs / "initdb", "-D", part, "-U", NAME, "-A", "scram-sha-256"),
            *(f"--pwfile={self._password_file}", "-E", "UTF8", "--locale=C", "--no-instructions"),
        ]
        single: Argv = [self._programs / "postgres", "--single", "-D", part, "postgres"]
        steps: list[tuple[str, Argv, str]] = [
            ("making a PostgreSQL", initdb, ""),
            ("making its database", single, f"CREATE DATABASE {NAME};\n"),
        ]
        for what, argv, text in steps:
            self._supervisor.run(
                what, self._as_user(argv), within_seconds=_INITDB_SECONDS, cwd=self._directory, text=text
            )
        part.rename(self._data)

    def _as_user(self, argv: Argv) -> Argv:
        if self._user is None:
            return argv
        return ["setpriv", f"--reuid={self._user}", "--regid", _group(self._user), "--clear-groups", *argv]

    def _ready(self) -> bool:
        """Whether it answers a query: after a crash it listens before it has recovered."""
        return self.query("SELECT 1") == [["1"]]


def _group(user: str) -> str:
    return str(pwd.getpwnam(user).pw_gid)
