"""How far off a difference may be: the spread between repetitions, and that of the windows within them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy import special

from streaming.analysis.bootstrap import block_length, drawn_counts
from streaming.analysis.figures import FIGURES, Figure, Name, Numbers, Run, Series

CONFIDENCE: Final = 0.90
_TAIL: Final = (1 - CONFIDENCE) / 2
DRAWS: Final = 2_000
_MOST_PIECES: Final = 128  # of a longer series neighbouring windows are added up first


def most_lost(lost: int, of: int, confidence: float = 1 - _TAIL) -> float:
    """Return the upper bound of a share of loss (Clopper and Pearson 1934): above it with 1 − confidence."""
    if lost >= of:
        return 1.0
    return float(special.betaincinv(lost + 1, of - lost, confidence))


def messages_needed(share: float) -> int:
    """Return of how many messages none may be lost for the bound to be at most this share."""
    return int(np.ceil(np.log(_TAIL) / np.log1p(-share)))


def within_runs(runs: Sequence[Run], seed: int, side: int) -> dict[Name, Numbers]:
    """Return how far each figure of each run may be off by its windows alone: a row of draws for each run."""
    pieces = [_pieces(run.series, run.judged) for run in runs]
    length = _common_length(pieces)
    rows: dict[Name, list[Numbers]] = {figure.name: [] for figure in FIGURES}
    for place, parts in enumerate(pieces):
        rng = np.random.default_rng((seed, side, place))
        counts = drawn_counts(parts.shape[-1], length, DRAWS, rng).astype(np.float64)
        for figure, (over, under) in zip(FIGURES, parts, strict=True):
            rows[figure.name].append(_off(figure, counts @ over, counts @ under, over.sum(), under.sum()))
    return {name: np.array(row) for name, row in rows.items()}


def mean_draws(values: Numbers, within: Numbers, rng: np.random.Generator) -> Numbers:
    """Return draws of how far the mean of repetitions may be off.

    What the repetitions differ by, beyond what their windows explain, is drawn from them with
    replacement; each one's own windows are drawn beside. So the variance of a draw is that between the
    repetitions, or that within where it is larger, and neither is counted twice.
    """
    n = len(values)
    between, inside = float(values.var(ddof=1)), float(within.var(axis=1).mean())
    share = max(between - inside, 0.0) / between if between > 0 else 0.0
    away = (values - values.mean()) * np.sqrt(share * n / (n - 1))
    drawn: Numbers = away[rng.integers(n, size=(within.shape[1], n))].mean(axis=1) + within.mean(axis=0)
    return drawn


def of_draws(draws: Numbers, freedom: float) -> tuple[float, float]:
    """Return the interval of draws around 0: between wider quantiles for few repetitions, as Student's t is.

    [With six a side, plain quantiles of repetitions drawn anew hold the truth in 84 of 100 cases, not 90.]
    """
    tail = float(special.ndtr(special.stdtrit(freedom, _TAIL)))
    low, high = np.quantile(draws, (tail, 1 - tail))
    return float(low), float(high)


def freedom_of(a: Numbers, b: Numbers) -> float:
    """Return the degrees of freedom of the difference of two means (Welch and Satterthwaite)."""
    parts = [(side.var(ddof=1) / len(side), len(side) - 1) for side in (a, b)]
    total = sum(variance for variance, _ in parts)
    if total <= 0:
        return len(a) + len(b) - 2
    return float(total**2 / sum(variance**2 / freedom for variance, freedom in parts))


def _pieces(series: Series, judged: int) -> Numbers:
    """Return for each figure, by pieces, sums (over, under): the figure of a draw is the ratio of its sums.

    A percentile of a mixture is no sum; the mean of the windows' logarithms, by messages, stands for it.
    """
    windows = len(series.received)
    refused = max(judged - float((series.received + series.lost).sum()), 0.0) / windows
    rows = []
    for latency in (series.p50_ns, series.p99_ns):
        known = np.isfinite(latency)
        weight = np.where(known, series.received, 0.0)
        rows.append((weight * np.log(np.where(known, latency, 1.0)), weight))
    rows.append((series.received, np.ones(windows)))
    rows.append((series.lost, series.lost + series.received + refused))
    each = -(-windows // _MOST_PIECES)
    summed: Numbers = np.add.reduceat(np.array(rows), np.arange(0, windows, each), axis=-1)
    return summed


def _common_length(runs: Sequence[Numbers]) -> float:
    """Return one length of blocks for a side: of each figure the median of its runs, of these the longest."""
    lengths = []
    for figure in range(len(FIGURES)):
        found = []
        for over, under in (run[figure] for run in runs):
            whole = over.sum() / under.sum() if under.sum() > 0 else 0.0
            ratios = np.divide(over, under, out=np.full(len(over), whole), where=under > 0)
            found.append(block_length(ratios))
        lengths.append(float(np.median(found)))
    return max(lengths)


def _off(figure: Figure, over: Numbers, under: Numbers, whole_over: float, whole_under: float) -> Numbers:
    """Return how far the draws' ratios are from the whole series' one, on the figure's scale."""
    if whole_over == 0 or whole_under == 0:
        return np.zeros(len(over))
    whole = whole_over / whole_under
    ratios = np.divide(over, under, out=np.full(len(over), whole), where=under > 0)
    if figure.name == "rate":
        least = whole / len(over)
        return np.asarray(np.log(np.maximum(ratios, least) / whole))
    return np.asarray(ratios - whole)
