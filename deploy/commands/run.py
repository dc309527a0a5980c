"""`inflight run`: everything in one process."""

from __future__ import annotations

from pathlib import Path

import click

from deploy.options import LISTEN, config_option, load_config, site_option


@click.command()
@config_option
@site_option
@click.option("--path", "names", multiple=True, help="Only this path; may be given several times.")
@click.option("--listen", type=LISTEN, help="Address to listen on; goes before the config's `export.listen`.")
@click.option(
    "--archive",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also keep final rows as Parquet in this folder, for `inflight archive` and `inflight report`.",
)
@click.option("--seconds", type=click.IntRange(min=1), help="End by itself after so long.")
def command(
    config_file: Path,
    site: str | None,
    names: tuple[str, ...],
    listen: str | None,
    archive: Path | None,
    seconds: int | None,
) -> None:
    """Measure the config's paths, poll its routers and brokers, and serve it all at /metrics and /.

    The numbers are those of the Spark job: the same accounting, on the same records. What is measured is
    kept in memory only, and final rows with --archive, each half minute; a site that wants more keeps its
    records in Kafka (`inflight probe`).
    """
    # Imported here: `--help` needs none of it.
    from deploy.parts.foreground import run_in_foreground  # noqa: PLC0415
    from deploy.parts.run import RunPart  # noqa: PLC0415
    from deploy.parts.status_line import status_line  # noqa: PLC0415

    part = RunPart(load_config(config_file, site), names, listen=listen, archive=archive)
    run_in_foreground(part, seconds=seconds, line=lambda: status_line(part))
