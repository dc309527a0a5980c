"""Which ends of the config's paths a probe runs, and how much disk their records may take."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from collectors.config.model import Config
from collectors.config.paths import Path, resolve
from collectors.probe.specs import receiver_specs, sender_specs
from deploy.errors import Problem
from streaming.sizing import RECORD_BYTES, SAMPLE_BYTES

_LEAST_BYTES: Final = 64 << 20


def choose_paths(
    config: Config, names: Collection[str] = (), *, send: bool = True, receive: bool = True
) -> tuple[list[Path], list[Path]]:
    """Returns the paths to send on and those to receive on, of these names or of the whole config.

    Raises Problem where there is no such path.
    """
    everything = list(resolve(config).values())
    if not everything:
        raise Problem("the config has no paths; add one under `paths`")
    known = {path.name for path in everything} | {path.flow for path in everything}
    for name in names:
        if name not in known:
            raise Problem(f"no path is called {name!r}; there are: {', '.join(sorted(known))}")
    chosen = [path for path in everything if not names or path.name in names or path.flow in names]
    # A multicast is sent once, and its ledger stands under each of its paths.
    flows = {path.flow for path in chosen} if send else set()
    return [path for path in everything if path.flow in flows], chosen if receive else []


def end_names(
    sending: Sequence[Path], receiving: Sequence[Path], numbers: Collection[int] | None
) -> list[str]:
    """Returns the names of all ends to be run, as messages call them; raises Problem where there is none."""
    found = [f"path {s.paths[0].flow}: sender {s.name}" for s in sender_specs(sending, numbers)]
    found += [f"path {r.path.name}: receiver {r.name}" for r in receiver_specs(receiving, numbers)]
    if not found:
        most = max([path.senders for path in sending] + [path.receivers for path in receiving])
        raise Problem(f"no path has an end of that --number; they are counted from 0, and end at {most - 1}")
    return found


def spool_bytes(sending: Sequence[Path], receiving: Sequence[Path], span_ns: int) -> int:
    """Returns what the configured rates write in that time, and half as much again."""
    per_second = 0.0
    for path in receiving:
        per_second += path.peak_rate * SAMPLE_BYTES + 2 * path.receivers * RECORD_BYTES
    for path in sending:
        per_second += 2 * path.senders * RECORD_BYTES
    return max(_LEAST_BYTES, round(1.5 * per_second * span_ns / 1e9))
