"""Which Java is taken, and what is said where there is none that will do."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.jvm.java import NoJavaError, find_java

_REMEDY = (
    "; install one (Debian: apt-get install default-jre-headless; "
    "Fedora: dnf install java-21-openjdk-headless) or point JAVA_HOME at one"
)


def _fake(folder: Path, says: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\ncat >&2 <<'EOF'\n{says}\nEOF\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    "says",
    [
        'openjdk version "17.0.15" 2025-04-15',
        'openjdk version "21" 2023-09-19',
        'openjdk version "25-ea" 2025-09-16',
        'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\njava version "17.0.1"',
    ],
)
def test_java_17_and_newer_will_do(tmp_path: Path, says: str) -> None:
    """Releases, first releases, early ones, and with other lines before."""
    java = _fake(tmp_path, says)
    assert find_java({"PATH": str(java.parent)}) == java


@pytest.mark.parametrize(
    ("says", "version"),
    [('java version "1.8.0_392"', 8), ('openjdk version "11.0.2" 2019-01-15', 11)],
)
def test_an_older_java_is_named(tmp_path: Path, says: str, version: int) -> None:
    """The text tells which Java was found, its version, and what to do."""
    java = _fake(tmp_path, says)
    with pytest.raises(NoJavaError) as told:
        find_java({"PATH": str(java.parent)})
    assert str(told.value) == (
        f"Spark, Kafka and Artemis need Java 17 or newer, but {java} is Java {version}{_REMEDY}"
    )


def test_no_java_at_all(tmp_path: Path) -> None:
    """An empty PATH gets the same advice."""
    with pytest.raises(NoJavaError) as told:
        find_java({"PATH": str(tmp_path)})
    assert str(told.value) == (
        f"Spark, Kafka and Artemis need Java 17 or newer, but there is no java on the PATH{_REMEDY}"
    )


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    """Who sets JAVA_HOME means it: a good one is taken, a wrong one is told, never passed over."""
    on_path = _fake(tmp_path / "path", 'openjdk version "17.0.15"')
    at_home = _fake(tmp_path / "home", 'openjdk version "21.0.1"')
    environ = {"PATH": str(on_path.parent), "JAVA_HOME": str(tmp_path / "home")}
    assert find_java(environ) == at_home
    with pytest.raises(NoJavaError, match="JAVA_HOME=/nowhere has no bin/java: correct or unset JAVA_HOME;"):
        find_java({**environ, "JAVA_HOME": "/nowhere"})


def test_a_java_that_makes_no_sense(tmp_path: Path) -> None:
    """A broken Java's own last words are passed on."""
    java = _fake(tmp_path, "cannot allocate memory")
    with pytest.raises(NoJavaError, match="java -version` said: cannot allocate memory;"):
        find_java({"PATH": str(java.parent)})
