"""Options that several sub-commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from collectors.config import load, units
from collectors.config.model import Config, listen_address, name
from deploy.errors import Problem


class Unit(click.ParamType[Any]):
    """A text as the config would have it."""

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
    """`-c FILE`, else $INFLIGHT_CONFIG, else ./inflight.yaml."""
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
    """`--site NAME` goes before the file's `site`."""
    return click.option(
        "--site", type=NAME, help="This host's name in metrics, instead of the config's `site`."
    )(function)


def check_login(user: str | None, password_file: Path | None) -> None:
    """One without the other would be no login, and nobody would be told."""
    if (user is None) != (password_file is None):
        raise Problem("--user and --password-file go together")


def load_config(file: Path, site: str | None = None) -> Config:
    """The config, or a Problem with every mistake in it."""
    try:
        config = load.load(file)
    except load.ConfigError as error:
        if not file.exists():
            raise Problem(f"{file}: no such config file; see deploy/examples/inflight.yaml for one") from None
        raise Problem("the config cannot be used:\n  " + "\n  ".join(error.mistakes)) from None
    return config.model_copy(update={"site": site}) if site else config


def no_state(config: Config, error: OSError) -> Problem:
    """What has to outlive a restart cannot be kept."""
    return Problem(
        f"the folder `state` of the config, {config.state}, cannot be used: {error.strerror or error};"
        " let this user write there, or give another one"
    )
