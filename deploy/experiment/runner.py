"""All runs of an experiment, one after another, each on a network of its own."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable
from typing import Any, Final

from deploy import logs
from deploy.embedded.supervise.process import Interrupted
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.experiment import estimate, verdict, words
from deploy.experiment.folder import SCRATCH, Folder
from deploy.experiment.order import Run
from deploy.experiment.plan import Experiment
from deploy.experiment.progress import Progress
from deploy.experiment.run import OneRun
from deploy.lab import brokers
from deploy.loads import ceiling

_CEILING_SECONDS: Final = 2.0
HELD, BROKEN, INTERRUPTED = 0, 1, 130  # exit status; 2 is a Problem's
Say = Callable[[str], None]


class Runner:
    def __init__(self, experiment: Experiment, folder: Folder, say: Say) -> None:
        self._experiment, self._folder, self._say = experiment, folder, say

    def run(self, stopping: threading.Event) -> int:
        """Carry out the runs that are missing; return the exit status. Raises Problem where one cannot be."""
        folder = self._folder
        with (
            folder.alone(),
            logs.quiet("inflight.embedded", logging.WARNING),
            logs.quiet("inflight.collect", logging.ERROR),  # what is done on purpose is told already
        ):
            missing = folder.missing(self._experiment.runs)
            for line in words.takes(self._experiment, len(missing)):
                self._say(line)
            self._say(f"results: {folder.path}")
            if not self._carried_out(missing, stopping):
                self._say(f"interrupted; {self._how_to_go_on}")
                return INTERRUPTED
            folder.sum_up()
            summaries = folder.summaries()
            for line in verdict.lines(summaries):
                self._say(line)
            for line in folder.told():
                self._say(line)
        return HELD if verdict.all_held(summaries) else BROKEN

    @property
    def _how_to_go_on(self) -> str:
        return f"`inflight experiment resume {self._folder.path}` goes on"

    def _carried_out(self, missing: list[Run], stopping: threading.Event) -> bool:
        """Carry them out; return False where it was asked to end."""
        try:
            self._carry_out(missing, stopping)
        except (Interrupted, Problem) as error:
            # Ctrl-C also reaches programs that were just started, which then fail.
            if isinstance(error, Problem) and not stopping.is_set():
                raise
            return False
        return True

    def _carry_out(self, missing: list[Run], stopping: threading.Event) -> None:
        setups = {run.number: self._experiment.setup(run.levels) for run in missing}
        for setup in setups.values():
            if setup.network is not None:
                brokers.prepare(setup.network.document)
        if missing:
            self._measure_ceiling()
        seconds = {number: estimate.of_run(setup).seconds for number, setup in setups.items()}
        progress = Progress(self._say, seconds, len(self._experiment.runs))
        for run in missing:
            progress.begin(run)
            try:
                summary = self._one(run, stopping, progress)
            except Problem as problem:
                raise Problem(f"run {run.number}: {problem.message}\n{self._how_to_go_on}") from None
            except Interrupted:
                self._folder.give_up(run)
                raise
            progress.end()
            progress.tell(verdict.line(summary))

    def turn(self, run: Run, stopping: threading.Event) -> bool:
        """Carry out one run, unless it is there; return False where it was asked to end. Raises Problem."""
        with self._folder.alone(), logs.quiet("inflight.embedded", logging.WARNING):
            return self._carried_out(self._folder.missing([run]), stopping)

    def _measure_ceiling(self) -> None:
        """Note what one process of a load can send at the most on this machine, unless that is known."""
        about = self._folder.about()
        if about["ceiling"] is not None:
            return
        self._say("measuring what one process of the load can send by itself")
        try:
            about["ceiling"] = ceiling.measure(_CEILING_SECONDS).as_json()
        except Problem as problem:
            self._say(f"it is not known: {problem.message}; a process that has all of a core is told still")
        else:
            self._folder.note(about)

    def _one(self, run: Run, stopping: threading.Event, progress: Progress) -> dict[str, Any]:
        """Carry out one run, and keep it once it is whole. Its files stay for a look where it fails."""
        folder = self._folder
        part = folder.begin(run)
        scratch = folder.path / SCRATCH
        about = folder.about()
        most = (about["ceiling"] or {}).get("messages_per_second")
        with Supervisor(scratch, stopping=stopping.is_set) as supervisor:
            one = OneRun(self._experiment, run, part, supervisor, progress, most)
            try:
                summary = one.carry_out()
            except OSError as error:
                raise Problem(f"{error.filename or part}: {error.strerror or error}") from None
        shutil.rmtree(scratch, ignore_errors=True)
        folder.finish(run, summary)
        known = about["versions"].get("parts", {})
        if one.versions.items() - known.items():
            about["versions"]["parts"] = known | one.versions
            folder.note(about)
        return summary
