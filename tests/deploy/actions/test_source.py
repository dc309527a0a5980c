"""Commands from a folder or a git repository: exactly the commit that was named, or nothing of it is run."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest
from acting import action

from deploy.actions import source
from deploy.actions.command import Commands
from deploy.actions.steps import FailedError, Within
from deploy.errors import Problem
from deploy.topology.action import Source


def git(folder: Path, *arguments: str) -> str:
    author = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", folder, *author, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With two commits: the tool says `one` in the first, and `two` in the second."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    tool = folder / "tool.sh"
    for word in ("one", "two"):
        tool.write_text(f"#!/bin/sh\necho {word} $1\n")
        tool.chmod(0o755)
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", word)
    return folder


def commit_of(repository: Path, name: str) -> str:
    return git(repository, "rev-parse", name)


def test_the_commit_that_is_named_is_run(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first one, though the branch has gone on; fetched once, and the same folder the next time."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = {"git": f"file://{repository}", "commit": commit_of(repository, "HEAD~1")}
    tool = action("command", "B", run="./tool.sh {part}", **{"from": first})
    for _ in range(2):
        step = Commands(tmp_path).steps(tool).do
        assert step.carry_out(Within(60, threading.Event())).output == "one B\n"
    assert len(list((tmp_path / "cache/inflight/commands").iterdir())) == 1


def test_a_commit_that_is_not_there(repository: Path, tmp_path: Path) -> None:
    """Git's own words say so, and nothing is left that could be taken for it the next time."""
    wanted = Source(git=f"file://{repository}", commit="f" * 40)
    for _ in range(2):
        with pytest.raises(
            Problem, match=r"^git fetch of file://.* at ffff.* failed: git: exit status 128: "
        ):
            source.folder(wanted, tmp_path, tmp_path / "cache")


def test_what_was_fetched_and_changed_since_is_refused(repository: Path, tmp_path: Path) -> None:
    """Whoever changed it: it is not what was named."""
    wanted = Source(git=f"file://{repository}", commit=commit_of(repository, "HEAD"))
    place = source.folder(wanted, tmp_path, tmp_path / "cache")
    (place / "tool.sh").write_text("#!/bin/sh\nrm -rf /\n")
    with pytest.raises(
        Problem, match=r"is not as commit [0-9a-f]{40} has it \('M tool.sh'\): nothing of it is run"
    ):
        source.folder(wanted, tmp_path, tmp_path / "cache")
    git(place, "commit", "-q", "-a", "-m", "three")
    with pytest.raises(
        Problem, match=r"is at commit [0-9a-f]{40}, not at [0-9a-f]{40}: nothing of it is run"
    ):
        source.folder(wanted, tmp_path, tmp_path / "cache")


def test_a_checkout_of_one_s_own_has_to_be_at_the_commit(repository: Path) -> None:
    """Without a commit it is taken as it is."""
    at = commit_of(repository, "HEAD")
    here = repository.parent
    assert source.folder(Source(folder=Path("repository"), commit=at), here) == repository
    (repository / "new").touch()
    with pytest.raises(Problem, match=r"has it \('\?\? new'\)"):
        source.folder(Source(folder=repository, commit=at), here)
    assert source.folder(Source(folder=repository), here) == repository
    with pytest.raises(Problem, match="not at"):
        source.folder(Source(folder=repository, commit=commit_of(repository, "HEAD~1")), here)


def test_a_change_that_git_was_told_to_pass_over(repository: Path) -> None:
    """Files that are ignored, and those that the index says are unchanged, are not of the commit either."""
    wanted = Source(folder=repository, commit=commit_of(repository, "HEAD"))
    exclude = repository / ".git/info/exclude"
    exclude.write_text("own.sh\n")
    (repository / "own.sh").touch()
    with pytest.raises(Problem, match=r"has it \('!! own.sh'\)"):
        source.folder(wanted, repository)
    (repository / "own.sh").unlink()
    git(repository, "update-index", "--assume-unchanged", "tool.sh")
    (repository / "tool.sh").write_text("#!/bin/sh\nrm -rf /\n")
    with pytest.raises(Problem, match=r"has it \('M tool.sh'\)"):
        source.folder(wanted, repository)


def test_a_change_between_the_begin_of_a_story_and_the_command(repository: Path, tmp_path: Path) -> None:
    """It is looked at again before the command runs."""
    wanted = {"folder": "repository", "commit": commit_of(repository, "HEAD")}
    steps = Commands(tmp_path).steps(action("command", "B", run="./tool.sh", **{"from": wanted}))
    assert steps.check is not None
    steps.check.carry_out(Within(60, threading.Event()))
    (repository / "tool.sh").write_text("#!/bin/sh\nrm -rf /\n")
    with pytest.raises(FailedError, match=r"has it \('M tool.sh'\)"):
        steps.check.carry_out(Within(60, threading.Event()))


def test_what_is_no_folder(tmp_path: Path) -> None:
    """Nor a repository."""
    with pytest.raises(Problem, match="gone is no folder"):
        source.folder(Source(folder=Path("gone")), tmp_path)
    with pytest.raises(
        Problem, match=r"git rev-parse of .* failed: git: exit status 128: fatal: not a git repository"
    ):
        source.folder(Source(folder=tmp_path, commit="a" * 40), tmp_path)


def test_a_hook_of_the_repository_does_not_run(repository: Path, tmp_path: Path) -> None:
    """Nor does one that stands among the user's settings for new repositories."""
    hook = repository / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    source.folder(
        Source(git=f"file://{repository}", commit=commit_of(repository, "HEAD")), tmp_path, tmp_path / "cache"
    )
    assert not (tmp_path / "ran").exists()
