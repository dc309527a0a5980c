"""The JVM parts: Spark's Kafka connector, Kafka, Artemis and Jolokia, fetched once and checked each time.

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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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
    """Returns the Java to run, or a Problem that says what to install."""
    try:
        return java_of.find_java()
    except java_of.NoJavaError as e:
        raise Problem(str(e)) from e


def ensure(console: Console | None = None) -> JvmParts:
    """Checks every jar against jvm.lock (0.1 s), fetches those missing or damaged, and returns them all."""
    the_java = java()
    jars = listed()
    folder = cache_folder()
    if unsound(jars, folder, locked()):
        console = console or Console(stderr=True)
        with _only_one(folder, console):
            _fetch_unsound(jars, folder, the_java, console)
    here = pyspark_jars()
    return JvmParts(
        the_java,
        {
            conf: (
                *(folder / jar.file for jar in jars if conf in jar.confs),
                *(_of_pyspark(here, name) for name in names),
            )
            for conf, names in PYSPARK_JARS.items()
        },
    )


def listed() -> list[Jar]:
    """Reads the jars that ivy.xml names."""
    return [Jar.of(element) for element in ET.parse(IVY_FILE).iter("dependency")]  # noqa: S314 -- our own file


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "inflight" / "jvm"


def locked() -> dict[str, tuple[str, int]]:
    """Reads jvm.lock: file → (sha256, bytes)."""
    rows = (line.split() for line in LOCK_FILE.read_text().splitlines() if line)
    return {file: (sha256, int(size)) for sha256, size, file in rows}


def unsound(jars: list[Jar], folder: Path, lock: Mapping[str, tuple[str, int]]) -> list[Jar]:
    """Returns the jars that are not there with exactly the locked content."""
    return [jar for jar in jars if fingerprint(folder / jar.file) != lock.get(jar.file, ("unlisted", 0))]


def fingerprint(file: Path) -> tuple[str, int] | None:
    try:
        with file.open("rb") as f:
            return hashlib.file_digest(f, "sha256").hexdigest(), file.stat().st_size
    except FileNotFoundError:
        return None


def _fetch_unsound(jars: list[Jar], folder: Path, the_java: Path, console: Console) -> None:
    lock = locked()
    wanted = unsound(jars, folder, lock)  # again: another process may have fetched them while we waited
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


def _of_pyspark(folder: Path, name: str) -> Path:
    found = sorted(folder.glob(f"{name}-[0-9]*.jar"))
    if len(found) != 1:
        raise Problem(
            f"PySpark's folder {folder} should have one {name}-*.jar and has {len(found)}: run `make setup`"
        )
    return found[0]


@contextmanager
def _only_one(folder: Path, console: Console) -> Iterator[None]:
    """Lets one process fetch at a time; the others wait for it and then find everything there."""
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
    """Fetches what is listed and takes its checksums for true: for whoever changes ivy.xml."""
    jars, folder = listed(), cache_folder()
    with _only_one(folder, console):
        lock = locked() if LOCK_FILE.exists() else {}
        wanted = unsound(jars, folder, lock)
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
