"""Errors that a person can mend: shown in one line, without a traceback."""

from __future__ import annotations

import click


class Problem(click.ClickException):
    """Something has to be put right before it can work: misuse, config, a missing program."""

    exit_code = 2

    def show(self, file: object = None) -> None:  # noqa: ARG002 -- click's signature
        click.echo(f"inflight: {self.format_message()}", err=True)


class Finding(click.ClickException):
    """The command worked and found something wrong in what it looked at."""

    exit_code = 1

    def show(self, file: object = None) -> None:  # noqa: ARG002 -- click's signature
        click.echo(f"inflight: {self.format_message()}", err=True)
