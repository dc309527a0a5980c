"""The settings of the Spark job: plain data that goes to a cluster as JSON. Of secrets it names the files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from collectors.config.paths import Rules
from collectors.contract.topics import DEAD_LETTERS, LIVE, SAMPLES, WINDOWS
from streaming.attribution.places import Place

VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaAccess:
    """How the job connects to Kafka; the files are read on the driver when a query starts."""

    servers: tuple[str, ...]
    tls: bool = False
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify_name: bool = True
    mechanism: str | None = None
    user: str | None = None
    password_file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """For `lanes`, None means what the checkpoint was begun with."""

    kafka: KafkaAccess
    prefix: str
    checkpoint: str
    default_rules: Rules
    rules: Mapping[str, Rules] = field(default_factory=dict)  # by path
    places: Mapping[str, Place] = field(default_factory=dict)  # the same; older settings have none
    archive: str | None = None
    lanes: int | None = None
    suited_lanes: int = 1  # of a new checkpoint, where `lanes` is None
    trigger_ms: int = 1000
    archive_trigger_ms: int = 60_000
    attribution_trigger_ms: int = 5_000
    max_records: int = 10_000  # in a batch, of all lanes together: bounds memory, and time while catching up
    listen: str = "127.0.0.1:9753"
    version: str = ""
    config_hash: str = ""

    @property
    def samples_topic(self) -> str:
        return SAMPLES.name(self.prefix)

    @property
    def windows_topic(self) -> str:
        return WINDOWS.name(self.prefix)

    @property
    def live_topic(self) -> str:
        return LIVE.name(self.prefix)

    @property
    def dead_letters_topic(self) -> str:
        return DEAD_LETTERS.name(self.prefix)

    def encode(self) -> str:
        return json.dumps({"v": VERSION, **dataclasses.asdict(self)}, indent=1, sort_keys=True)


def decode(text: str) -> JobSettings:
    """Raises ValueError where the text holds no settings of this version."""
    try:
        raw: dict[str, Any] = json.loads(text)
        version = raw.pop("v", None)
        if version != VERSION:
            raise ValueError(f"version {version!r}; this job knows version {VERSION}")
        kafka = raw.pop("kafka")
        return JobSettings(
            kafka=KafkaAccess(servers=tuple(kafka.pop("servers")), **kafka),
            default_rules=Rules(**raw.pop("default_rules")),
            rules={path: Rules(**rules) for path, rules in raw.pop("rules").items()},
            places={path: _place(place) for path, place in raw.pop("places", {}).items()},
            **raw,
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(
            f"these are no settings of the job ({error}); write them anew by `inflight submit`"
        ) from None


def _place(raw: dict[str, Any]) -> Place:
    return Place(meshes=tuple(raw.pop("meshes")), **raw)
