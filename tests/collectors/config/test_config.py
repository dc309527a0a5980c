"""The config file: what it accepts, and the exact words with which it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from collectors.config import load, paths, units
from collectors.config.model import Config, Mesh, Sasl

HERE = Path(__file__).parents[2] / "fixtures" / "configs"
INVALID = sorted((HERE / "invalid").glob("*.yaml"))
EXAMPLE = Path(__file__).parents[3] / "deploy" / "examples" / "inflight.yaml"
SECOND = 1_000_000_000


@pytest.mark.parametrize("file", INVALID, ids=lambda file: file.stem)
def test_each_mistake_is_told_in_exact_words(file: Path) -> None:
    """An invalid file for each rule ends in the messages that stand at its end."""
    text = file.read_text(encoding="utf-8")
    expected = [line.removeprefix("# expect ") for line in text.splitlines() if line.startswith("# expect ")]
    assert expected
    with pytest.raises(load.ConfigError) as refused:
        load.load(file)
    assert [mistake.removeprefix(str(file)) for mistake in refused.value.mistakes] == expected


def test_all_mistakes_are_told_at_once() -> None:
    """A file with several mistakes is refused with each of them, in order of lines."""
    text = "version: 1\nsit: east\nmeshes:\n  a: {urls: [], interval: 0s}\npaths: 3\n"
    with pytest.raises(load.ConfigError) as refused:
        load.parse(text, "f")
    places = [mistake.split(": ")[0:2] for mistake in refused.value.mistakes]
    assert places == [
        ["f:1", "site"],
        ["f:2", "sit"],
        ["f:4", "meshes.a.interval"],
        ["f:4", "meshes.a.urls"],
        ["f:5", "paths"],
    ]


def test_a_file_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    """No traceback for a wrong file name."""
    with pytest.raises(load.ConfigError, match=r"no\.yaml: cannot be read: No such file or directory"):
        load.load(tmp_path / "no.yaml")


def test_secrets_do_not_show_in_messages() -> None:
    """A password in the wrong place is refused without being repeated."""
    endpoint = "{url: 'amqp://me:hunter2@h:1', sasl: {mechanism: PLAIN, password: hunter2}}"
    text = f"version: 1\nsite: a\nendpoints: {{a: {endpoint}}}"
    with pytest.raises(load.ConfigError) as refused:
        load.parse(text, "f")
    assert "hunter2" not in str(refused.value)


def test_the_annotated_example_is_valid() -> None:
    """What deploy/examples shows can be used."""
    config = load.load(EXAMPLE)
    assert set(paths.resolve(config)) == {"east-west", "orders", "telemetry/east", "telemetry/west"}


def _keys(model: type[BaseModel]) -> set[str]:
    """Those of the model, and of all models below it."""
    found = set()
    for name, field in model.model_fields.items():
        found.add(field.alias or name)
        for kind in _models(field.annotation):
            found |= _keys(kind)
    return found


def _models(kind: object) -> Iterator[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in get_args(kind):
        yield from _models(part)


def test_the_annotated_example_is_the_whole_config() -> None:
    """Every key stands in it, and with what is optional in it, it is valid, too."""
    text = EXAMPLE.read_text()
    optional = text.replace("#: ", "")
    said = {
        word for line in optional.splitlines() for word in re.findall(r"(\w+):", line.partition(" # ")[0])
    }
    assert _keys(Config) - {"over"} <= said
    assert load.parse(optional, "f").paths.keys() == load.parse(text, "f").paths.keys()


def test_the_defaults_that_the_example_tells_are_those() -> None:
    """What is behind `#:` among them is what is taken anyway, but for the three that have none."""
    told = re.findall(
        r"#: (\w+): +([^ ]+)", EXAMPLE.read_text().partition("defaults:")[2].partition("paths:")[0]
    )
    without = {"warmup", "duration", "count"}
    lines = "".join(f"  {name}: {value}\n" for name, value in told if name not in without)
    head = EXAMPLE.read_text().partition("defaults:")[0]
    rest = "paths: {p: {from: east, to: west, address: a}}\n"
    assert paths.resolve(load.parse(f"{head}defaults:\n{lines}{rest}", "f")) == paths.resolve(
        load.parse(head + rest, "f")
    )
    assert {name for name, _ in told} > without


def test_budgets_of_another_length_are_refused() -> None:
    """Dashboards and alerts reckon with 30 days."""
    text = EXAMPLE.read_text()
    load.parse(text.replace("delivered: 99.99%", "delivered: 99.99%, over: 30d"), "f")
    with pytest.raises(load.ConfigError, match=r"budgets are of 30 days"):
        load.parse(text.replace("delivered: 99.99%", "delivered: 99.99%, over: 7d"), "f")


def test_defaults_reach_paths_and_their_own_settings_win() -> None:
    """A path's own setting goes before `defaults`, and that before what is built in."""
    resolved = paths.resolve(load.load(EXAMPLE))
    assert resolved["east-west"].rate[0].start == 10
    assert resolved["telemetry/west"].rate[0].start == 50
    assert resolved["telemetry/west"].multicast
    assert resolved["east-west"].priority == 4


def test_settle_is_the_ttl_on_paths_through_a_broker() -> None:
    """A backlog is not a loss: its messages may come as long as they live."""
    resolved = paths.resolve(load.load(EXAMPLE))
    assert resolved["orders"].rules.settle_ns == 60 * SECOND
    assert resolved["east-west"].rules.settle_ns == 10 * SECOND


@pytest.mark.parametrize(
    ("text", "ns"),
    [("250ms", 250_000_000), ("1.5h", 5_400 * SECOND), ("30d", 2_592_000 * SECOND), ("7 us", 7_000)],
)
def test_durations(text: str, ns: int) -> None:
    """Durations are read without rounding."""
    assert units.duration_ns(text) == ns


@pytest.mark.parametrize(
    ("text", "rate"), [("10/s", 10.0), ("6/m", 0.1), ("0", 0.0), (0, 0.0), ("0.5 / s", 0.5)]
)
def test_rates(text: object, rate: float) -> None:
    """Rates are per second, minute or hour, or the bare 0."""
    assert units.rate_per_second(text) == rate


@given(st.text(max_size=300))
def test_any_text_is_either_a_config_or_refused(text: str) -> None:
    """No text at all ends in anything but ConfigError."""
    with pytest.raises(load.ConfigError):
        load.parse(text, "f")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=8))
def test_any_value_in_any_place_is_either_taken_or_refused(value: object) -> None:
    """A value of a wrong type is told, wherever it stands."""
    for key in ("site", "meshes", "endpoints", "defaults", "paths", "slos", "kafka", "version"):
        try:
            load.parse(f"version: 1\nsite: a\n{key}_: 0\n".replace(f"{key}_: 0", f"{key}: {value!r}"), "f")
        except load.ConfigError as refused:
            assert refused.mistakes  # noqa: PT017 -- either outcome is right, a third is not


def test_a_mesh_may_have_a_login_for_each_url() -> None:
    """`sasl` is for those that have none of their own; a login for no URL of the mesh is a mistake."""
    own = Sasl(mechanism="PLAIN", user="west", password_file=Path("west"))
    everybody = Sasl(mechanism="ANONYMOUS")
    mesh = Mesh(urls=("amqp://east", "amqp://west"), sasl=everybody, logins={"amqp://west": own})
    assert mesh.login("amqp://east") == everybody
    assert mesh.login("amqp://west") == own
    with pytest.raises(ValueError, match="amqp://north is not among `urls`"):
        Mesh(urls=("amqp://east",), logins={"amqp://north": own})
