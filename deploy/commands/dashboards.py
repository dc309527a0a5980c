"""`inflight dashboards`: Grafana's dashboards and alert rules, as files and in a Grafana."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from deploy.errors import Finding, Problem

_FILE: Final = click.Path(path_type=Path, dir_okay=False)
_RUNBOOK: Final = "dashboards/RUNBOOK.md"


@click.group()
def command() -> None:
    """Grafana's dashboards and alert rules, as files and in a Grafana.

    Those who prefer files take dashboards/json, dashboards/rules and dashboards/provisioning as they are.
    """


@command.command(short_help="Write dashboards and rules as files.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="The dashboards alone, into this folder, not the package's.",
)
@click.option(
    "--check", is_flag=True, help="Write nothing; exit status 1 if files are not as the code makes them."
)
def build(out: Path | None, *, check: bool) -> None:
    """Write the dashboards as the JSON that Grafana imports, and the rules as Prometheus reads them."""
    from dashboards import build as made  # noqa: PLC0415 -- `--help` need not load the SDK
    from dashboards.alerts import files as rules  # noqa: PLC0415 -- nor YAML

    folder = out or made.FOLDER
    if not check:
        try:
            changed = made.write(folder) + ([] if out else rules.write())
        except OSError as error:
            raise Problem(
                f"cannot write the dashboards to {folder}: {error.strerror}; name another with --out"
            ) from None
        for file in changed:
            click.echo(file)
        click.echo(f"{len(changed)} files written to {folder}" if changed else f"{folder} is up to date")
        return
    stale = [
        name
        for name, board in made.dashboards().items()
        if _read(folder / f"{name}.json") != made.text(board)
    ] + ([] if out else [file.name for file in rules.stale()])
    if stale:
        raise Finding(f"not as the code makes them: {', '.join(stale)}; run `inflight dashboards build`")
    click.echo(f"{folder} is up to date")


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


def _grafana_options(function: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option(
            "--url", envvar="INFLIGHT_GRAFANA_URL", required=True, show_envvar=True, help="Grafana's address."
        ),
        click.option(
            "--token-file", type=_FILE, required=True, help="Holds a token of a service account, role Admin."
        ),
        click.option("--ca", type=_FILE, help="The authority of Grafana's certificate."),
        click.option(
            "--prometheus", "prometheus_url", metavar="URL", help="Make a data source for this Prometheus."
        ),
        click.option(
            "--source", metavar="NAME", help="Use this data source for rules; else the default one."
        ),
        click.option(
            "--scrape-interval", default="15s", show_default=True, help="How often --prometheus scrapes."
        ),
        click.option(
            "--runbooks",
            default=_RUNBOOK,
            metavar="URL",
            help="Where the runbook is that alerts link to, such as http://exporter:9750/runbook.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def _publisher(url: str, token_file: Path, ca: Path | None, **wanted: str | None) -> Any:
    from dashboards import build as made  # noqa: PLC0415 -- the same
    from dashboards.grafana import Grafana  # noqa: PLC0415 -- the same
    from dashboards.publish import Publisher, Wanted  # noqa: PLC0415 -- the same

    try:
        token = token_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(
            f"cannot read the token file {token_file}: {getattr(error, 'strerror', 'no text')}"
        ) from None
    if not token or not token.isascii() or not token.isprintable():
        raise Problem(f"the token file {token_file} does not hold a token: one line, nothing else")
    if ca is not None and not ca.is_file():
        raise Problem(f"--ca {ca}: no such file")
    boards = {
        file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(made.FOLDER.glob("*.json"))
    }
    if not boards:
        raise Problem(f"no dashboards in {made.FOLDER}; run `inflight dashboards build`")
    grafana = Grafana(url, token, ca=ca, where=f"in {token_file}")
    runbook_url = wanted.pop("runbooks") or ""
    return Publisher(grafana, Wanted(boards, runbook_url=runbook_url, **wanted))  # type: ignore[arg-type]  # by name


def _show(publisher: Any) -> int:
    count = 0
    for change in publisher.changes():
        click.echo(f"would {change}")
        click.echo(change.diff())
        count += 1
    return count


@command.command(short_help="Show what publish would change; exit status 1 if anything.")
@_grafana_options
def diff(url: str, token_file: Path, ca: Path | None, **wanted: str | None) -> None:
    """Compare what Grafana holds with what is here, and change nothing."""
    from dashboards.grafana import GrafanaError  # noqa: PLC0415 -- the same

    try:
        count = _show(_publisher(url, token_file, ca, **wanted))
    except GrafanaError as error:
        raise Problem(str(error)) from None
    if count:
        raise Finding(f"{count} things differ from Grafana at {url}")
    click.echo(f"Grafana at {url} holds all of it")


@command.command(short_help="Put dashboards, data source and alert rules into a Grafana.")
@_grafana_options
@click.option("--dry-run", is_flag=True, help="Show the changes, and make none.")
@click.option("--no-check", is_flag=True, help="Do not run the panels' queries, nor wait for the rules.")
@click.option(
    "--wait", default=90, show_default=True, metavar="SECONDS", help="For each rule's first evaluation."
)
def publish(
    url: str,
    token_file: Path,
    ca: Path | None,
    *,
    dry_run: bool,
    no_check: bool,
    wait: int,
    **wanted: str | None,
) -> None:
    """Put folder, data source, dashboards and alert rules into a Grafana, and see that they work there.

    Only what differs is written, so it may be run again and again; what one's own hands changed in
    Inflight's dashboards is overwritten, other dashboards and rules are not touched. Afterwards all is read
    back, each panel's queries are run, and each rule's health is looked at. Exit status 1: something does not
    work there.
    """
    from dashboards.grafana import GrafanaError  # noqa: PLC0415 -- the same

    try:
        publisher = _publisher(url, token_file, ca, **wanted)
        if dry_run:
            click.echo(f"{_show(publisher)} changes, none made")
            return
        count = publisher.publish(click.echo)
        click.echo(f"{count} changes made at {url}" if count else f"Grafana at {url} holds all of it")
        if wanted["runbooks"] == _RUNBOOK:
            click.echo("alerts name the runbook only by its file: --runbooks URL has them link to it")
        if no_check:
            return
        failing = [*publisher.failing_queries(), *publisher.unhealthy_rules(wait)]
    except GrafanaError as error:
        raise Problem(str(error)) from None
    for line in failing:
        click.echo(line)
    if failing:
        raise Finding(f"{len(failing)} queries or rules do not work in Grafana at {url}")
    click.echo("every panel's queries run, and every rule is well")
