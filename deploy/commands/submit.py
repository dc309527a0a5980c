"""`inflight submit`: the Spark job on a cluster."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from pathlib import Path
from typing import Any, Final

import click

from collectors.process.private_files import private_folder
from deploy.errors import Problem
from deploy.jvm import artifacts
from deploy.options import config_option, job_options, load_config
from deploy.parts.job_settings import job_settings
from deploy.spark_submit import package

_log: Final = logging.getLogger("inflight.stream")


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
    config = load_config(config_file)
    remote = master is not None and not master.startswith("local")
    if remote and job["checkpoint"] is None:
        raise Problem(
            "give --checkpoint: a folder that all machines of the cluster see, like hdfs:///inflight"
        )
    settings = job_settings(config, **job)
    code = package_file or config.state / "submit" / "inflight.zip"
    told = code.with_suffix(".json")
    try:
        if package_file is None:
            private_folder(code.parent)
        modules = package.build(code)
        told.write_text(settings.encode())
    except OSError as error:
        raise Problem(f"cannot write {code}: {error.strerror}; name another by --package") from None
    _log.info("wrote %s (%d modules) and %s", code, modules, told)
    if package_file is not None:
        return
    argv = _argv(code, told, master, python, options)
    if dry_run:
        click.echo(shlex.join(argv))
        return
    os.execv(argv[0], argv)  # noqa: S606 -- it takes this process's place: signals reach it


def _argv(
    code: Path, told: Path, master: str | None, python: str | None, options: tuple[str, ...]
) -> list[str]:
    import pyspark  # noqa: PLC0415 -- `--help` needs no Spark

    from streaming.spark import submit  # noqa: PLC0415 -- the same

    # Where Spark is installed for itself, its own command knows its configuration.
    home = Path(os.environ.get("SPARK_HOME") or pyspark.__path__[0])
    confs = {
        "spark.pyspark.driver.python": sys.executable,
        "spark.log.level": "WARN",  # the job's own lines cannot be found otherwise
    }
    if python or master is None or master.startswith("local"):
        confs["spark.pyspark.python"] = python or sys.executable
    return [
        str(home / "bin" / "spark-submit"),
        *(("--master", master) if master else ()),
        *(part for key, value in confs.items() for part in ("--conf", f"{key}={value}")),
        *("--jars", ",".join(str(jar) for jar in artifacts.ensure().jars("spark"))),
        *("--py-files", str(code), "--files", str(told)),
        *options,
        *(str(submit.__file__), str(told)),
    ]
