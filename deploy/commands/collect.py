"""`inflight collect`: what routers and brokers say about themselves, to /metrics and to Kafka."""

from __future__ import annotations

from pathlib import Path

import click

from deploy.options import LISTEN, config_option, load_config, site_option, topics_option


@click.command()
@config_option
@site_option
@topics_option
@click.option(
    "--listen", type=LISTEN, default="127.0.0.1:9752", show_default=True, help="Address to listen on."
)
def command(config_file: Path, site: str | None, listen: str, *, make_topics: bool) -> None:
    """Poll every mesh and broker in the config, read-only, until stopped.

    /metrics is for Prometheus, and needs neither Kafka nor Spark; where the config has `kafka`, every poll
    also goes there as records, for `inflight export` to show routers, links and queues on its page.
    """
    # Imported here: `--help` needs none of it.
    from deploy.parts.collect import CollectPart  # noqa: PLC0415
    from deploy.parts.foreground import run_in_foreground  # noqa: PLC0415

    run_in_foreground(CollectPart(load_config(config_file, site), make_topics=make_topics, listen=listen))
