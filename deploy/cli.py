"""The `inflight` command: a thin group whose sub-commands are the modules of deploy.commands."""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import version

import click

from deploy import commands, logs


class _Commands(click.Group):
    """Imports a sub-command only when it is called for: `inflight --help` must not load Spark."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        return sorted(m.name for m in pkgutil.iter_modules(commands.__path__) if not m.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
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
