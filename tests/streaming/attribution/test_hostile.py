"""Records that no collector would write: refused with a ValueError, and the state stays small."""

from __future__ import annotations

import copy
import zlib
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from attribution.simulated import drive
from attribution.simulated.history import History, simulate
from attribution.simulated.parts import SECOND, T0

from collectors.contract import attribution_rows, telemetry, window_rows
from collectors.contract.telemetry import Telemetry
from collectors.contract.topics import BROKER, ROUTER
from streaming.attribution import Attribution
from streaming.attribution.state_codec import StateError

_VALUES: tuple[Any, ...] = (
    None,
    -1,
    0,
    1 << 70,
    1.5,
    "",
    "x" * 4_000,
    "\ud800",
    [],
    [None],
    {},
    {"a": [1]},
    True,
)
_NAMES = ("identity", "key", "queue")
_ENTITIES = ("mesh", "router", "node", "path_address", "path_link", "broker", "queue", "address", "nonsense")


def damaged(rows: list[dict[str, Any]], rng: Random) -> list[dict[str, Any]]:
    """Return the rows with something wrong in some of them."""
    found = copy.deepcopy(rows) or [{}]
    for _ in range(rng.randrange(1, 4)):
        row = rng.choice(found)
        name = rng.choice([*row, "more"])
        if rng.random() < 0.3:
            row.pop(name, None)
        else:
            row[name] = copy.deepcopy(rng.choice(_VALUES))
    if rng.random() < 0.2:
        found.append(copy.deepcopy(rng.choice(found)))
    return found


def as_read(value: Any) -> Any:
    """Return it as it would come from Kafka; raises ValueError or BadTelemetry where readers refuse it."""
    if isinstance(value, Telemetry):
        return telemetry.decode(value.encode())
    if not isinstance(value, dict):
        return value
    data = window_rows.canonical(value)
    return window_rows.decode_live(data) if "at_ns" in value else window_rows.decode_window(data)


def play(history: History, rng: Random) -> int:
    """Feed a history in which every second record is damaged; return how many were refused."""
    core, refused, turned_ns = Attribution(history.places), 0, history.items[0].append_ns
    for item in history.items:
        value: Any = item.value
        try:
            if rng.random() < 0.5:
                value = as_read(_damage(value, rng))
            drive.feed(core, replace(item, value=value))
        except (ValueError, telemetry.BadTelemetry):
            refused += 1
        if item.append_ns > turned_ns + 5 * SECOND:
            turned_ns = item.append_ns
            for row in core.turn(turned_ns):
                attribution_rows.decode(attribution_rows.encode(row))
    Attribution(history.places, core.encode())
    return refused


def _damage(value: Any, rng: Random) -> Any:
    if isinstance(value, Telemetry):
        entity = rng.choice(_ENTITIES) if rng.random() < 0.1 else value.entity
        number = rng.choice((0, value.poll, value.poll + 1, 1 << 62))
        asked_ns = rng.choice((0, value.asked_ns, value.answered_ns + 10**12))
        return replace(value, rows=damaged(value.rows, rng), entity=entity, poll=number, asked_ns=asked_ns)
    return damaged([value], rng)[0] if isinstance(value, dict) else value


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fault", ["link_cut", "no_consumer", "released", "no_credit"])
def test_damaged_records_raise_nothing_but_value_errors(seed: int, fault: str) -> None:
    """What they damage is refused, and what is told meanwhile is rows of the contract."""
    rng = Random(seed)  # noqa: S311 -- chance here is to be repeatable
    assert play(simulate(seed, fault), rng) > 0


@pytest.mark.parametrize("data", [b"", b"nothing", b"{}", zlib.compress(b"[]"), zlib.compress(b'{"v":99}')])
def test_a_state_of_any_bytes_is_refused(data: bytes) -> None:
    """StateError is a ValueError."""
    with pytest.raises(StateError):
        Attribution({}, data)


def test_a_damaged_state_is_refused_or_read() -> None:
    """One byte that is another one raises a ValueError, or makes no difference that can be known."""
    history = simulate(1, "no_credit")
    core = Attribution(history.places)
    for item in history.items[:800]:
        drive.feed(core, item)
    whole = core.encode()
    rng = Random(1)  # noqa: S311 -- chance here is to be repeatable
    for _ in range(50):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            Attribution(history.places, bytes(data)).turn(history.items[800].append_ns)
        except ValueError:
            continue


@pytest.mark.slow
def test_state_stays_bounded() -> None:
    """Links, addresses, queues and routers with other names in each poll are forgotten again."""
    history = simulate(1, "no_credit")
    core, sizes = Attribution(history.places), []
    for poll in range(1, 181):
        at_ns = T0 + poll * 30 * SECOND
        for topic, record in _strange(history, poll, at_ns):
            try:
                core.feed_poll(topic, record)
            except ValueError:
                continue
        core.turn(at_ns + SECOND)
        if poll % 60 == 0:
            sizes.append(len(core.encode()))
    assert sizes[2] <= sizes[1] * 1.1
    assert sizes[2] < 16 << 20


def _strange(history: History, poll: int, at_ns: int) -> list[tuple[Any, Telemetry]]:
    polls = {}
    for item in history.items:
        if isinstance(item.value, Telemetry):
            polls.setdefault((item.value.target, item.value.entity), item.value)
    found = []
    for (target, entity), record in polls.items():
        rows = [
            {
                **row,
                **{
                    name: f"{row[name]}-{poll}-{number}"
                    for name in ("identity", "key", "queue")
                    if name in row
                },
            }
            for number in range(40)
            for row in record.rows[:3]
        ]
        for name in (target, f"{target}-{poll}"):
            told = replace(
                record,
                target=name if target else "",
                rows=rows if entity.startswith("path_") or entity == "queue" else record.rows,
                poll=poll,
                at_ns=at_ns,
                asked_ns=at_ns,
                answered_ns=at_ns,
            )
            found.append((BROKER if entity in {"broker", "queue", "address", "jvm"} else ROUTER, told))
    return found
