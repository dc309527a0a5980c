"""The Spark job's settings, from the config and from options that `stream` and `submit` share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

import click

from collectors.config import paths
from collectors.config.model import Config, Kafka
from collectors.config.paths import Path
from collectors.config.units import duration_ns
from deploy.errors import Problem
from deploy.options import LISTEN
from deploy.parts.metrics import config_hash
from streaming.sizing import RECORD_BYTES, SAMPLE_BYTES, cores
from streaming.spark.lanes import MAX_LANES
from streaming.spark.settings import JobSettings, KafkaAccess

_MS_NS: Final = 1_000_000
_KAFKA_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_COUNT: Final = click.IntRange(min=1)
# A batch while catching up; an end writes a record a second.
_BATCH_BYTES: Final = 256 << 20
_BATCH_SECONDS: Final = 5
_UNKNOWN_CORES: Final = 2
_LEAST_RECORDS: Final = 2_000
_MOST_RECORDS: Final = 50_000
# By name: type, default, help.
_OPTIONS: Final[Mapping[str, tuple[Any, Any, str]]] = {
    "--checkpoint": (
        str,
        None,
        "Where place and state are kept.  [default: `checkpoint` in the config's `state` folder]",
    ),
    "--archive": (
        str,
        None,
        "Also keep final rows as Parquet in this folder; `inflight archive` reads them.",
    ),
    "--listen": (LISTEN, "127.0.0.1:9753", "Address for /metrics and /-/ready."),
    "--trigger": (str, "1s", "Time between the starts of two batches."),
    "--max-records": (
        _COUNT,
        None,
        "Records that all lanes take at once at the most, which bounds memory.  [default: by rates]",
    ),
    "--lanes": (
        click.IntRange(1, MAX_LANES),
        None,
        "Queries with one task each, which share the topic; fixed with the checkpoint.  [default: by rates]",
    ),
}


def job_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `job_settings` takes."""
    for name, (kind, default, text) in list(_OPTIONS.items())[::-1]:
        show = default is not None
        function = click.option(name, type=kind, default=default, show_default=show, help=text)(function)
    return function


def job_settings(config: Config, *, checkpoint: str | None, trigger: str, **options: Any) -> JobSettings:
    """The job as config and options tell it; a Problem where they cannot be followed."""
    if config.kafka is None:
        raise Problem(
            "the config has no `kafka`: the Spark job reads from Kafka and writes to it; "
            "`inflight run` does everything in one process"
        )
    resolved = paths.resolve(config)
    load = _Load.of(resolved.values())
    options["max_records"] = options.get("max_records") or load.max_records()
    try:
        trigger_ns = duration_ns(trigger)
    except ValueError as error:
        raise Problem(f"--trigger: {error}") from None
    return JobSettings(
        kafka=kafka_access(config.kafka),
        prefix=config.kafka.prefix,
        checkpoint=checkpoint or str((config.state / "checkpoint").absolute()),
        default_rules=paths.default_rules(config),
        rules={name: path.rules for name, path in resolved.items()},
        suited_lanes=load.cores(),
        trigger_ms=max(1, trigger_ns // _MS_NS),
        version=version("inflight-monitor"),
        config_hash=config_hash(config),
        **options,
    )


@dataclass(frozen=True, slots=True)
class _Load:
    """What the configured paths come to."""

    paths: int
    ends: int
    samples: float  # a second

    @classmethod
    def of(cls, configured: Collection[Path]) -> _Load:
        ends = sum(path.senders + path.receivers for path in configured)
        return cls(len(configured), ends, sum(path.peak_rate for path in configured))

    def max_records(self) -> int:
        """As many as `_BATCH_BYTES` of the paths' records are, and never less than they write soon."""
        if not self.ends:
            return _MOST_RECORDS
        bytes_a_second = self.samples * SAMPLE_BYTES + self.ends * RECORD_BYTES
        seconds = max(_BATCH_BYTES / bytes_a_second, _BATCH_SECONDS)
        return int(min(max(seconds * self.ends, _LEAST_RECORDS), _MOST_RECORDS))

    def cores(self) -> int:
        """That the job will need; of paths that only others know, nothing is known."""
        return cores(self.paths, self.samples) if self.paths else _UNKNOWN_CORES


def kafka_access(kafka: Kafka) -> KafkaAccess:
    """Spark's Kafka client is Java's: what it cannot do is refused here."""
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
