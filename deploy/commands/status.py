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

from collectors.broker.collector import BrokerSeen
from collectors.config import MECHANISMS, Config
from collectors.fleet import Fleet
from collectors.router.mesh import MeshView
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
@click.option("--user", help="User for all URLs.")
@click.option("--password-file", type=_file, help="File whose first line is the user's password.")
@click.option(
    "--mechanism",
    type=click.Choice(MECHANISMS),
    default="PLAIN",
    show_default=True,
    help="How to log in to routers.",
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
    urls: tuple[str, ...], config_file: Path | None, timeout: float, rows: int, *, as_json: bool, **login: Any
) -> None:
    """Show what the routers and brokers at URLs say of themselves: what is wrong first, then all of it.

    URL is amqp(s)://HOST:PORT of any router, the rest of its mesh is found through it, or http(s)://… of a
    broker's Jolokia. Rates are those of one second; what status itself asks and is answered is among them.
    Exit status: 1 when something is down or messages are being lost.

    Example: inflight status amqp://router-east:5672 http://artemis-a:8161/console/jolokia
    """
    if bool(urls) == bool(config_file):
        raise Problem("give URLs, or a config file with -c")
    check_login(login["user"], login["password_file"])
    logging.getLogger("inflight.collect").setLevel(logging.ERROR)  # what goes wrong is among the findings
    config = load_config(config_file) if config_file else _config(urls, login)
    config = _hurried(config)
    found = _look(config, timeout)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
    else:
        Console().print(screen(found, rows))
    if any(finding.level == "bad" for finding in found.findings):
        raise SystemExit(_FINDINGS)


def _config(urls: tuple[str, ...], login: dict[str, Any]) -> Config:
    tls = {name: login[name] for name in ("ca", "cert", "key") if login[name]} or None
    sasl = auth = None
    if login["user"]:
        auth = {"user": login["user"], "password_file": login["password_file"]}
        sasl = {"mechanism": login["mechanism"], **auth}
    meshes, brokers = {}, {}
    for url in urls:
        try:
            parts = urlsplit(url)
        except ValueError:
            raise Problem(f"{url.rpartition('@')[2]!r} is no URL") from None
        name = parts.netloc.rpartition("@")[2]
        if parts.scheme in {"http", "https"}:
            origin = login["origin"] or f"{parts.scheme}://{parts.hostname}"
            brokers[name] = {"jolokia": url, "origin": origin, "auth": auth, "tls": tls}
        else:
            meshes[name] = {"urls": url, "tls": tls, "sasl": sasl}
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


def _look(config: Config, timeout: float) -> Status:
    """Poll all twice, for rates; what fails is told as it failed."""
    views: dict[str, list[MeshView | BrokerSeen]] = {}
    changed = threading.Condition()

    def seen(view: MeshView | BrokerSeen) -> None:
        with changed:
            name = view.mesh if isinstance(view, MeshView) else view.broker
            views.setdefault(name, []).append(view)
            changed.notify_all()

    def enough() -> bool:
        names = [*config.meshes, *config.brokers]
        return all(len(got := views.get(name, [])) > 1 or (got and got[-1].failure) for name in names)

    fleet = Fleet(config, CollectorRegistry(), seen=seen)
    fleet.start()
    deadline = time.monotonic() + timeout
    with changed:
        while not enough() and (left := deadline - time.monotonic()) > 0:
            changed.wait(left)
        newest = {name: got[-1] for name, got in views.items()}
    fleet.close(seconds=1.0)
    for name in config.meshes:
        newest.setdefault(name, MeshView(name, 0, 0, failure=f"no answer within {timeout:g}s"))
    for name, broker in config.brokers.items():
        late = BrokerSeen(broker.mesh, name, None, None, f"no answer within {timeout:g}s", timeout, 0)
        newest.setdefault(name, late)
    return status(
        [view for view in newest.values() if isinstance(view, MeshView)],
        [view for view in newest.values() if isinstance(view, BrokerSeen)],
    )
