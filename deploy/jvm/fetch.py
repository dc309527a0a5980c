"""Fetches jars with the Ivy that PySpark ships; a fetch that was interrupted goes on where it was."""

from __future__ import annotations

import importlib.util
import os
import re
import select
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from deploy.errors import Problem

SETTINGS_FILE = Path(__file__).with_name("ivysettings.xml")
MAVEN_CENTRAL = "https://repo1.maven.org/maven2/"
_M = "http://ant.apache.org/ivy/maven"
ET.register_namespace("m", _M)  # Ivy goes by the prefix
_ATTEMPTS = 3
SILENCE_SECONDS = 40.0
# What Ivy writes when something cannot be had; the first that is found is the best reason.
_REASONS = (
    r"no answer for [\d.]+ s",
    r"\w+Exception: [^)\n]*",
    r"Host \S+ not found",
    r"[^\n]*access error[^\n]*",
)


@dataclass(frozen=True)
class Jar:
    """One `dependency` of ivy.xml."""

    file: str
    confs: tuple[str, ...]
    xml: str

    @classmethod
    def of(cls, element: ET.Element) -> Jar:
        artifact = element.find("artifact")
        classifier = artifact.get(f"{{{_M}}}classifier", "") if artifact is not None else ""
        name, rev = element.get("name"), element.get("rev")
        confs = tuple(part.split("->")[0] for part in element.get("conf", "").split(";"))
        return cls(
            f"{name}-{rev}{'-' if classifier else ''}{classifier}.jar", confs, ET.tostring(element, "unicode")
        )


def maven_root() -> str:
    return os.environ.get("INFLIGHT_MAVEN_ROOT", MAVEN_CENTRAL).rstrip("/") + "/"


def pyspark_jars() -> Path:
    """Return the folder of PySpark's own jars, without importing PySpark."""
    spec = importlib.util.find_spec("pyspark")
    if not spec or not spec.submodule_search_locations:
        raise Problem("PySpark is not installed here: run `make setup`")
    return Path(spec.submodule_search_locations[0]) / "jars"


def fetch(
    wanted: list[Jar],
    folder: Path,
    java: Path,
    console: Console,
    total_bytes: int | None,
    accept: Callable[[Jar, Path], None],
) -> None:
    """Fetch the wanted jars into the folder; a jar gets its final name if `accept` raises no Problem.

    Raises Problem if a jar cannot be had. What has come until then stays in Ivy's cache for the next call.
    """
    ivy_cache = folder / "ivy"
    ivy_cache.mkdir(parents=True, exist_ok=True)
    with _progress(console, len(wanted), total_bytes) as show:
        for _ in range(_ATTEMPTS):
            before = _fetched(wanted, ivy_cache)
            output = _run_ivy(wanted, ivy_cache, java, lambda: show(_fetched(wanted, ivy_cache), ivy_cache))
            there = _fetched(wanted, ivy_cache)
            if len(there) == len(wanted) or len(there) == len(before):
                break
    for jar in there:
        try:
            accept(jar, ivy_cache / jar.file)
        except Problem:
            (ivy_cache / jar.file).unlink()
            raise
        (ivy_cache / jar.file).replace(folder / jar.file)
    if len(there) < len(wanted):
        missing = [jar.file for jar in wanted if jar not in there]
        (folder / "fetch.log").write_text(output)
        raise Problem(_failure(missing, output, folder / "fetch.log"))
    shutil.rmtree(ivy_cache)


def _fetched(wanted: list[Jar], ivy_cache: Path) -> list[Jar]:
    # Ivy gives a jar this name only when all of it has come.
    return [jar for jar in wanted if (ivy_cache / jar.file).exists()]


