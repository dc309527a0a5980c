"""PostgreSQL's programs: where they are looked for, and what is said where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.embedded.programs import postgres
from deploy.errors import Problem


def program(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch(mode=0o755)
    return folder


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without PostgreSQL, on which Debian's packages would be below tmp_path."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(postgres, "_PACKAGED", (str(tmp_path / "lib" / "*" / "bin"),))


def test_without_it_the_package_is_named() -> None:
    """In one sentence, with where it was looked for."""
    with pytest.raises(
        Problem, match=r"no `postgres` on the PATH or in .*: install Debian's package postgresql"
    ):
        postgres.programs()


def test_the_newest_of_the_packaged_ones(tmp_path: Path) -> None:
    """By number: 15 is newer than 9."""
    for version in ("9", "15", "13"):
        program(tmp_path / "lib" / version / "bin", "postgres", "initdb", "psql")
    assert postgres.programs() == tmp_path / "lib" / "15" / "bin"


def test_that_of_the_path_goes_first_and_may_be_a_link(tmp_path: Path) -> None:
    """As a link alone it leads to the folder that has all three."""
    whole = program(tmp_path / "opt" / "bin", "postgres", "initdb", "psql")
    program(tmp_path / "lib" / "15" / "bin", "postgres", "initdb", "psql")
    program(tmp_path / "path")
    (tmp_path / "path" / "postgres").symlink_to(whole / "postgres")
    assert postgres.programs() == whole


def test_a_server_alone_is_not_enough(tmp_path: Path) -> None:
    """Who has postgres without initdb and psql is told which are missing."""
    program(tmp_path / "path", "postgres")
    with pytest.raises(Problem, match="has no initdb and psql beside it"):
        postgres.programs()
