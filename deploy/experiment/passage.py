"""One passage of a load through a network: warm-up, the measured time, the wait for what is on its way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from deploy.actions.performance import Done
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.experiment.acting import Acting
from deploy.experiment.load import Figures, Load, Step
from deploy.experiment.progress import Progress
from deploy.experiment.watch import Watch

SECOND_NS: Final = 1_000_000_000
_LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True, kw_only=True)
class Passed:
    """The measured time, in whole windows, and what is known of it beside what was counted."""

    from_ns: int
    to_ns: int
    steps: Sequence[Step]
    stopped: str | None  # why it was cut short
    done: list[Done]
    at_ceiling: bool
    unbounded: list[str]  # paths that went as fast as they could
    processes: int  # of the load, that sent
    figures: Figures | None  # of a load that counts by itself

    @property
    def counted(self) -> bool:
        """Whether a number of messages ended it."""
        return self.steps[-1].duration_ns is None


class Passage:
    def __init__(
        self, load: Load, watch: Watch, supervisor: Supervisor, act: Callable[[], Acting], progress: Progress
    ) -> None:
        """`act` is called when the measured time begins."""
        self._load, self._watch, self._supervisor, self._act = load, watch, supervisor, act
        self._tell, self._beat = progress.tell, progress.beat

    def carry_out(self, warm_up_ns: int, steps: Sequence[Step], window_ns: int) -> Passed:
        """Return when all is counted; raises Problem, and Interrupted when asked to end."""
        load = self._load
        load.start()
        self._tell(f"warm-up, {warm_up_ns / SECOND_NS:g} s" if warm_up_ns else "the load begins")
        first_ns, last_ns = load.begin()
        from_ns = up(last_ns + warm_up_ns, window_ns)
        if steps[-1].duration_ns is None and not warm_up_ns:
            from_ns = first_ns // window_ns * window_ns  # of a count none is left out
        stopped = self._wait(lambda: time.time_ns() >= from_ns)
        acting = self._act()
        try:
            stopped = stopped or self._measured(acting, from_ns, steps)
        finally:
            acting.end()
        to_ns = from_ns + sum(step.duration_ns or 0 for step in steps) // window_ns * window_ns
        if stopped:
            self._tell(f"stopped: {stopped}")
            to_ns = max(from_ns, time.time_ns() // window_ns * window_ns)
        elif steps[-1].duration_ns is None:
            to_ns = up(time.time_ns(), window_ns)
        self._tell("waiting for what is on its way")
        load.stop()
        return Passed(
            from_ns=from_ns,
            to_ns=to_ns,
            steps=steps,
            stopped=stopped,
            done=acting.done(),
            at_ceiling=load.at_ceiling(),
            unbounded=load.unbounded(),
            processes=load.processes(),
            figures=load.figures(from_ns, to_ns),
        )

    def _measured(self, acting: Acting, from_ns: int, steps: Sequence[Step]) -> str | None:
        if steps[-1].duration_ns is None:
            self._tell("measuring until all is sent")
            return self._wait(lambda: self._load.finished and acting.over)
        length_ns = sum(step.duration_ns or 0 for step in steps)
        self._tell(f"measuring, {length_ns / SECOND_NS:g} s")
        return self._wait(lambda: time.time_ns() >= from_ns + length_ns)

    def _wait(self, over: Callable[[], bool]) -> str | None:
        """Return when it is over, or why a stop rule ends it; one looks however soon it is over."""
        while True:
            self._supervisor.give_up_if_asked()
            if (why := self._watch.look()) is not None:
                return why
            if over():
                return None
            self._beat()
            time.sleep(_LOOK_SECONDS)


def up(time_ns: int, length_ns: int) -> int:
    """Return the next begin of a window."""
    return -(-time_ns // length_ns) * length_ns
