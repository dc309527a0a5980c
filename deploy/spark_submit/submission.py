"""What `inflight submit` gives to spark-submit: the job's files, and the command line."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyspark

from collectors.config.model import Config
from collectors.process.private_files import private_folder
from deploy.errors import Problem
from deploy.jvm import artifacts
from deploy.parts.job_settings import job_settings
from deploy.spark_submit import package
from streaming.spark import submit

_log: Final = logging.getLogger("inflight.stream")


class JobFiles(NamedTuple):
    """Code and settings of the job."""

    code: Path
    settings: Path


def write_files(config: Config, master: str | None, code: Path | None = None, **options: Any) -> JobFiles:
    """Write the files, below the config's `state` unless `code` is given; `options` are of `job_settings`.

    Raises Problem where they cannot be written, or where the cluster's machines would share no checkpoint.
    """
    if not _is_local(master) and options.get("checkpoint") is None:
        raise Problem(
            "give --checkpoint: a folder that all machines of the cluster see, like hdfs:///inflight"
        )
    settings = job_settings(config, **options)
    files = code or config.state / "submit" / "inflight.zip"
    told = files.with_suffix(".json")
    try:
        if code is None:
            private_folder(files.parent)
        modules = package.build(files)
        told.write_text(settings.encode())
    except OSError as error:
        raise Problem(f"cannot write {files}: {error.strerror}; name another by --package") from None
    _log.info("wrote %s (%d modules) and %s", files, modules, told)
    return JobFiles(files, told)


def command_line(
    files: JobFiles, master: str | None, python: str | None, options: Sequence[str]
) -> list[str]:
    """Returns the command that runs the job; without `master` it runs where Spark's configuration says."""
    # Where Spark is installed for itself, its own command knows its configuration.
    home = Path(os.environ.get("SPARK_HOME") or pyspark.__path__[0])
    confs = {
        "spark.pyspark.driver.python": sys.executable,
        "spark.log.level": "WARN",  # the job's own lines cannot be found otherwise
    }
    if python or _is_local(master):
        confs["spark.pyspark.python"] = python or sys.executable
    return [
        str(home / "bin" / "spark-submit"),
        *(("--master", master) if master else ()),
        *(part for key, value in confs.items() for part in ("--conf", f"{key}={value}")),
        *("--jars", ",".join(str(jar) for jar in artifacts.ensure().jars("spark"))),
        *("--py-files", str(files.code), "--files", str(files.settings)),
        *options,
        *(str(submit.__file__), str(files.settings)),
    ]


def _is_local(master: str | None) -> bool:
    return master is None or master.startswith("local")
