"""Summaries of runs that were never made, of a network whose truth is known: with the noise of a real one.

Latencies are lognormal. A run is faster or slower than the next by the machine's slow drift and by chance of
its own, and its windows by noise that lasts for some of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SECOND_NS = 10**9
Json = dict[str, Any]


@dataclass(frozen=True)
class Network:
    """What the runs are made with: standard deviations are of natural logarithms."""

    windows: int = 40
    messages: int = 300  # a window
    median_ns: float = 2e6
    spread: float = 0.6  # of single messages
    of_windows: float = 0.06
    lasting: float = 0.6  # how much of a window's noise the next one has
    of_runs: float = 0.015  # by chance
    drift: float = 0.03  # of the machine, over many runs
    drift_lasting: float = 0.9  # of it from one run to the next
    rate: float = 1_000.0
    rate_of_runs: float = 0.001
    lost_share: float = 0.0


def drifts(network: Network, runs: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return by how much the machine is slower during each of several runs, one after the other."""
    return _lasting(runs, network.drift, network.drift_lasting, rng)


def summary(
    network: Network,
    rng: np.random.Generator,
    number: int,
    repetition: int | None = None,
    slower: float = 0.0,
) -> Json:
    """Return the summary of one run, `slower` by a logarithm."""
    windows, messages = network.windows, network.messages
    of_windows = _lasting(windows, network.of_windows, network.lasting, rng)
    level = np.log(network.median_ns) + slower + network.of_runs * rng.standard_normal() + of_windows
    latencies = np.exp(level[:, None] + network.spread * rng.standard_normal((windows, messages)))
    lost = rng.binomial(messages, network.lost_share, windows)
    rate = network.rate * np.exp(network.rate_of_runs * rng.standard_normal())
    within = [np.percentile(latencies, q, axis=1) for q in (50, 99)]
    whole = np.percentile(latencies, (50, 99))
    return told(
        number,
        number if repetition is None else repetition,
        p50_ns=float(whole[0]),
        p99_ns=float(whole[1]),
        rate=float(rate),
        windows_p50_ns=within[0].tolist(),
        windows_p99_ns=within[1].tolist(),
        received=[int(messages - of_window) for of_window in lost],
        lost=[int(of_window) for of_window in lost],
    )


def told(
    number: int,
    repetition: int,
    *,
    p50_ns: float | None,
    p99_ns: float | None,
    rate: float,
    windows_p50_ns: Sequence[float | None],
    windows_p99_ns: Sequence[float | None],
    received: Sequence[int],
    lost: Sequence[int],
    unobserved: int = 0,
    refused: int = 0,
) -> Json:
    """Return these figures in the form of a run's summary.json."""
    began_ns = 1_790_000_000 * SECOND_NS + number * 60 * SECOND_NS
    judged = sum(received) + sum(lost) + refused
    return {
        "format": 1,
        "number": number,
        "repetition": repetition,
        "levels": {},
        "began_ns": began_ns,
        "ended_ns": began_ns + 50 * SECOND_NS,
        "stopped": None,
        "at_ceiling": False,
        "figures": {
            "all": {
                "sent": judged + unobserved,
                "received": sum(received),
                "refused": refused,
                "lost": sum(lost),
                "unobserved": unobserved,
                "unsent": 0,
                "asked_per_second": rate,
                "rate_per_second": rate,
                "lost_share": sum(lost) / judged if judged else None,
                "windows": len(received),
                "p50_ns": p50_ns,
                "p99_ns": p99_ns,
                "series": {
                    "window_seconds": 1,
                    "p50_ns": list(windows_p50_ns),
                    "p99_ns": list(windows_p99_ns),
                    "received": list(received),
                    "lost": list(lost),
                },
            }
        },
    }


def by_turns(
    network: Network, repetitions: int, rng: np.random.Generator, slower: float = 0.0
) -> tuple[list[Json], list[Json]]:
    """Return runs of A and B as `compare --run` makes them: in pairs, the order within each by chance."""
    sides: tuple[list[Json], list[Json]] = ([], [])
    drift = drifts(network, 2 * repetitions, rng)
    b_first = rng.random(repetitions) < 0.5
    for place, now in enumerate(drift):
        repetition, second = divmod(place, 2)
        is_b = bool(second) != bool(b_first[repetition])
        made = summary(network, rng, place + 1, repetition, now + (slower if is_b else 0.0))
        sides[is_b].append(made)
    return sides


def one_side(network: Network, runs: int, rng: np.random.Generator, first: int = 1) -> list[Json]:
    """Return runs of one kind, one after the other."""
    return [
        summary(network, rng, first + place, place, now)
        for place, now in enumerate(drifts(network, runs, rng))
    ]


_WOBBLE = (-0.012, -0.006, -0.001, 0.003, 0.005, 0.011, -0.009, 0.007, -0.002, 0.006, -0.004, 0.002)


def steady(
    first: int = 1,
    *,
    runs: int = 6,
    p50_ms: float = 2.0,
    p99_ms: float = 8.0,
    rate: float = 1_000.0,
    lost: Sequence[int] = (0,) * 12,
    windows: int = 30,
    messages: int = 1_000,
    wobble: float = 1.0,
    **changes: Any,
) -> list[Json]:
    """Return steady runs that differ by a percent; every second number from `first`, so B may lie between."""
    made = []
    for run in range(runs):
        of_run = wobble * _WOBBLE[(run + 6 * (first % 2)) % 12]
        factor = math.exp(of_run)
        summary = told(
            first + 2 * run,
            run,
            p50_ns=p50_ms * 1e6 * factor,
            p99_ns=p99_ms * 1e6 * factor,
            rate=rate * math.exp(of_run / 10),
            windows_p50_ns=[p50_ms * 1e6 * factor] * windows,
            windows_p99_ns=[p99_ms * 1e6 * factor] * windows,
            received=[messages] * (windows - 1) + [messages - lost[run]],
            lost=[0] * (windows - 1) + [lost[run]],
        )
        made.append({**summary, **changes})
    return made


def _lasting(length: int, deviation: float, lasting: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return noise of which each value keeps a share of the one before (AR(1)), steady from the start."""
    noise = rng.standard_normal(length) * deviation
    fresh = np.sqrt(1 - lasting**2)
    for place in range(1, length):
        noise[place] = lasting * noise[place - 1] + fresh * noise[place]
    return noise
