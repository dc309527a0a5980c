"""Networks of a known capacity, as trials of a search see them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np

from streaming.analysis.search import Interval, Search, Trial

System = Callable[[float], Trial]
_FLAT = [3.0] * 30


def exact(capacity: float, ceiling: float = math.inf) -> System:
    """Return a network that carries up to its capacity, asked by a generator that has a ceiling."""
    return lambda rate: _outcome(rate, passed=rate <= capacity, at_ceiling=rate > ceiling)


def blurred(capacity: float, spread: float, seed: int) -> System:
    """Return a network that passes with a chance: one half at its capacity, 73 % at `spread` below it."""
    chance = random.Random(seed)  # noqa: S311 -- an example, no secret

    def trial(rate: float) -> Trial:
        passes = 1 / (1 + math.exp(math.log(rate / capacity) / spread))
        return _outcome(rate, passed=chance.random() < passes)

    return trial


def queue(capacity: float, spread: float, seed: int, seconds: int = 60) -> System:
    """Return a queue that serves about its capacity in each second, and keeps what it did not."""
    numbers = np.random.default_rng(seed)

    def trial(rate: float) -> Trial:
        waiting, served, backlog = 0.0, 0.0, []
        for can in numbers.normal(capacity, spread * capacity, seconds).clip(0):
            now = min(waiting + rate, can)
            waiting, served = waiting + rate - now, served + now
            backlog.append(waiting)
        return Trial(rate, served / seconds, backlog, 0.0, 1e9 * float(np.quantile(backlog, 0.99)) / capacity)

    return trial


def play(search: Search, system: System) -> tuple[Interval, list[float]]:
    """Return what a search finds, and the rates that it tried."""
    tried: list[float] = []
    while (rate := search.next_rate()) is not None:
        tried.append(rate)
        search.took(rate, system(rate))
        assert len(tried) < 1_000
    return search.interval(), tried


def _outcome(rate: float, *, passed: bool, at_ceiling: bool = False) -> Trial:
    return Trial(rate, rate if passed else rate / 2, _FLAT, 0.0, 1_000_000, at_ceiling=at_ceiling)
