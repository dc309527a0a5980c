"""`inflight run`: probes, collectors, accounting and exporter in one process; no Kafka, no JVM."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click
from prometheus_client import CollectorRegistry

from collectors.config.secrets import SecretError
from collectors.contract.window_rows import CLASSES
from collectors.http.monitoring import ListenError
from collectors.kafka.in_process import DirectSink
from collectors.probe.prober import Prober, Settings
from collectors.process.worker import joined
from collectors.runner import Fleet
from deploy.errors import Problem
from deploy.options import LISTEN, config_option, load_config, site_option
from deploy.parts.in_process import InProcess
from deploy.parts.probing import ProbeMetrics, choose, until_stopped
from deploy.parts.results import add_build_info, serve_results
from deploy.ping.figures import milliseconds
from deploy.signals import stop_on_signals
from streaming.exporter import Exporter
from streaming.exporter.path import Path as PathShown

_log: Final = logging.getLogger("inflight.run")
_LINE_SECONDS: Final = 1.0


@click.command()
@config_option
@site_option
@click.option("--path", "names", multiple=True, help="Only this path; may be given several times.")
@click.option("--listen", type=LISTEN, help="Address to listen on; goes before the config's `export.listen`.")
@click.option("--seconds", type=click.IntRange(min=1), help="End by itself after so long.")
def command(
    config_file: Path, site: str | None, names: tuple[str, ...], listen: str | None, seconds: int | None
) -> None:
    """Measure the config's paths, poll its routers and brokers, and serve it all at /metrics and /.

    The numbers are those of the Spark job: the same accounting, on the same records. What is measured is
    kept in memory only; a site that wants more keeps its records in Kafka (`inflight probe`).
    """
    config = load_config(config_file, site)
    sending, receiving = choose(config, names, send=True, receive=True)
    registry = CollectorRegistry()
    add_build_info(registry, "run", config)
    exporter = Exporter(config, registry)
    books = InProcess(config, exporter)
    sink = DirectSink(books.take)
    settings = Settings(site=config.site, max_rate=config.defaults.max_rate)
    try:
        prober = Prober(sending, receiving, config.endpoints, sink, settings)
        registry.register(ProbeMetrics(prober, config.site))
        fleet = Fleet(config, registry, books.telemetry)
        server = serve_results(
            exporter,
            registry,
            listen or config.export.listen,
            not_ready=lambda: joined(prober.not_ready(), sink.not_ready(), books.not_ready(), fleet.problem),
        )
    except (SecretError, ListenError, OSError) as error:
        raise Problem(str(error)) from None
    stop = threading.Event()
    stop_on_signals(stop)
    books.start()
    fleet.start()
    prober.start()
    _log.info(
        "%d senders, %d receivers; %s/metrics, %s/ for people",
        len(prober.senders),
        len(prober.receivers),
        server.url,
        server.url,
    )
    _until_stopped(stop, exporter, prober, seconds)
    prober.stop()
    sink.close()
    fleet.close()
    books.close()
    server.close()
    if prober.failure:
        raise Problem(prober.failure)


def _until_stopped(stop: threading.Event, exporter: Exporter, prober: Prober, seconds: int | None) -> None:
    end = time.monotonic() + seconds if seconds else None
    while not until_stopped(stop, prober, _LINE_SECONDS):
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{_line(exporter, prober)}")
            sys.stderr.flush()
        if end is not None and time.monotonic() >= end:
            return


def _line(exporter: Exporter, prober: Prober) -> str:
    """How long messages take, and whether any is missing; all since the start but for the slowest path's."""
    problem = prober.not_ready()
    if problem is not None:
        return problem
    shown = exporter.shown()
    counts = {name: sum(path.counters.messages_in_class(name) for path in shown) for name in CLASSES}
    pending = sum(path.live["pending"] for path in shown if path.live)
    told = [f"{len(shown)} path{'s' * (len(shown) != 1)}", f"sent {sum(counts.values())}"]
    told += [f"{name} {counts[name]}" for name in CLASSES if name != "received"]
    told += [f"pending {pending}", *_slowest(shown)]
    return "  ".join(told)


def _slowest(shown: Sequence[PathShown]) -> Iterator[str]:
    """Of the newest final windows, by the 99th percentile where enough messages were received for one."""
    found = []
    for path in shown:
        latency = path.window and path.window["response"]
        if latency:
            p99_ns = latency["percentiles"].get("99")
            found.append(
                (latency["max_ns"], "max", path.name) if p99_ns is None else (p99_ns, "p99", path.name)
            )
    if found:
        value_ns, what, name = max(found)
        yield f"slowest {name}: {what} {milliseconds(value_ns)} ms"
