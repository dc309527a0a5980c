"""`inflight check --live`: logs in everywhere, sends a message along each path, and says what to mend."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import click

from collectors.config.model import Config
from collectors.contract.untrusted_text import shown
from deploy import logs
from deploy.errors import Finding
from deploy.live_check.brokers import check_brokers
from deploy.live_check.kafka import check_kafka
from deploy.live_check.meshes import check_meshes
from deploy.live_check.paths import check_paths
from deploy.live_check.result import Checked

__all__ = ["check_live", "run_checks"]


def run_checks(config: Config) -> Iterator[Checked]:
    """Yield each check's result as it is done; nothing raises."""
    yield from check_kafka(config)
    yield from check_meshes(config)
    yield from check_brokers(config)
    yield from check_paths(config)


def check_live(config: Config) -> None:
    """Print a line for each check, and the fix of each that fails; raises Finding if one does."""
    failed = done = 0
    with logs.quiet("inflight", logging.CRITICAL):  # what goes wrong is told by the checks themselves
        for checked in run_checks(config):
            done += 1
            failed += not checked.ok
            _tell(checked)
    if failed:
        raise Finding(f"{failed} of {done} checks failed; the lines under each say what to do")


def _tell(checked: Checked) -> None:
    mark = click.style("ok  ", fg="green") if checked.ok else click.style("FAIL", fg="red", bold=True)
    click.echo(f"{mark} {shown(checked.what)}: {shown(checked.text)}")
    for line in checked.fix.splitlines():
        click.echo(f"       {shown(line)}")
