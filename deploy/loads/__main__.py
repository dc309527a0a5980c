"""One run of loads: `python -m deploy.loads [DESCRIPTION] --out RESULTS`; see README.md.

The description, in JSON or YAML, is the file, or the standard input. Progress goes to the standard output, a
line of JSON a second; the results to the file. SIGTERM ends it in order: with what it has, told as stopped.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, BinaryIO

import click
import yaml
from pydantic import ValidationError

from deploy.errors import Problem
from deploy.loads import ceiling
from deploy.loads.model import Description
from deploy.loads.rows import Rows
from deploy.loads.supervisor import Run
from deploy.logs import setup
from deploy.signals import stop_on_signals

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("description", type=click.File("rb"), default="-")
@click.option("--out", type=_FILE, help="Results as JSON; without it, the last line of the progress.")
@click.option("--processes", type=click.IntRange(min=1), help="In place of what the description says.")
@click.option("--ceiling", "only_ceiling", is_flag=True, help="Measure what one generator can do at most.")
def command(description: BinaryIO, out: Path | None, processes: int | None, *, only_ceiling: bool) -> None:
    """Run the loads of DESCRIPTION once."""
    setup("warning")
    if only_ceiling:
        _write(ceiling.measure().as_json(), out)
        return
    raw, read = _read(description.read(), processes)
    if out is not None:
        _try_out(out)
    stop = threading.Event()
    stop_on_signals(stop)
    with _rows_file(read) as file:
        found = Run(read, raw, Rows(file)).run(stop.is_set, _progress)
    _write(found, out)
    sys.exit(1 if found["stopped"] or found["problems"] else 0)


def _read(text: bytes, processes: int | None) -> tuple[dict[str, Any], Description]:
    try:
        raw = yaml.safe_load(text)
        if isinstance(raw, dict) and processes is not None:
            raw["processes"] = processes
        return raw, Description.model_validate(raw)
    except yaml.YAMLError as error:
        raise Problem(f"the description is no JSON and no YAML: {error}") from None
    except ValidationError as error:
        lines = [
            f"{'.'.join(map(str, item['loc'])) or 'description'}: {item['msg'].removeprefix('Value error, ')}"
            for item in error.errors()
        ]
        raise Problem("\n".join(lines)) from None


def _rows_file(description: Description) -> BinaryIO:
    if description.windows is None:
        return tempfile.TemporaryFile()
    try:
        return description.windows.open("w+b")
    except OSError as error:
        raise Problem(f"cannot write {description.windows}: {error.strerror}") from None


def _try_out(out: Path) -> None:
    try:
        out.open("ab").close()
    except OSError as error:
        raise Problem(f"cannot write {out}: {error.strerror}") from None


def _progress(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)  # noqa: T201 -- what the standard output is for


def _write(found: dict[str, Any], out: Path | None) -> None:
    if out is None:
        _progress(found)
        return
    part = out.with_name(f"{out.name}.part")
    part.write_text(json.dumps(found, indent=2) + "\n")
    part.replace(out)


if __name__ == "__main__":
    command()
