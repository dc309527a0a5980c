"""One run: its network, its load, and its summary."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from collectors.process.private_files import replace
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.experiment import acting, figures
from deploy.experiment.acting import Acting
from deploy.experiment.folder import FORMAT
from deploy.experiment.load import Figures, Json, Order, Step
from deploy.experiment.measuring import Measuring
from deploy.experiment.memory import Memory
from deploy.experiment.must import ALL
from deploy.experiment.network import RunningNetwork
from deploy.experiment.order import Run
from deploy.experiment.passage import Passage, Passed
from deploy.experiment.plan import Experiment
from deploy.experiment.search import Searched, search
from deploy.experiment.watch import Watch

_AT_CEILING: Final = 0.95  # of what the load's processes could do by themselves
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
        self._setup = experiment.setup(run.levels)
        self._plan = self._setup.plan
        self._ceiling = ceiling_per_second
        self._beside = experiment.beside
        self.versions: dict[str, str] = {}  # of routers and brokers, as they told them

    def carry_out(self) -> dict[str, Any]:
        """Return the run's summary; raises Problem where there is none, Interrupted when asked to end."""
        began_ns = time.time_ns()
        self._tell("starting the network")
        network = RunningNetwork(self._setup, self._supervisor, self._beside)
        lowest = self._plan.search and f"{self._plan.search.low:.10g}/s"
        made = self._made(network, lowest)
        measuring = Measuring(self._setup.config(made), self._folder, self._supervisor.directory("measured"))
        memory = Memory(self._supervisor, self._folder / "memory.parquet")
        passage = partial(self._passage, network, measuring, memory)
        searched: Searched | None = None
        measuring.start()
        try:
            if self._plan.search is not None:
                searched = search(self._plan.search, passage, measuring, self._tell)
                passed = searched.passed
            else:
                passed = passage(None, self._setup.steps())
        finally:
            measuring.close()
            memory.close()
        if (problem := measuring.problem()) is not None:
            raise Problem(problem)
        self.versions = measuring.versions
        summary = self._summary(began_ns, passed, measuring)
        more: Json = {"search": searched.as_json()} if searched else {}
        return {**summary, "memory": memory.of(network.parts), **more}

    def _made(self, network: RunningNetwork, rate: str | None = None) -> Json:
        return {
            **self._setup.made(network.base, rate),
            "state": str(self._supervisor.directory("state")),
        }

    def _passage(
        self,
        network: RunningNetwork,
        measuring: Measuring,
        memory: Memory,
        rate: str | None,
        steps: list[Step],
    ) -> Passed:
        """Let the load go through the network once, at this rate where one is given."""
        made = self._made(network, rate)
        warm_up_ns = self._plan.phases.warm_up or 0
        order = Order(
            document=self._setup.load,
            made=made,
            config=self._setup.config(made),
            warm_up_ns=warm_up_ns,
            steps=steps,
            supervisor=self._supervisor,
            folder=self._supervisor.directory("load"),
            take=measuring.take,
            take_row=measuring.take_row,
        )
        load = self._setup.kind.make(order)
        watch = Watch(self._plan.stop, self._supervisor, load, measuring, memory, self._folder)

        def act() -> Acting:
            return Acting(self._plan.actions, network.executor(), measuring.take_event, self._tell)

        passage = Passage(load, watch, self._supervisor, act, self._tell)
        return passage.carry_out(warm_up_ns, steps, measuring.window_ns)

    def _summary(self, began_ns: int, passed: Passed, measuring: Measuring) -> dict[str, Any]:
        found: Figures = passed.figures or measuring.figures(passed.from_ns, passed.to_ns)
        measuring.write(passed.from_ns, passed.to_ns)
        told = [acting.in_full(one) for one in passed.done]
        replace(self._folder / "actions.json", json.dumps(told, indent=1).encode())
        rate = found[ALL]["rate_per_second"]
        limited = self._ceiling is not None and rate >= _AT_CEILING * self._ceiling
        return {
            "format": FORMAT,
            **self._run._asdict(),
            "began_ns": began_ns,
            "ended_ns": time.time_ns(),
            "steady_from_ns": passed.from_ns,
            "steady_to_ns": passed.to_ns,
            "stopped": passed.stopped,
            "at_ceiling": limited or passed.at_ceiling,
            "figures": found,
            "steps": self._steps(passed, measuring),
            "actions": [acting.in_short(one) for one in passed.done],
            "held": [must.judge(found) for must in self._plan.must],
        }

    def _steps(self, passed: Passed, measuring: Measuring) -> list[dict[str, Any]]:
        """Return the figures by the values of a setting; the window in which it changed is in none."""
        if self._plan.phases.sequence is None or passed.figures is not None:
            return []
        found, from_ns = [], passed.from_ns
        for step in self._setup.steps():
            to_ns = from_ns + (step.duration_ns or 0)
            if to_ns > passed.to_ns:
                break
            of = measuring.figures(from_ns, figures.before_last(to_ns, measuring.window_ns))
            found.append({"value": step.value, "from_ns": from_ns, "to_ns": to_ns, "figures": of})
            from_ns = to_ns
        return found
