"""The command line of a JVM that is small, starts quickly, and ends when it is out of memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from deploy.jvm import artifacts

_OPTIONS = (
    "-XX:+UseSerialGC",  # a small heap, on a machine shared with many programs
    # Half the CPU time of a start; the second compiler pays off only after minutes at full load.
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",  # no file of its own in the temporary directory
    "-Djava.awt.headless=true",
    f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.xml')}",
)


def command(
    conf: str,
    main: str,
    *arguments: str | Path,
    heap_mib: int,
    options: Sequence[str] = (),
    extras: Sequence[str] = (),
) -> list[str | Path]:
    """Return the argv that runs `main` with the jars fetched as `conf` and as `extras`."""
    parts = artifacts.ensure(extras=extras)
    return [
        parts.java,
        f"-Xmx{heap_mib}m",
        *_OPTIONS,
        *options,
        "-cp",
        os.pathsep.join(map(parts.classpath, (conf, *extras))),
        main,
        *arguments,
    ]
