"""What `probe`, `run` and `ping` share: which ends a host runs."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from threading import Event
from typing import Final

from collectors.config.model import Config
from collectors.config.paths import Path, resolve
from collectors.probe.prober import Prober
from collectors.probe.specs import receiver_specs, sender_specs
from deploy.errors import Problem
from streaming.sizing import RECORD_BYTES, SAMPLE_BYTES

_LEAST_BYTES: Final = 64 << 20
_LOOK_SECONDS: Final = 0.5


def choose(
    config: Config, names: Sequence[str], *, send: bool, receive: bool
) -> tuple[list[Path], list[Path]]:
    """The paths to send on and to receive on; neither of the two asked for means both."""
    found = list(resolve(config).values())
    if names:
        known = {path.name for path in found} | {path.flow for path in found}
        for name in names:
            if name not in known:
                raise Problem(f"no path is called {name!r}; there are: {', '.join(sorted(known)) or 'none'}")
        found = [path for path in found if path.name in names or path.flow in names]
    if not found:
        raise Problem("the config has no paths; add one under `paths`")
    both = send == receive
    sending = found if send or both else []
    # A multicast is sent once, and its ledger stands under each of its paths.
    flows = {path.flow for path in sending}
    sending = [path for path in resolve(config).values() if path.flow in flows]
    return sending, found if receive or both else []


def end_names(
    sending: Sequence[Path], receiving: Sequence[Path], numbers: Collection[int] | None
) -> list[str]:
    """All ends to be run, as messages call them; a Problem where there is none."""
    found = [f"path {s.paths[0].flow}: sender {s.name}" for s in sender_specs(sending, numbers)]
    found += [f"path {r.path.name}: receiver {r.name}" for r in receiver_specs(receiving, numbers)]
    if not found:
        most = max([path.senders for path in sending] + [path.receivers for path in receiving])
        raise Problem(f"no path has an end of that --number; they are counted from 0, and end at {most - 1}")
    return found


def until_stopped(stop: Event, prober: Prober, seconds: float = float("inf")) -> bool:
    """Wait until asked to end, at most for so long; also True where the prober ended by itself."""
    deadline = time.monotonic() + seconds
    while not prober.ended.is_set() and (left := deadline - time.monotonic()) > 0:
        if stop.wait(min(_LOOK_SECONDS, left)):
            return True
    return prober.ended.is_set()


def spool_bytes(sending: Sequence[Path], receiving: Sequence[Path], span_ns: int) -> int:
    """What the configured rates fill in that time, with half as much again to spare."""
    seconds = span_ns / 1e9
    per_second = 0.0
    for path in receiving:
        per_second += path.peak_rate * SAMPLE_BYTES + 2 * path.receivers * RECORD_BYTES
    for path in sending:
        per_second += 2 * path.senders * RECORD_BYTES
    return max(_LEAST_BYTES, round(1.5 * per_second * seconds))
