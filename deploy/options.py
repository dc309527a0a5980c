"""Options that several sub-commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from collectors import load
from collectors.config import Config
from deploy.errors import Problem


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
    return click.option("--site", help="Who am I; goes before the config's `site`.")(function)


def load_config(file: Path, site: str | None = None) -> Config:
    """The config, or a Problem with every mistake in it."""
    try:
        config = load.load(file)
    except load.ConfigError as error:
        if not file.exists():
            raise Problem(f"{file}: no such config file; see deploy/examples/inflight.yaml for one") from None
        raise Problem("the config cannot be used:\n  " + "\n  ".join(error.mistakes)) from None
    return config.model_copy(update={"site": site}) if site else config
