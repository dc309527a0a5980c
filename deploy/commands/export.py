"""`inflight export`: results from Kafka to /metrics, to the live page and to `inflight top`."""

from __future__ import annotations

from pathlib import Path

import click

from deploy.options import LISTEN, config_option, load_config


@click.command()
@config_option
@click.option("--listen", type=LISTEN, help="Address to listen on; goes before the config's `export.listen`.")
def command(config_file: Path, listen: str | None) -> None:
    """Read final and live results from Kafka, and serve them.

    /metrics is for Prometheus, / is a page for people, and `inflight top` shows the same in a terminal.
    Counters survive a restart: they are kept under the config's `state` folder.
    """
    # Imported here: `--help` needs none of it.
    from deploy.parts.export import ExportPart  # noqa: PLC0415
    from deploy.parts.foreground import run_in_foreground  # noqa: PLC0415

    run_in_foreground(ExportPart(load_config(config_file), listen=listen))
