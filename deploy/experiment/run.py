"""One run: its network, its load through all phases, what is done meanwhile, and its summary."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from collectors.contract.window_rows import WindowRow
from collectors.process.private_files import replace
from collectors.process.worker import Worker
from deploy.actions.performance import Done
from deploy.actions.player import play
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.experiment import figures
from deploy.experiment.folder import FORMAT
from deploy.experiment.load import Figures, Load, Order
from deploy.experiment.measuring import Measuring
from deploy.experiment.memory import Memory
from deploy.experiment.must import ALL
from deploy.experiment.network import RunningNetwork
from deploy.experiment.order import Run
from deploy.experiment.plan import Experiment
from deploy.experiment.setup import Setup
from deploy.experiment.watch import Watch

_SECOND_NS: Final = 1_000_000_000
_LOOK_SECONDS: Final = 0.1
_AT_CEILING: Final = 0.95
Tell = Callable[[str], None]


class OneRun:
    """`carry_out` once; what it leaves is in `folder`, but for the summary that it returns."""

    def __init__(
        self,
        experiment: Experiment,
        run: Run,
        folder: Path,
        supervisor: Supervisor,
        tell: Tell,
        ceiling_per_second: float | None,
    ) -> None:
        self._run, self._folder, self._supervisor, self._tell = run, folder, supervisor, tell
        self._setup: Setup = experiment.setup(run.levels)
        self._plan = self._setup.plan
        self._ceiling = ceiling_per_second
        self._beside = experiment.beside
        self.versions: dict[str, str] = {}

    def carry_out(self) -> dict[str, Any]:
        """Return the run's summary; raises Problem where there is none, Interrupted when asked to end."""
        began_ns = time.time_ns()
        self._tell("starting the network")
        network = RunningNetwork(self._setup, self._supervisor, self._beside)
        made = {**self._setup.made(network.base), "state": str(self._supervisor.directory("state"))}
        config = self._setup.config(made)
        measuring = Measuring(config, self._folder, self._supervisor.directory("measured"))
        memory = Memory(self._supervisor, self._folder / "memory.parquet")
        order = Order(
            document=self._setup.load,
            made=made,
            config=config,
            warm_up_ns=self._plan.phases.warm_up or 0,
            steps=self._setup.steps(),
            supervisor=self._supervisor,
            folder=self._supervisor.directory("load"),
            take=measuring.take,
        )
        load = self._setup.kind.make(order)
        load.start()
        measuring.start()
        watch = Watch(self._plan.stop, self._supervisor, load, measuring, memory, self._folder)
        try:
            span, stopped, done = self._phases(load, measuring, watch, network)
            self._tell("waiting for what is on its way")
            load.stop()
        finally:
            measuring.close()
            memory.close()
        if (problem := measuring.problem()) is not None:
            raise Problem(problem)
        self.versions = measuring.versions
        return self._summary(began_ns, span, stopped, done, load, measuring, memory, network.parts)

    # -- its phases

    def _phases(
        self, load: Load, measuring: Measuring, watch: Watch, network: RunningNetwork
    ) -> tuple[tuple[int, int], str | None, list[Done]]:
        """Return the measured time, why it was cut short, if it was, and what was done meanwhile."""
        warm_up_ns = self._plan.phases.warm_up or 0
        if warm_up_ns:
            self._tell(f"warm-up, {warm_up_ns / _SECOND_NS:g} s")
        length_ns = _whole(measuring.window_ns)
        from_ns = _up(load.begin() + warm_up_ns, length_ns)
        stopped = self._wait(watch, lambda: time.time_ns() >= from_ns)
        steps = self._setup.steps()
        if steps[-1].duration_ns is None:
            self._tell("measuring until all is sent")
            over = partial(_finished, load)
        else:
            to_ns = from_ns + _up(sum(step.duration_ns or 0 for step in steps), length_ns)
            self._tell(f"measuring, {(to_ns - from_ns) / _SECOND_NS:g} s")
            over = partial(_is_past, to_ns)
        acting = _Acting(self._plan.actions, network, measuring, self._tell)
        try:
            stopped = stopped or self._wait(watch, lambda: over() and acting.may_end(steps[-1].duration_ns))
        finally:
            acting.end()
        if steps[-1].duration_ns is None or stopped:
            to_ns = _up(time.time_ns(), length_ns)
        if stopped:
            self._tell(f"stopped: {stopped}")
        return (from_ns, to_ns), stopped, acting.done()

    def _wait(self, watch: Watch, over: Callable[[], bool]) -> str | None:
        """Return when it is over, or the reason why a stop rule ends the run."""
        while not over():
            self._supervisor.give_up_if_asked()
            if (why := watch.look()) is not None:
                return why
            time.sleep(_LOOK_SECONDS)
        return None

    # -- what it found

    def _summary(
        self,
        began_ns: int,
        span: tuple[int, int],
        stopped: str | None,
        done: list[Done],
        load: Load,
        measuring: Measuring,
        memory: Memory,
        parts: frozenset[str],
    ) -> dict[str, Any]:
        from_ns, to_ns = span
        rows = measuring.rows()
        steady = {name: figures.within(windows, from_ns, to_ns) for name, windows in rows.items()}
        found: Figures = load.figures(from_ns, to_ns) or figures.of_paths(steady, measuring.unbounded())
        measuring.write(steady)
        replace(self._folder / "actions.json", json.dumps([_told(one) for one in done], indent=1).encode())
        rate = found[ALL]["rate_per_second"]
        at_ceiling = self._ceiling is not None and rate >= _AT_CEILING * self._ceiling
        return {
            "format": FORMAT,
            **self._run._asdict(),
            "began_ns": began_ns,
            "ended_ns": time.time_ns(),
            "steady_from_ns": from_ns,
            "steady_to_ns": to_ns,
            "stopped": stopped,
            "at_ceiling": at_ceiling or load.at_ceiling(),
            "figures": found,
            "steps": self._steps(from_ns, measuring, rows),
            "actions": [_short(one) for one in done],
            "memory": memory.of(parts),
            "held": [must.judge(found) for must in self._plan.must],
        }

    def _steps(
        self, from_ns: int, measuring: Measuring, rows: Mapping[str, list[WindowRow]]
    ) -> list[dict[str, Any]]:
        """Return the figures by the values of a setting; the window in which it changed is in none."""
        if self._plan.phases.sequence is None:
            return []
        found, length_ns = [], _whole(measuring.window_ns)
        for step in self._setup.steps():
            to_ns = from_ns + (step.duration_ns or 0)
            inside = {
                name: figures.within(windows, from_ns, to_ns - length_ns) for name, windows in rows.items()
            }
            of = figures.of_paths(inside, measuring.unbounded())
            found.append({"value": step.value, "from_ns": from_ns, "to_ns": to_ns, "figures": of})
            from_ns = to_ns
        return found


