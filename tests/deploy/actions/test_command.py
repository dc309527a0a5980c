"""Templates: what is run for each verb, and that nothing in a name becomes a word of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from acting import action

from deploy.actions.command import Commands, Template
from deploy.actions.program import Run
from deploy.actions.several import Several
from deploy.errors import Problem


def lines(template: str, verb: str, what: str = "B", **fields: object) -> list[str | None]:
    """What is run to do it, and to undo it."""
    steps = Template(template).steps(action(verb, what, **fields))
    return [" ".join(step.argv) if isinstance(step, Run) else None for step in (steps.do, steps.undo)]


@pytest.mark.parametrize(
    ("template", "verb", "do", "undo"),
    [
        ("docker", "kill", "docker kill B", "docker start B"),
        ("docker", "pause", "docker pause B", "docker unpause B"),
        ("docker", "restart", "docker restart B", None),
        ("podman", "stop", "podman stop B", "podman start B"),
        ("systemctl", "kill", "systemctl kill --signal=SIGKILL B", "systemctl start B"),
        ("systemctl", "pause", "systemctl kill --signal=SIGSTOP B", "systemctl kill --signal=SIGCONT B"),
        (
            "kubectl",
            "stop",
            "kubectl scale deployment/B --replicas=0",
            "kubectl scale deployment/B --replicas=1",
        ),
        ("kubectl", "restart", "kubectl rollout restart deployment/B", None),
        ("tool {verb} --on={part}", "kill", "tool kill --on=B", "tool start --on=B"),
    ],
)
def test_what_is_run(template: str, verb: str, do: str, undo: str | None) -> None:
    """To do it, and to undo it."""
    assert lines(template, verb) == [do, undo]


def test_a_link_and_its_fields() -> None:
    """In a template of one's own they have their names."""
    assert lines("tc.sh {verb} {part} {ms}", "delay", "B--A", ms=5) == [
        "tc.sh delay A--B 5.0",
        "tc.sh clear A--B 5.0",
    ]


def test_a_word_stays_a_word() -> None:
    """No shell reads the line, and braces of others stay."""
    argv = Template("sh -c 'echo \"$1\" ${HOME} {unknown}' {part}").argv("kill", action("kill", "B"))
    assert argv == ("sh", "-c", 'echo "$1" ${HOME} {unknown}', "B")


def test_what_a_template_cannot_do() -> None:
    """It is told before anything is done, the undo included."""
    with pytest.raises(Problem, match="kubectl has no way to kill; it has stop, start, restart"):
        lines("kubectl", "kill")
    with pytest.raises(Problem, match="'dokcer' is none of docker, podman, systemctl, kubectl"):
        Template("dokcer")
    with pytest.raises(Problem, match="is no command line: No closing quotation"):
        lines("tool '{part}", "kill")


def test_an_action_names_its_executor(tmp_path: Path) -> None:
    """`by` in a story; a command of the user's is always this machine's."""
    several = Several(Template("docker"), {}, tmp_path)

    def argv(**fields: object) -> tuple[str, ...]:
        step = several.steps(action(**fields)).do  # type: ignore[arg-type]  # of a test
        assert isinstance(step, Run)
        return step.argv

    assert argv(do="kill", what="B") == ("docker", "kill", "B")
    assert argv(do="kill", what="B", by="podman") == ("podman", "kill", "B")
    assert argv(do="kill", what="B", by="x {part}") == ("x", "B")
    assert argv(do="command", what="A--B", run="cut.sh {part}", by="podman") == ("cut.sh", "A--B")
    with pytest.raises(Problem, match="kill B: `by: ssh` is not possible here"):
        argv(do="kill", what="B", by="ssh")


def test_a_command_runs_in_its_folder(tmp_path: Path) -> None:
    """It is found there, too, where it is called by ./NAME; `undo` likewise."""
    (tmp_path / "tools").mkdir()
    both = action("command", "B", run="./over.sh {part}", undo=["back.sh", "{part}"], **{"from": "tools"})
    steps = Commands(tmp_path).steps(both)
    folder = tmp_path / "tools"
    assert steps.do == Run(argv=(f"{folder}/over.sh", "B"), folder=folder)
    assert steps.undo == Run(argv=("back.sh", "B"), folder=folder)
