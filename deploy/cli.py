"""The `inflight` command; its sub-commands are the modules of deploy.commands."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import sys
from importlib.metadata import version
from typing import Any

import click

from deploy import logs
from deploy.commands import SUMMARIES


class _Commands(click.Group):
    """Imports a sub-command only when it is called: `inflight --help` must not load Spark."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # the terminal's encoding may lack letters
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            if error.errno not in {errno.ENOSPC, errno.EIO, errno.EBADF}:
                raise
            with contextlib.suppress(OSError):
                click.echo(f"inflight: the output cannot be written: {error.strerror}", err=True)
            os._exit(2)  # an exit that flushes would fail again

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # Not 1, which click would say: that is for what is wrong in what was looked at.
            click.echo("inflight: interrupted", err=True)
            ctx.exit(2)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        return sorted(SUMMARIES)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- the same
        with formatter.section("Commands"):
            formatter.write_dl(sorted(SUMMARIES.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- the same
        if cmd_name not in SUMMARIES:
            return None
        found = importlib.import_module(f"deploy.commands.{cmd_name}").command
        if not isinstance(found, click.Command):
            raise TypeError(f"deploy.commands.{cmd_name}.command is not a click command")
        return found


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(version("inflight-monitor"), prog_name="inflight")
@click.option("--log-level", type=click.Choice(logs.LEVELS), default="info", show_default=True)
@click.option("--log-json", is_flag=True, help="Log one JSON object per line.")
def main(log_level: str, *, log_json: bool) -> None:
    """Inflight: how long do messages take right now, is any missing, and where does it stick?

    Start with `inflight demo` (a whole network on this machine), `inflight ping URL ADDRESS` (one path,
    no config) or `inflight run -c FILE` (your own paths, in one process).
    """
    logs.setup(log_level, as_json=log_json)
