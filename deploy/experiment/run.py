"""One run: its network, its load, and its summary."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from collectors.config.paths import resolve
from collectors.process.private_files import replace
from deploy.actions.performance import Done
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.experiment import acting, jitter, rising
from deploy.experiment.acting import Acting
from deploy.experiment.folder import FORMAT
from deploy.experiment.jitter import Arrivals
from deploy.experiment.load import Figures, Json, Order, Step
from deploy.experiment.measuring import Measuring
from deploy.experiment.memory import Memory
from deploy.experiment.network import RunningNetwork
from deploy.experiment.order import Run
from deploy.experiment.passage import Passage, Passed
from deploy.experiment.plan import Experiment
from deploy.experiment.progress import Progress
from deploy.experiment.search import Searched, search
from deploy.experiment.setup import Setup
from deploy.experiment.watch import Watch
from deploy.loads.figures import ALL

_AT_CEILING: Final = 0.95  # of what the load's processes could do by themselves


class OneRun:
    """`carry_out` once; what it leaves is in `folder`, but for the summary that it returns."""

    def __init__(
        self,
        experiment: Experiment,
        run: Run,
        folder: Path,
        supervisor: Supervisor,
        progress: Progress,
        ceiling_per_second: float | None,
    ) -> None:
        """`ceiling_per_second`: what one process of the load can send at the most, where it is known."""
        self._run, self._folder, self._supervisor = run, folder, supervisor
        self._progress, self._tell = progress, progress.tell
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
        lowest = f"{self._plan.search.low:.10g}/s" if self._plan.search else None
        made = self._made(self._setup, network, lowest)
        scratch = self._supervisor.directory("measured")
        self._arrivals = Arrivals() if self._plan.jitter else None
        measuring = Measuring(self._setup.config(made), self._folder, scratch, self._arrivals)
        memory = Memory(self._supervisor, self._folder / "memory.parquet")
        passage = partial(self._passage, network, measuring, memory)
        several: list[tuple[Any, Passed]] = []
        searched: Searched | None = None
        measuring.start()
        try:
            if self._plan.search is not None:
                searched = search(self._plan.search, partial(passage, self._setup), measuring, self._tell)
                several = [(None, searched.passed)]
            elif in_turn := self._setup.in_turn():
                several = list(self._in_turn(in_turn, passage))
            else:
                several = [(None, passage(self._setup, None, self._setup.steps()))]
        finally:
            measuring.close()
            memory.close()
        if (problem := measuring.problem()) is not None:
            raise Problem(problem)
        self.versions = measuring.versions
        summary = self._summary(began_ns, several, measuring)
        more: Json = {"search": searched.as_json()} if searched else {}
        return {**summary, "memory": memory.of(network.parts), **more}

    def _made(self, setup: Setup, network: RunningNetwork, rate: str | None) -> Json:
        state = str(self._supervisor.directory("state"))
        return {**setup.made(network.base, rate), "state": state}

    def _in_turn(
        self, in_turn: list[tuple[Any, Setup]], passage: Callable[[Setup, str | None, list[Step]], Passed]
    ) -> Iterator[tuple[Any, Passed]]:
        """Yield the passage of each value of a setting, until one has to be stopped."""
        for value, setup in in_turn:
            self._tell(f"now {value}")
            passed = passage(setup, None, setup.steps())
            yield value, passed
            if passed.stopped is not None:
                return

    def _passage(
        self,
        network: RunningNetwork,
        measuring: Measuring,
        memory: Memory,
        setup: Setup,
        rate: str | None,
        steps: list[Step],
    ) -> Passed:
        """Let a load go through the network once, at this rate where one is given."""
        made = self._made(setup, network, rate)
        warm_up_ns = self._plan.phases.warm_up or 0
        order = Order(
            document=setup.load,
            made=made,
            config=setup.config(made),
            warm_up_ns=warm_up_ns,
            steps=steps,
            supervisor=self._supervisor,
            folder=self._supervisor.directory("load"),
            take=measuring.take,
            take_row=measuring.take_row,
        )
        load = setup.kind.make(order)
        watch = Watch(self._plan.stop, self._supervisor, load, measuring, memory, self._folder)

        def act() -> Acting:
            return Acting(self._plan.actions, network.executor(), measuring.take_event, self._tell)

        passage = Passage(load, watch, self._supervisor, act, self._progress)
        return passage.carry_out(warm_up_ns, steps, measuring.window_ns)

    def _summary(
        self, began_ns: int, several: list[tuple[Any, Passed]], measuring: Measuring
    ) -> dict[str, Any]:
        passed = [one for _, one in several]
        spans = [(one.from_ns, one.to_ns) for one in passed]
        found: Figures = passed[-1].figures or measuring.figures(
            spans, passed[-1].unbounded, counted=passed[-1].counted
        )
        done = [one for each in passed for one in each.done]
        steps = [step for each in several for step in self._steps(each, measuring)]
        measuring.write(spans)
        told = json.dumps([acting.in_full(one) for one in done], indent=1)
        replace(self._folder / "actions.json", told.encode())
        rate = found[ALL]["rate_per_second"]
        ceiling = (self._ceiling or 0.0) * passed[-1].processes
        limited = 0 < _AT_CEILING * ceiling <= rate
        return {
            "format": FORMAT,
            **self._run._asdict(),
            "began_ns": began_ns,
            "ended_ns": time.time_ns(),
            "steady_from_ns": spans[0][0],
            "steady_to_ns": spans[-1][1],
            "stopped": passed[-1].stopped,
            "at_ceiling": limited or any(one.at_ceiling for one in passed),
            "figures": found,
            "steps": steps,
            **({"ramp": risen} if (risen := rising.read(steps)) else {}),
            **({"jitter": self._jitter(done, spans[-1][1])} if self._arrivals is not None else {}),
            "waiting": measuring.waiting(spans),
            "actions": [acting.in_short(one) for one in done],
            "held": [must.judge(found) for must in self._plan.must],
        }

    def _jitter(self, done: list[Done], to_ns: int) -> Json:
        assert self._arrivals is not None  # noqa: S101 -- who asks has looked
        return jitter.peaks(self._arrivals, resolve(self._setup.config()).values(), done, to_ns)

    def _steps(self, each: tuple[Any, Passed], measuring: Measuring) -> Iterator[Json]:
        """Yield the values of a setting that changed, with their times and figures."""
        value, passed = each
        sequence = self._plan.phases.sequence
        if sequence is None:
            return
        if value is not None:  # in a passage of its own
            times = [(value, passed.from_ns, passed.to_ns, passed.to_ns)]
        else:
            times, from_ns = [], passed.from_ns
            for step in passed.steps:
                to_ns = from_ns + (step.duration_ns or 0)
                if to_ns <= passed.to_ns:
                    # The window in which it changed has messages of both values.
                    times.append((step.value, from_ns, to_ns, to_ns - measuring.window_ns))
                from_ns = to_ns
        for level, from_ns, to_ns, until_ns in times:
            alone = [(from_ns, until_ns)]
            yield {
                "value": level,
                "from_ns": from_ns,
                "to_ns": to_ns,
                "in_time": measuring.in_time(alone, sequence.within),
                "figures": passed.figures or measuring.figures(alone, passed.unbounded),
            }
