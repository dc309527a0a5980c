"""`inflight submit`: the Spark job on a cluster."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import click

from deploy.options import config_option, job_options, load_config


@click.command()
@config_option
@job_options
@click.option("--master", help="The cluster: spark://HOST:PORT, yarn, k8s://HOST:PORT, or local[N].")
@click.option(
    "--package",
    "package_file",
    type=click.Path(path_type=Path),
    help="Only write the job's files: FILE.zip (its code) and FILE.json (its settings).",
)
@click.option("--dry-run", is_flag=True, help="Write the job's files and show spark-submit's command line.")
@click.option(
    "--python",
    "python",
    help="Python on the cluster's machines, and beside the driver; `python3` unless given.",
)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def command(
    config_file: Path,
    master: str | None,
    package_file: Path | None,
    python: str | None,
    options: tuple[str, ...],
    *,
    dry_run: bool,
    **job: Any,
) -> None:
    """Run the job of `inflight stream` on a Spark 4.2 cluster; OPTIONS after `--` go to spark-submit.

    The cluster's Python needs the packages of deploy/spark_submit/requirements.txt, and the checkpoint a
    folder that all its machines see. The file with the password, if any, is read where the driver runs.
    """
    # Imported here: `--help` needs no Spark.
    from deploy.spark_submit import submission  # noqa: PLC0415

    files = submission.write_files(load_config(config_file), master, package_file, **job)
    if package_file is not None:
        return
    argv = submission.command_line(files, master, python, options)
    if dry_run:
        click.echo(shlex.join(argv))
        return
    os.execv(argv[0], argv)  # noqa: S606 -- it takes this process's place: signals reach it
