"""What a person did wrong, or must mend: told in one line, without a traceback."""

from __future__ import annotations

import click


class Problem(click.ClickException):
    """Something to put right before the command can work: misuse, config, a missing program."""

    exit_code = 2

    def show(self, file: object = None) -> None:  # noqa: ARG002 -- click's signature
        click.echo(f"inflight: {self.format_message()}", err=True)


class Finding(click.ClickException):
    """The command worked and found something wrong in what it looked at."""

    exit_code = 1

    def show(self, file: object = None) -> None:  # noqa: ARG002 -- click's signature
        click.echo(f"inflight: {self.format_message()}", err=True)
