"""The JVM parts: Spark's Kafka connector, Kafka, Artemis and Jolokia, fetched once, checked at each use.

    parts = ensure()
    [parts.java, "-cp", parts.classpath("kafka"), "kafka.Kafka", "server.properties"]

`python -m deploy.jvm.artifacts` fetches them; with `--lock` it also writes their checksums into jvm.lock.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import sys
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from deploy.errors import Problem
from deploy.jvm import java as java_of
from deploy.jvm.fetch import Jar, fetch, maven_root, pyspark_jars

IVY_FILE = Path(__file__).with_name("ivy.xml")
LOCK_FILE = Path(__file__).with_name("jvm.lock")

_LOGGING = ("slf4j-api", "log4j-api", "log4j-core", "log4j-slf4j2-impl")
# What a part needs and PySpark, pinned to one version, already carries: not fetched a second time.
PYSPARK_JARS: Mapping[str, tuple[str, ...]] = {
    "spark": (),
    "kafka": (
        *_LOGGING,
        *("scala-library", "scala-reflect", "jackson-core", "jackson-databind", "jackson-annotations"),
        *("lz4-java", "zstd-jni", "snappy-java"),
    ),
    "artemis": _LOGGING,
    "jolokia": (),
}
DATABASE: Final = "database"
EXTRAS: Final = (DATABASE,)  # fetched when they are first asked for, not by the set-up


@dataclass(frozen=True)
class JvmParts:
    """The jars of each configuration of ivy.xml, on this machine and checked."""

    java: Path
    by_conf: Mapping[str, tuple[Path, ...]]

    def jars(self, conf: str) -> list[Path]:
        return list(self.by_conf[conf])

    def classpath(self, conf: str) -> str:
        return os.pathsep.join(str(jar) for jar in self.by_conf[conf])


def java() -> Path:
    """Return the Java to run; raises Problem, with what to install, if there is none."""
    try:
        return java_of.find_java()
    except java_of.NoJavaError as e:
        raise Problem(str(e)) from e


def ensure(console: Console | None = None, extras: Collection[str] = ()) -> JvmParts:
    """Check every jar against jvm.lock (0.1 s), fetch what is missing or damaged, and return all.

    `extras` are those of EXTRAS that are wanted, too. Raises Problem if that cannot be done.
    """
    the_java = java()
    confs = {**PYSPARK_JARS, **dict.fromkeys(extras, ())}
    jars = [jar for jar in ivy_jars() if confs.keys() & set(jar.confs)]
    folder = cache_folder()
    if missing_or_damaged(jars, folder, locked_fingerprints()):
        console = console or Console(stderr=True)
        with _one_at_a_time(folder, console):
            _fetch_missing(jars, folder, the_java, console)
    here = pyspark_jars()
    return JvmParts(
        the_java,
        {
            conf: (
                *(folder / jar.file for jar in jars if conf in jar.confs),
                *(_pyspark_jar(here, name) for name in names),
            )
            for conf, names in confs.items()
        },
    )


def ivy_jars() -> list[Jar]:
    """Return the jars that ivy.xml names."""
    return [Jar.of(element) for element in ET.parse(IVY_FILE).iter("dependency")]  # noqa: S314 -- our own file


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "inflight" / "jvm"


def locked_fingerprints() -> dict[str, tuple[str, int]]:
    """Return (sha256, bytes) of each file in jvm.lock."""
    rows = (line.split() for line in LOCK_FILE.read_text().splitlines() if line)
    return {file: (sha256, int(size)) for sha256, size, file in rows}


def missing_or_damaged(jars: list[Jar], folder: Path, lock: Mapping[str, tuple[str, int]]) -> list[Jar]:
    """Return the jars that are missing, or whose content is not the locked one."""
    return [jar for jar in jars if fingerprint(folder / jar.file) != lock.get(jar.file, ("unlisted", 0))]


def fingerprint(file: Path) -> tuple[str, int] | None:
    try:
        with file.open("rb") as f:
            return hashlib.file_digest(f, "sha256").hexdigest(), file.stat().st_size
    except FileNotFoundError:
        return None


def _fetch_missing(jars: list[Jar], folder: Path, the_java: Path, console: Console) -> None:
    lock = locked_fingerprints()
    wanted = missing_or_damaged(
        jars, folder, lock
    )  # again: another process may have fetched them while we waited
    if unlisted := [jar.file for jar in wanted if jar.file not in lock]:
        raise Problem(f"{', '.join(unlisted)}: in ivy.xml but not in jvm.lock; run `make lock-jvm`")
    for jar in wanted:
        if (folder / jar.file).exists():
            console.print(f"{jar.file} is damaged, fetching it anew", highlight=False)
            (folder / jar.file).unlink()
    if wanted:
        total_bytes = sum(lock[jar.file][1] for jar in wanted)
        fetch(wanted, folder, the_java, console, total_bytes, lambda jar, file: _accept(jar, file, lock))


def _accept(jar: Jar, file: Path, lock: Mapping[str, tuple[str, int]]) -> None:
    if fingerprint(file) != lock[jar.file]:
        raise Problem(
            f"{jar.file} was fetched from {maven_root()}, but its content is not what {LOCK_FILE.name} says: "
            "something on the way alters files; try again, or set INFLIGHT_MAVEN_ROOT to another mirror"
        )


def _pyspark_jar(folder: Path, name: str) -> Path:
    found = sorted(folder.glob(f"{name}-[0-9]*.jar"))
    if len(found) != 1:
        raise Problem(
            f"PySpark's folder {folder} should have one {name}-*.jar and has {len(found)}: run `make setup`"
        )
    return found[0]


@contextmanager
def _one_at_a_time(folder: Path, console: Console) -> Iterator[None]:
    """Let one process fetch at a time; the others wait, and then find everything there."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as f:
        os.set_inheritable(f.fileno(), True)  # an Ivy that outlives a killed parent holds the lock to its end
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.print("another process is fetching the JVM parts; waiting for it")
            fcntl.flock(f, fcntl.LOCK_EX)
        yield


def _write_lock(console: Console) -> None:
    """Fetch the jars of a changed ivy.xml and write their checksums into jvm.lock, unchecked."""
    jars, folder = ivy_jars(), cache_folder()
    with _one_at_a_time(folder, console):
        lock = locked_fingerprints() if LOCK_FILE.exists() else {}
        wanted = missing_or_damaged(jars, folder, lock)
        if wanted:
            fetch(wanted, folder, java(), console, None, lambda _jar, _file: None)
        rows = [(fingerprint(folder / jar.file), jar.file) for jar in sorted(jars, key=lambda jar: jar.file)]
        LOCK_FILE.write_text("".join(f"{print_[0]} {print_[1]} {file}\n" for print_, file in rows if print_))
    console.print(f"wrote {LOCK_FILE} ({len(rows)} files)", highlight=False)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.jvm.artifacts", description="Fetches the JVM parts."
    )
    parser.add_argument("--lock", action="store_true", help="write their checksums into jvm.lock")
    console = Console(stderr=True)
    try:
        if parser.parse_args().lock:
            _write_lock(console)
        ensure(console)
    except Problem as e:
        e.show()
        return e.exit_code
    except KeyboardInterrupt:
        console.print("interrupted; the next call goes on from here")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