class _Acting:
    """What is done to the network while it is measured."""

    def __init__(self, actions: Any, network: RunningNetwork, measuring: Measuring, tell: Tell) -> None:
        self._stopping = threading.Event()
        self._found: list[Done] = []
        self._actions = actions
        self._worker = Worker("actions", partial(self._play, network, measuring, tell), again=False)
        if actions:
            self._worker.start()

    def _play(self, network: RunningNetwork, measuring: Measuring, tell: Tell) -> None:
        try:
            self._found = play(self._actions, network.executor(), measuring.take_event, self._stopping, tell)
        except Problem as problem:
            raise RuntimeError(problem.message) from None

    def may_end(self, duration_ns: int | None) -> bool:
        """Return whether a run may be over: where a count ends it, what is done has to be done."""
        if self._worker.ended.is_set() and self._worker.problem:
            return True
        return duration_ns is not None or not self._actions or self._worker.ended.is_set()

    def end(self) -> None:
        """Undo what goes on; return when that is done."""
        self._stopping.set()
        if self._actions:
            self._worker.join()

    def done(self) -> list[Done]:
        """Return what became of each; raises Problem where they could not be done at all."""
        if self._worker.problem is not None:
            raise Problem(f"the actions of the plan cannot be done: {self._worker.problem}")
        return self._found


def _finished(load: Load) -> bool:
    return load.finished


def _is_past(until_ns: int) -> bool:
    return time.time_ns() >= until_ns


def _whole(window_ns: int) -> int:
    return max(window_ns, _SECOND_NS)


def _up(time_ns: int, length_ns: int) -> int:
    """Return the next begin of a window."""
    return -(-time_ns // length_ns) * length_ns


def _short(done: Done) -> dict[str, Any]:
    return {
        "name": done.action.do,
        "what": done.action.what,
        "began_ns": done.began_ns,
        "ended_ns": done.ended_ns,
        "problem": done.left or done.problem,
    }


def _told(done: Done) -> dict[str, Any]:
    return {**_short(done), "results": [asdict(result) for result in done.results]}
