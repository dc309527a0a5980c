"""`inflight trace`: which way messages take through a mesh of routers, and how fast each of them answers."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

import click
from pydantic import ValidationError
from rich.console import Console
from rich.live import Live

from collectors.amqp.options import AmqpOptions, AmqpOptionsError, read_options
from collectors.config import model
from collectors.config.model import MECHANISMS, Endpoint, Sasl, Tls
from collectors.config.secrets import SecretError
from collectors.polling.errors import PollError
from collectors.router.client import ManagementClient
from deploy.errors import Problem
from deploy.options import DURATION, Unit, check_login
from deploy.signals import stop_on_signals
from deploy.trace import result
from deploy.trace.ask import MAX_RATE
from deploy.trace.run import run
from deploy.trace.screen import screen
from deploy.trace.tracer import Plan, Trace

_FINDINGS: Final = 1
_SECOND_NS: Final = 1_000_000_000
_BROKERS: Final = (
    "activemq",
    "artemis",
    "rabbitmq",
    "servicebus",
)  # in the names that products give themselves

_ADDRESS = Unit("address", lambda value: model.address(str(value)))
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("url")
@click.argument("address", type=_ADDRESS, required=False)
@click.option(
    "--count", type=click.IntRange(1, 10_000), default=10, show_default=True, help="Requests to each router."
)
@click.option(
    "--interval", type=DURATION, default="1s", show_default=True, help="Between two requests to a router."
)
@click.option(
    "--rate",
    type=click.FloatRange(0.1, MAX_RATE),
    default=float(MAX_RATE),
    show_default=True,
    help="Requests a second at the most, to all routers together.",
)
@click.option(
    "--timeout",
    type=DURATION,
    default="5s",
    show_default=True,
    help="How long to wait for the connection, and for an answer.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table; times in ns.")
@click.option("--user", help="The user to log in as.")
@click.option("--password-file", type=_FILE, help="File with the user's password as its one line.")
@click.option(
    "--mechanism",
    type=click.Choice(MECHANISMS),
    default="PLAIN",
    show_default=True,
    help="How the user logs in.",
)
@click.option("--ca", type=_FILE, help="Trust these authorities (PEM).")
@click.option("--cert", type=_FILE, help="Client certificate (PEM), with --key.")
@click.option("--key", type=_FILE, help="The certificate's private key (PEM).")
def command(url: str, address: str | None, *, as_json: bool, **options: Any) -> None:
    """Show which way messages to ADDRESS take from the router at URL, and how fast each router answers.

    Without ADDRESS: all routers of the mesh, by the way to them. It asks each router's management, through
    the one at URL, for one row at a time, and needs no other right. Several receivers, and other ways of
    the same cost, are shown as branches. Of fewer than 100 answers p99 is the slowest one.

    \b
    inflight trace amqp://router-east:5672
    inflight trace amqp://router-east:5672 orders --count 60

    In a terminal the table is kept up to date; Ctrl-C ends it. Exit status: 0; 1 when a router on the way
    does not answer, or nobody receives from ADDRESS; 2 when the router at URL cannot be asked.
    """  # noqa: D301 -- click's mark for lines to be left as they are is a real backspace
    plan = Plan(address, options["count"], options["interval"], options["timeout"], options["rate"])
    where = _where(url, options)
    console = Console()
    try:
        client = ManagementClient(where, plan.timeout_ns / _SECOND_NS)
    except PollError as error:
        more = "; is it a router?" if error.failure == "lost" else ""
        raise Problem(f"{error}{more}") from None
    try:
        product = client.product or ""
        if any(name in product.lower().replace("-", "") for name in _BROKERS):
            raise Problem(f"{where.url} is no router: it calls itself {product!r}; give the URL of a router")
        trace = Trace(plan, client.guess)
        ended = _run(client, trace, where.url, console, live=console.is_terminal and not as_json)
    finally:
        client.close()
    if trace.local is None:
        raise Problem(_not_asked(trace, where.url, product, ended))
    now_ns = time.monotonic_ns()
    found = result.as_json(trace, where.url, now_ns, ended=ended)
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        console.print(screen(trace, where.url, now_ns, ended=ended))
    if found["findings"]:
        sys.exit(_FINDINGS)


def _run(client: ManagementClient, trace: Trace, url: str, console: Console, *, live: bool) -> str | None:
    stop = threading.Event()
    stop_on_signals(stop)
    if not live:
        return run(client, trace, stop, lambda _now_ns: None)
    with Live(console=console, auto_refresh=False, transient=True) as display:
        return run(
            client, trace, stop, lambda now_ns: display.update(screen(trace, url, now_ns), refresh=True)
        )


def _not_asked(trace: Trace, url: str, product: str, ended: str | None) -> str:
    """Return why the router at the other end could not be asked who it is."""
    if ended:
        return ended
    if trace.failure is None:
        return f"{url}: stopped before it said who it is"
    if trace.failure.reason == "denied":
        return f"{url} does not allow management: the user {trace.failure}; {result.RIGHTS}"
    name = f" (it calls itself {product!r})" if product else ""
    return f"{url}: {trace.failure}; is it a router{name}?"


def _where(url: str, options: dict[str, Any]) -> AmqpOptions:
    user, password_file = options["user"], options["password_file"]
    check_login(user, password_file)
    try:
        tls = Tls(ca=options["ca"], cert=options["cert"], key=options["key"])
        sasl = Sasl(mechanism=options["mechanism"], user=user, password_file=password_file) if user else None
        endpoint = Endpoint.model_validate({"url": url, "tls": tls, "sasl": sasl})
        return read_options(endpoint.url[0], endpoint.tls, endpoint.sasl)
    except ValidationError as error:
        reasons = "; ".join(item["msg"].removeprefix("Value error, ") for item in error.errors())
        raise Problem(reasons) from None
    except (AmqpOptionsError, SecretError) as error:
        raise Problem(str(error)) from None
