"""Inflight's actions, and what it measures, as plain functions for chaostoolkit (deploy/examples/chaos.json).

Actions do, hold for `seconds`, undo and mark by themselves: an experiment needs no rollbacks. `network` says
where, by the names that `inflight fault` has for it: lab, topology, inventory, ssh_config, with, config. Left
out, it is the lab of the current folder. What failed, or could not be undone, raises.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from collectors.config.load import load
from collectors.http import client
from collectors.http.server import NO_PAGE
from deploy.actions import by_hand
from deploy.actions.by_hand import Target
from deploy.errors import Problem
from deploy.why.ask import ask_exporter

_TIMEOUT_SECONDS: Final = 5.0
_OK: Final = 200
_NETWORK: Final = {
    "lab": "lab",
    "topology": "topology",
    "inventory": "inventory",
    "ssh_config": "ssh_config",
    "with": "template",
    "config": "config",
}
_WORDS: Final = ("lab", "with")  # the others are files
Network = Mapping[str, str]
Told = list[dict[str, Any]]


def kill(what: str, seconds: float, network: Network | None = None) -> Told:
    return _act("kill", what, network, seconds)


def stop(what: str, seconds: float, network: Network | None = None) -> Told:
    return _act("stop", what, network, seconds)


def pause(what: str, seconds: float, network: Network | None = None) -> Told:
    return _act("pause", what, network, seconds)


def restart(what: str, network: Network | None = None) -> Told:
    return _act("restart", what, network)


def start(what: str, network: Network | None = None) -> Told:
    return _act("start", what, network)


def resume(what: str, network: Network | None = None) -> Told:
    return _act("resume", what, network)


def delay(what: str, seconds: float, ms: float, jitter_ms: float = 0, network: Network | None = None) -> Told:
    return _act("delay", what, network, seconds, ms=ms, jitter_ms=jitter_ms)


def limit(what: str, seconds: float, bytes_per_second: int, network: Network | None = None) -> Told:
    return _act("limit", what, network, seconds, bytes_per_second=bytes_per_second)


def stall(what: str, seconds: float, network: Network | None = None) -> Told:
    return _act("stall", what, network, seconds)


def cut(what: str, seconds: float, network: Network | None = None) -> Told:
    return _act("cut", what, network, seconds)


def move(what: str, seconds: float, to: str, network: Network | None = None) -> Told:
    return _act("move", what, network, seconds, to=to)


def loss(what: str, seconds: float, percent: float, network: Network | None = None) -> Told:
    return _act("loss", what, network, seconds, percent=percent)


def reorder(what: str, seconds: float, percent: float, network: Network | None = None) -> Told:
    return _act("reorder", what, network, seconds, percent=percent)


def clear(what: str, fault: str | None = None, network: Network | None = None) -> Told:
    """Without `fault`, a kind, all of the link are taken away."""
    return _act("clear", what, network, fault=fault)


def clock(what: str, seconds: float, offset_ms: float, file: str, network: Network | None = None) -> Told:
    return _act("clock", what, network, seconds, offset_ms=offset_ms, file=file)


def command(
    what: str,
    run: list[str],
    undo: list[str] | None = None,
    seconds: float | None = None,
    source: Mapping[str, str] | None = None,
    network: Network | None = None,
) -> Told:
    """`source` is `from` of an action, which Python keeps for itself."""
    return _act("command", what, network, seconds, run=run, undo=undo, **{"from": source})


def play(story: str, network: Network | None = None) -> Told:
    """Play a story of the topology, to its end."""
    target = _target(network)
    return _carry_out(target, by_hand.story(target, story))


def lost(path: str, url: str | None = None, network: Network | None = None) -> int:
    """Return how many messages of a path were lost since the exporter began to count.

    `url` is the exporter's; left out, it is where the network's config lets it listen.
    """
    return int(_path(path, url or _exporter(network))["classes"]["lost"])


def p99(path: str, url: str | None = None, network: Network | None = None) -> float:
    """Return the newest 99th percentile of a path's response time, in seconds; of few, the largest.

    Raises where nothing has arrived.
    """
    response = _path(path, url or _exporter(network))["response"]
    if not response:
        raise Problem(f"nothing of the path {path} has arrived: there is no latency of it")
    return float(response.get("99", response["max"]))


def attributed_to(path: str, url: str | None = None, network: Network | None = None) -> str:
    """Return the hop that is to blame in a path's newest episode, like `B` or `C → receiver`.

    Empty where nothing was missing or slow, and where no hop explains it.
    """
    rows = ask_exporter(url or _exporter(network), path).rows
    newest = max(rows, key=lambda row: row["to_ns"], default=None)
    return newest["hops"][0]["hop"] if newest and newest["hops"] else ""


def _act(do: str, what: str, network: Network | None, seconds: float | None = None, **fields: Any) -> Told:
    given = {name: value for name, value in fields.items() if value is not None}
    lasts = {} if seconds is None else {"for": f"{seconds:g}s"}
    return _carry_out(_target(network), [by_hand.read({"do": do, "what": what, **lasts, **given})])


def _carry_out(target: Target, actions: Any) -> Told:
    told: list[str] = []
    status, done = by_hand.carry_out(target, actions, threading.Event(), told.append)
    if status != by_hand.DONE:
        raise Problem("; ".join(told))
    return [json.loads(by_hand.as_json(one)) for one in done]


def _target(network: Network | None) -> Target:
    given = dict(network or {})
    if unknown := given.keys() - _NETWORK.keys():
        raise Problem(f"network: {', '.join(sorted(unknown))} is none of {', '.join(_NETWORK)}")
    named: dict[str, Any] = {
        _NETWORK[name]: word if name in _WORDS else Path(word) for name, word in given.items()
    }
    return by_hand.target(**named)


def _exporter(network: Network | None) -> str:
    return f"http://{load(_target(network).config_file).export.listen}"


def _path(name: str, url: str) -> dict[str, Any]:
    answer = client.get(
        f"{url.rstrip('/')}/api/state", time.monotonic() + _TIMEOUT_SECONDS, **{NO_PAGE: "chaostoolkit"}
    )
    if answer.status != _OK:
        raise Problem(
            f"{url} answered with HTTP status {answer.status}: is `inflight run` or `export` there?"
        )
    paths = {path["name"]: path for path in json.loads(answer.body)["paths"]}
    if name not in paths:
        raise Problem(f"there is no path {name!r}; there are: {', '.join(paths) or 'none'}")
    return dict(paths[name])
