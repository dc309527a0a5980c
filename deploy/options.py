"""Options that several sub-commands share, and how they read the config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click

from collectors.config import load, units
from collectors.config.model import Config, listen_address, name
from deploy.errors import Problem
from streaming.spark.lanes import MAX_LANES


class Unit(click.ParamType[Any]):
    """A value written as in the config."""

    def __init__(self, kind: str, read: Callable[[object], Any]) -> None:
        self.name = kind
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


DURATION: Final = Unit("duration", units.duration_ns)
NAME: Final = Unit("name", lambda value: name(str(value)))
LISTEN: Final = Unit("host:port", lambda value: listen_address(str(value)))


def config_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `-c FILE`, else $INFLIGHT_CONFIG, else ./inflight.yaml."""
    return click.option(
        "-c",
        "--config",
        "config_file",
        type=click.Path(path_type=Path),
        envvar="INFLIGHT_CONFIG",
        default="inflight.yaml",
        show_default=True,
        show_envvar=True,
        help="The config file.",
    )(function)


def site_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--site NAME`, which takes precedence over the config's `site`."""
    return click.option(
        "--site", type=NAME, help="This host's name in metrics, instead of the config's `site`."
    )(function)


def check_login(user: str | None, password_file: Path | None) -> None:
    """Raise Problem where one is given without the other: that would be no login, in silence."""
    if (user is None) != (password_file is None):
        raise Problem("--user and --password-file go together")


def load_config(file: Path, site: str | None = None) -> Config:
    """Returns the config; raises Problem with every mistake in it."""
    try:
        config = load.load(file)
    except load.ConfigError as error:
        if not file.exists():
            raise Problem(f"{file}: no such config file; see deploy/examples/inflight.yaml for one") from None
        raise Problem("the config cannot be used:\n  " + "\n  ".join(error.mistakes)) from None
    return config.model_copy(update={"site": site}) if site else config


def topics_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--create-topics`, as `make_topics`."""
    return click.option(
        "--create-topics", "make_topics", is_flag=True, help="Make the Kafka topics that are missing."
    )(function)


# By name: type, default, help.
_JOB_OPTIONS: Final[Mapping[str, tuple[Any, Any, str]]] = {
    "--checkpoint": (
        str,
        None,
        "Where place and state are kept.  [default: `checkpoint` in the config's `state` folder]",
    ),
    "--archive": (
        str,
        None,
        "Also keep final rows as Parquet in this folder; `inflight archive` reads them.",
    ),
    "--listen": (LISTEN, "127.0.0.1:9753", "Address for /metrics and /-/ready."),
    "--trigger": (str, "1s", "Time between the starts of two batches."),
    "--max-records": (
        click.IntRange(min=1),
        None,
        "Records that all lanes take at once at the most, which bounds memory.  [default: by rates]",
    ),
    "--lanes": (
        click.IntRange(1, MAX_LANES),
        None,
        "Queries with one task each, which share the topic; fixed with the checkpoint.  [default: by rates]",
    ),
}


def job_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that `deploy.parts.job_settings.job_settings` takes."""
    for option, (kind, default, text) in list(_JOB_OPTIONS.items())[::-1]:
        show = default is not None
        function = click.option(option, type=kind, default=default, show_default=show, help=text)(function)
    return function
