"""`inflight ping`: how long messages take to an address and back to here, and whether any is missing."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any, Final

import click
from pydantic import ValidationError

from collectors.config import model, units
from collectors.config.model import MAX_CREDIT, MECHANISMS, Endpoint, Sasl, Tls, message_size, time_to_live
from deploy.errors import Problem
from deploy.options import DURATION, Unit, check_login
from deploy.ping import execution, files, show
from deploy.ping.echoing import EchoingPeer
from deploy.ping.results import PingResults
from deploy.signals import stop_on_signals

_RATE = Unit("rate", units.rate_profile)
_SIZE = Unit("size", message_size)
_TTL = Unit("duration", time_to_live)
_ADDRESS = Unit("address", lambda value: model.address(str(value)))
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("url")
@click.argument("address", type=_ADDRESS)
@click.option("--count", type=click.IntRange(min=1), help="Messages to send; without it, until Ctrl-C.")
@click.option("--duration", type=DURATION, help="For how long to send, like 30s.")
@click.option("--rate", type=_RATE, default="10/s", show_default=True, help="0: as fast as credit allows.")
@click.option("--arrivals", type=click.Choice(("constant", "poisson")), default="constant", show_default=True)
@click.option("--size", type=_SIZE, default="256B", show_default=True, help="Of each message's body.")
@click.option("--ttl", type=_TTL, default="60s", show_default=True)
@click.option(
    "--settle",
    type=DURATION,
    default="10s",
    show_default=True,
    help="What has not come when nothing came for so long is lost.",
)
@click.option("--presettled", is_flag=True, help="Send without acknowledgement.")
@click.option("--durable", is_flag=True)
@click.option("--priority", type=click.IntRange(0, 9), default=4, show_default=True)
@click.option(
    "--credit", type=click.IntRange(1, MAX_CREDIT), default=200, show_default=True, help="Of the receiver."
)
@click.option("--receive-url", help="Receive from another router or broker than URL.")
@click.option("--receive-address", type=_ADDRESS, help="Receive from another address, like ADDRESS::QUEUE.")
@click.option("--ping-pong", is_flag=True, help="Round trips through an echoing peer: see --echo.")
@click.option("--echo", "as_echo", is_flag=True, help="Be the echoing peer for --ping-pong, until Ctrl-C.")
@click.option(
    "--connect-timeout",
    type=DURATION,
    default="10s",
    show_default=True,
    help="How long to wait for the peer: for the first message, and for those that it still has to take.",
)
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON on stdout.")
@click.option("--hdr-log", type=_FILE, help="Write latencies as a HdrHistogram log (tags response, service).")
@click.option("--rate-log", type=_FILE, help="Write rates by the second as CSV.")
@click.option("--samples", type=_FILE, help="Write every message as Parquet.")
@click.option("--tls-ca", type=_FILE, help="CA of the peer's certificate (amqps).")
@click.option("--tls-cert", type=_FILE)
@click.option("--tls-key", type=_FILE)
@click.option("--tls-verify", type=click.Choice(("name", "chain", "none")), default="name", show_default=True)
@click.option("--mechanism", type=click.Choice(MECHANISMS), help="How to log in.")
@click.option("--user", help="To log in as at URL.")
@click.option("--password-file", type=_FILE, help="File with the user's password as its one line.")
@click.option(
    "--receive-login",
    type=(str, _FILE),
    metavar="USER FILE",
    help="The same for --receive-url: a password goes to no other peer than its own.",
)
def command(url: str, address: str, **options: Any) -> None:
    """Send messages to ADDRESS at URL, receive them there again, and tell what became of each.

    \b
    inflight ping amqp://router:5672 inflight/test
    inflight ping amqps://broker:5671 inflight.test --tls-ca ca.pem --count 1000 --rate 100/s

    Use an address of its own, which nobody else sends to or receives from. At the end it waits for as long as
    messages still come in. Exit status: 0 when all arrived, 1 when messages were lost, 2 when it could not be
    measured, or not all could be sent.
    """  # noqa: D301 -- click's mark for lines to be left as they are is a real backspace
    check_login(options["user"], options["password_file"])
    if options["receive_login"] and not options["receive_url"]:
        raise Problem("--receive-login goes with --receive-url")
    sender = _endpoint(url, (options["user"], options["password_file"]), options)
    stop = threading.Event()
    stop_on_signals(stop)
    if options["as_echo"]:
        _echo(sender, address, stop)
        return
    ping_pong = options["ping_pong"]
    request = execution.PingRequest(
        sender=sender,
        receiver=_endpoint(options["receive_url"], options["receive_login"] or _NOBODY, options)
        if options["receive_url"]
        else sender,
        address=address,
        receive_address=None if ping_pong else options["receive_address"] or address,
        rate=options["rate"],
        arrivals=options["arrivals"],
        size=(options["size"], options["size"]),
        count=options["count"],
        duration_ns=options["duration"],
        ttl_ns=options["ttl"],
        settle_ns=options["settle"],
        presettled=options["presettled"],
        durable=options["durable"],
        priority=options["priority"],
        credit=options["credit"],
        connect_seconds=options["connect_timeout"] / 1e9,
    )
    output = files.OutputFiles(options["hdr_log"], options["rate_log"], options["samples"])
    output.try_out()
    results = PingResults(execution.path_of(request), keep_samples=options["samples"] is not None)
    obstacle = execution.execute(request, results, stop, show=execution.terminal_line)
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    found = results.summary(ping_pong=ping_pong)
    if options["as_json"]:
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo("\n".join(show.table(found, ping_pong=ping_pong)))
    output.write(results)
    if obstacle:
        raise Problem(obstacle)
    sys.exit(1 if found["classes"]["lost"] else 0)


_NOBODY: Final = (None, None)


def _endpoint(url: str, login: tuple[str | None, Path | None], options: dict[str, Any]) -> Endpoint:
    cert, key, ca = options["tls_cert"], options["tls_key"], options["tls_ca"]
    user, password_file = login
    mechanism: Any = options["mechanism"] or ("PLAIN" if user else None)
    if not user and (options["user"] or options["receive_login"]):
        mechanism = None  # it is that of the other peer's login
    try:
        tls = Tls(ca=ca, cert=cert, key=key, verify=options["tls_verify"])
        sasl = Sasl(mechanism=mechanism, user=user, password_file=password_file) if mechanism else None
        return Endpoint.model_validate({"url": url, "tls": tls, "sasl": sasl})
    except ValidationError as error:
        reasons = "; ".join(item["msg"].removeprefix("Value error, ") for item in error.errors())
        raise Problem(reasons) from None


def _echo(endpoint: Endpoint, address: str, stop: threading.Event) -> None:
    peer = EchoingPeer(endpoint, address)
    peer.start()
    click.echo(f"echoing what comes to {address}; Ctrl-C ends it", err=True)
    stop.wait()
    peer.stop()
    click.echo(f"echoed {peer.echoed}, could not echo {peer.dropped}", err=True)
