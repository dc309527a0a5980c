"""`inflight status`: a whole mesh and its queues as they are now, worst first."""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click
from prometheus_client import CollectorRegistry
from pydantic import ValidationError
from rich.console import Console

from collectors.broker.collector import BrokerStatus
from collectors.config.model import MECHANISMS, Config
from collectors.router.mesh_status import MeshStatus
from collectors.runner import CollectorRunner
from deploy import logs
from deploy.errors import Problem
from deploy.options import check_login, load_config
from deploy.status.model import Status, status
from deploy.status.screen import ROWS, screen

_INTERVAL_SECONDS: Final = 1
_FINDINGS: Final = 1

_file = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("urls", metavar="[URL]...", nargs=-1)
@click.option("-c", "--config", "config_file", type=_file, help="Take meshes and brokers from a config file.")
@click.option("--user", help="Where there is one URL: the user to log in as.")
@click.option("--password-file", type=_file, help="File with the user's password as its one line.")
@click.option(
    "--login",
    "logins",
    type=(str, str, _file),
    multiple=True,
    metavar="URL USER FILE",
    help="One more URL, with a user and password file of its own; as often as needed.",
)
@click.option(
    "--mechanism",
    type=click.Choice(MECHANISMS),
    default="PLAIN",
    show_default=True,
    help="How users log in to routers.",
)
@click.option("--ca", type=_file, help="Trust these authorities (PEM).")
@click.option("--cert", type=_file, help="Client certificate (PEM), with --key.")
@click.option("--key", type=_file, help="The certificate's private key (PEM).")
@click.option("--origin", help="Origin header for brokers; the URL's own host unless given.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3_600),
    default=10.0,
    show_default=True,
    help="Seconds to wait at the most.",
)
@click.option(
    "--rows", type=click.IntRange(min=1), default=ROWS, show_default=True, help="Links and queues to show."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def command(
    urls: tuple[str, ...],
    config_file: Path | None,
    logins: tuple[tuple[str, str, Path], ...],
    timeout: float,
    rows: int,
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Show what the routers and brokers at URLs say of themselves: what is wrong first, then all of it.

    URL is amqp(s)://HOST:PORT of any router, the rest of its mesh is found through it, or http(s)://… of a
    broker's Jolokia. Routers that the first URL has no way to are asked through the others. Rates are those
    of one second; what status itself asks and is answered is among them. A password is sent to its own URL
    only. Exit status: 1 when something is down or messages are being lost.

    \b
    inflight status amqp://router-east:5672 http://artemis-a:8161/console/jolokia
    inflight status amqp://router-east:5672 --login https://artemis:8161/console/jolokia monitor FILE
    """  # noqa: D301 -- click's mark for lines to be left as they are is a real backspace
    if bool(urls or logins) == bool(config_file):
        raise Problem("give URLs, or a config file with -c")
    config = load_config(config_file) if config_file else _config(_logins(urls, logins, options), options)
    config = _hurried(config)
    with logs.quiet("inflight.collect", logging.ERROR):  # what goes wrong is among the findings
        found = _look(config, timeout, one_mesh=config_file is not None)
        if as_json:
            click.echo(json.dumps(found.as_json(), indent=2))
        else:
            Console().print(screen(found, rows))
    if any(finding.level == "bad" for finding in found.findings):
        raise SystemExit(_FINDINGS)


_Login = tuple[str, Path] | None
_Target = tuple[type, str]  # a mesh and a broker may have one name


def _logins(
    urls: tuple[str, ...], logins: tuple[tuple[str, str, Path], ...], options: dict[str, Any]
) -> dict[str, _Login]:
    """The URLs, each with the login that is sent there."""
    user, file = options["user"], options["password_file"]
    check_login(user, file)
    if user and (len(urls) != 1 or logins):
        raise Problem(
            "--user and --password-file are for one URL; with several, give each that wants a login as "
            "--login URL USER FILE: a password goes to no other host than its own"
        )
    found: dict[str, _Login] = dict.fromkeys(urls, (user, file) if user else None)
    return found | {url: (user, file) for url, user, file in logins}


def _config(logins: dict[str, _Login], options: dict[str, Any]) -> Config:
    """All routers' URLs are taken for those of one mesh until it is seen that they are not."""
    tls = {name: options[name] for name in ("ca", "cert", "key") if options[name]} or None
    meshes: dict[str, Any] = {}
    brokers = {}
    for url, login in logins.items():
        try:
            parts = urlsplit(url)
        except ValueError:
            raise Problem(f"{url.rpartition('@')[2]!r} is no URL") from None
        name = parts.netloc.rpartition("@")[2]
        auth = dict(zip(("user", "password_file"), login, strict=True)) if login else None
        if parts.scheme in {"http", "https"}:
            origin = options["origin"] or f"{parts.scheme}://{parts.hostname}"
            brokers[name] = {"jolokia": url, "origin": origin, "auth": auth, "tls": tls}
        else:
            (mesh,) = meshes.values() or [meshes.setdefault(name, {"urls": [], "logins": {}, "tls": tls})]
            mesh["urls"].append(url)
            if auth:
                mesh["logins"][url] = {"mechanism": options["mechanism"], **auth}
    try:
        return Config.model_validate({"version": 1, "site": "status", "meshes": meshes, "brokers": brokers})
    except ValidationError as error:
        raise Problem(
            "; ".join(item["msg"].removeprefix("Value error, ") for item in error.errors())
        ) from None


def _hurried(config: Config) -> Config:
    """The same with an interval of a second: two polls are enough."""
    interval = {"interval": _INTERVAL_SECONDS * 1_000_000_000}
    return config.model_copy(
        update={
            "meshes": {name: mesh.model_copy(update=interval) for name, mesh in config.meshes.items()},
            "brokers": {name: broker.model_copy(update=interval) for name, broker in config.brokers.items()},
        }
    )


def _look(config: Config, timeout: float, *, one_mesh: bool) -> Status:
    """Poll all twice, for rates; what fails is told as it failed."""
    views: dict[_Target, list[MeshStatus | BrokerStatus]] = {}
    changed = threading.Condition()

    def seen(view: MeshStatus | BrokerStatus) -> None:
        with changed:
            views.setdefault(_target(view), []).append(view)
            changed.notify_all()

    late = f"no answer within {timeout:g}s"
    unseen: list[MeshStatus | BrokerStatus] = [MeshStatus(name, 0, 0, failure=late) for name in config.meshes]
    unseen += [
        BrokerStatus(broker.mesh, name, None, None, late, timeout, 0)
        for name, broker in config.brokers.items()
    ]

    def enough() -> bool:
        found = [views.get(_target(view)) for view in unseen]
        return all(got and (got[-1].failure or _known(got)) for got in found)

    runner = CollectorRunner(config, CollectorRegistry(), seen=seen)
    runner.start()
    deadline = time.monotonic() + timeout
    with changed:
        while not enough() and (left := deadline - time.monotonic()) > 0:
            changed.wait(left)
        newest = [views.get(_target(view), [view])[-1] for view in unseen]
    runner.close(seconds=1.0)
    return status(
        [view for view in newest if isinstance(view, MeshStatus)],
        [view for view in newest if isinstance(view, BrokerStatus)],
        one_mesh=one_mesh,
    )


def _target(view: MeshStatus | BrokerStatus) -> _Target:
    return type(view), view.mesh if isinstance(view, MeshStatus) else view.broker


def _known(views: list[MeshStatus | BrokerStatus]) -> bool:
    newest = views[-1]
    return newest.settled if isinstance(newest, MeshStatus) else len(views) > 1