def _run_ivy(wanted: list[Jar], ivy_cache: Path, java: Path, on_progress: Callable[[], None]) -> str:
    """Run Ivy for the jars and return its output; stop it when it has been silent for SILENCE_SECONDS.

    It writes something for each jar found and each piece of one, and nothing while no server answers.
    """
    ivy_file = ivy_cache / "wanted.xml"
    confs = "".join(f'<conf name="{conf}"/>' for conf in sorted({c for jar in wanted for c in jar.confs}))
    jars = "".join(jar.xml for jar in wanted)
    ivy_file.write_text(
        f'<ivy-module version="2.0" xmlns:m="{_M}"><info organisation="inflight" module="wanted"/>'
        f"<configurations>{confs}</configurations><dependencies>{jars}</dependencies></ivy-module>"
    )
    command = [
        # Not worth an optimising compiler: it takes a fifth of the time of so short a run.
        *(str(java), "-XX:TieredStopAtLevel=1", f"-Dmaven.root={maven_root()}", f"-Djvm.cache={ivy_cache}"),
        *(f"-Divy.default.ivy.user.dir={ivy_cache}", *proxy_options(os.environ)),
        *("-cp", str(_ivy_jar()), "org.apache.ivy.Main"),
        *("-settings", str(SETTINGS_FILE), "-ivy", str(ivy_file)),
    ]
    output = bytearray()
    ours, its = os.pipe()
    with (
        os.fdopen(ours, "rb", buffering=0) as pipe,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=its, stderr=subprocess.STDOUT, close_fds=False
        ) as ivy,
    ):
        os.close(its)
        try:
            while select.select([pipe], [], [], SILENCE_SECONDS)[0]:
                piece = pipe.read(65536)
                if not piece:
                    return output.decode(errors="replace")
                output += piece
                on_progress()
        finally:
            ivy.terminate()
    return f"{output.decode(errors='replace')}\nno answer for {SILENCE_SECONDS:g} s\n"


def _ivy_jar() -> Path:
    found = sorted(pyspark_jars().glob("ivy-*.jar"))
    if not found:
        raise Problem(f"PySpark's folder {pyspark_jars()} has no ivy-*.jar: run `make setup`")
    return found[-1]


def proxy_options(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield options for the proxies of `environ`, which Java does not read; without user and password."""
    for scheme in ("http", "https"):
        proxy = urlsplit(environ.get(f"{scheme}_proxy") or environ.get(f"{scheme.upper()}_PROXY") or "")
        if proxy.hostname:
            yield f"-D{scheme}.proxyHost={proxy.hostname}"
            yield f"-D{scheme}.proxyPort={proxy.port or 8080}"


def _failure(missing: list[str], output: str, log: Path) -> str:
    what = missing[0] if len(missing) == 1 else f"{missing[0]} and {len(missing) - 1} more jars"
    reasons = (found[0] for pattern in _REASONS if (found := re.search(pattern, output)))
    why = f" ({next(reasons, 'it has no such file')})"
    return (
        f"could not fetch {what} from {maven_root()}{why}: run again when the network is back (what has come "
        f"is kept); behind a mirror set INFLIGHT_MAVEN_ROOT; all that Ivy said is in {log}"
    )


@contextmanager
def _progress(
    console: Console, files: int, total_bytes: int | None
) -> Iterator[Callable[[list[Jar], Path], None]]:
    """Show progress: a bar on a terminal, a line every ten files elsewhere."""
    if not console.is_terminal:
        told = 0

        def tell(there: list[Jar], _ivy_cache: Path) -> None:
            nonlocal told
            if len(there) >= min(told + 10, files) and len(there) > told:
                told = len(there)
                console.print(f"JVM parts: {len(there)} of {files} jars", highlight=False)

        yield tell
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(f"JVM parts: 0 of {files} jars", total=total_bytes)

        def draw(there: list[Jar], ivy_cache: Path) -> None:
            done_bytes = sum((ivy_cache / jar.file).stat().st_size for jar in there)
            progress.update(
                task, description=f"JVM parts: {len(there)} of {files} jars", completed=done_bytes
            )

        yield draw
