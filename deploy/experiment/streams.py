"""Streams of messages, as probes send them: their form in a plan, and their paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from collectors.config.mistakes import Mistake, of_validation
from collectors.config.model import Defaults, Name, PathConfig, Profile
from deploy.experiment.load import Json, Load, Order

_MAX: Final = "max"
_NUMBER: Final = "{n}"
_MOST_COPIES: Final = 1_000
# What a plan need not say: windows of a second, and no bound on what all senders of a process send.
_DEFAULTS: Final[Json] = {"window": "1s", "settle": "4s", "max_rate": 0, "max_backlog": 1_000_000}
_OF_PATHS: Final = frozenset(field.alias or name for name, field in PathConfig.model_fields.items()) - {
    "from",
    "to",
    "address",
}


def _rate(value: object) -> object:
    return 0 if value == _MAX else value


class StreamForm(Defaults):
    """Settings of all paths, as in `defaults` of inflight.yaml; `paths` chooses some, or tells new ones."""

    kind: Literal["stream"] = "stream"
    rate: Annotated[Profile | None, BeforeValidator(_rate)] = None
    paths: dict[Name, dict[str, Any]] | tuple[Name, ...] = ()
    processes: Annotated[int, Field(ge=1, le=64)] | None = None

    @model_validator(mode="after")
    def _by_phases(self) -> StreamForm:
        if self.warmup is not None or self.duration is not None:
            raise ValueError("`phases` say how long it is sent: leave `warmup` and `duration` out")
        return self


class Streams:
    def mistakes(self, load: Json) -> list[Mistake]:
        """Return what is wrong with its settings; paths are looked up later."""
        try:
            StreamForm.model_validate(load)
        except ValidationError as error:
            return of_validation(StreamForm, error)
        return []

    def config(self, base: Json, load: Json, values: Sequence[tuple[Any, int | None]]) -> Json:
        """Return the network's config with the load's paths; raises ValueError for one that is not there."""
        settings = {key: _rate(value) for key, value in load.items() if key in _OF_PATHS}
        if values:
            settings["rate"] = _profile(values)
        bounds = {key: value for key, value in load.items() if key in Defaults.model_fields}
        defaults = {**base.get("defaults", {}), **_DEFAULTS, **bounds, "rate": settings.get("rate", "10/s")}
        known = base.get("paths", {})
        wanted = load.get("paths") or known
        paths: Json = {}
        for name in wanted:
            own = dict(wanted[name] or {}) if isinstance(wanted, dict) else {}
            if name not in known and not {"from", "to", "address"} <= own.keys():
                there = ", ".join(known) or "none"
                raise ValueError(
                    f"no path is called {name!r}, and a new one has `from`, `to` and `address`; "
                    f"there are: {there}"
                )
            if wanted is known:
                own = {}
            path = {**known.get(name, {}), **settings, **own}
            if values:
                path["rate"] = settings["rate"]
            elif "rate" in path:
                path["rate"] = _rate(path["rate"])
            paths.update(_copies(name, path))
        return {**base, "defaults": defaults, "paths": paths}

    def make(self, order: Order) -> Load:
        from deploy.experiment.stream_load import StreamLoad  # noqa: PLC0415 -- a check needs none of it

        return StreamLoad(order)


def _profile(values: Sequence[tuple[Any, int | None]]) -> Any:
    """Return a rate, or steps of it; the last one has no end, as the run stops it."""
    if len(values) == 1:
        return _rate(values[0][0])
    *steps, (last, _) = values
    timed = [{"rate": value, "for": f"{duration_ns}ns"} for value, duration_ns in steps]
    return [*timed, {"rate": last}]


def _copies(name: str, path: Json) -> Iterator[tuple[str, Json]]:
    """Yield the path, or as many as its `copies` say, each with its number in name and addresses."""
    copies = path.pop("copies", None)
    if copies is None:
        yield name, path
        return
    if isinstance(copies, bool) or not isinstance(copies, int) or not 1 <= copies <= _MOST_COPIES:
        raise ValueError(f"`copies` of {name} is a number from 1 to {_MOST_COPIES}")
    addresses = [key for key in ("address", "receive_address") if key in path]
    if not all(_NUMBER in str(path[key]) for key in addresses):
        raise ValueError(f"`copies` of {name} need {_NUMBER} in its address, for their numbers")
    for number in range(1, copies + 1):
        numbered: Json = {key: str(path[key]).replace(_NUMBER, str(number)) for key in addresses}
        yield f"{name}-{number}", {**path, **numbered}
