"""The Spark job's settings, from the config and the options of `stream` and `submit`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

from collectors.config import paths
from collectors.config.model import Config, Kafka
from collectors.config.paths import Path
from collectors.config.units import duration_ns
from deploy.errors import Problem
from deploy.parts.build_info import config_hash
from deploy.parts.part import without_kafka
from streaming.attribution import places
from streaming.sizing import RECORD_BYTES, SAMPLE_BYTES, cores
from streaming.spark.settings import JobSettings, KafkaAccess

_MS_NS: Final = 1_000_000
_KAFKA_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
DEFAULT_LISTEN: Final = "127.0.0.1:9753"
DEFAULT_TRIGGER: Final = "1s"

# A batch while catching up; an end writes a record a second.
_BATCH_BYTES: Final = 256 << 20
_BATCH_SECONDS: Final = 5
_UNKNOWN_CORES: Final = 2
_LEAST_RECORDS: Final = 2_000
_MOST_RECORDS: Final = 50_000


def job_settings(
    config: Config,
    *,
    checkpoint: str | None = None,
    archive: str | None = None,
    listen: str = DEFAULT_LISTEN,
    trigger: str = DEFAULT_TRIGGER,
    max_records: int | None = None,
    lanes: int | None = None,
) -> JobSettings:
    """Returns what the job is told; raises Problem where config and options cannot be followed."""
    if config.kafka is None:
        raise without_kafka("stream")
    resolved = paths.resolve(config)
    load = _Load.of(resolved.values())
    try:
        trigger_ns = duration_ns(trigger)
    except ValueError as error:
        raise Problem(f"--trigger: {error}") from None
    return JobSettings(
        kafka=kafka_access(config.kafka),
        prefix=config.kafka.prefix,
        checkpoint=checkpoint or str((config.state / "checkpoint").absolute()),
        archive=archive,
        listen=listen,
        default_rules=paths.default_rules(config),
        rules={name: path.rules for name, path in resolved.items()},
        places=places.of_config(config),
        max_records=max_records or load.max_records(),
        lanes=lanes,
        suited_lanes=load.cores(),
        trigger_ms=max(1, trigger_ns // _MS_NS),
        version=version("inflight-monitor"),
        config_hash=config_hash(config),
    )


@dataclass(frozen=True, slots=True)
class _Load:
    """The load that the configured paths put on the job."""

    paths: int
    ends: int
    samples: float  # a second

    @classmethod
    def of(cls, configured: Collection[Path]) -> _Load:
        ends = sum(path.senders + path.receivers for path in configured)
        return cls(len(configured), ends, sum(path.peak_rate for path in configured))

    def max_records(self) -> int:
        """As many as `_BATCH_BYTES` hold, and not fewer than are written in `_BATCH_SECONDS`."""
        if not self.ends:
            return _MOST_RECORDS
        bytes_a_second = self.samples * SAMPLE_BYTES + self.ends * RECORD_BYTES
        seconds = max(_BATCH_BYTES / bytes_a_second, _BATCH_SECONDS)
        return int(min(max(seconds * self.ends, _LEAST_RECORDS), _MOST_RECORDS))

    def cores(self) -> int:
        """The cores that the job needs; a guess where the config has no paths, and others' are not known."""
        return cores(self.paths, self.samples) if self.paths else _UNKNOWN_CORES


def kafka_access(kafka: Kafka) -> KafkaAccess:
    """Returns the access for Spark's Kafka client, which is Java's. Raises Problem for what it cannot do."""
    tls, sasl = kafka.tls, kafka.sasl
    if tls is not None and tls.verify == "none":
        raise Problem(
            "kafka.tls.verify: the Kafka client always checks the certificate; use `name` or `chain`"
        )
    if sasl is not None and sasl.mechanism not in _KAFKA_MECHANISMS:
        raise Problem(
            f"kafka.sasl.mechanism: Kafka knows {', '.join(_KAFKA_MECHANISMS)}, not {sasl.mechanism}"
        )
    return KafkaAccess(
        servers=kafka.servers,
        tls=tls is not None,
        ca_file=_text(tls and tls.ca),
        cert_file=_text(tls and tls.cert),
        key_file=_text(tls and tls.key),
        verify_name=tls is None or tls.verify == "name",
        mechanism=sasl.mechanism if sasl else None,
        user=sasl.user if sasl else None,
        password_file=_text(sasl and sasl.password_file),
    )


def _text(file: Any) -> str | None:
    return str(file.absolute()) if file else None
