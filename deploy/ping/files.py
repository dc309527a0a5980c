"""Files that a ping writes for other programs: a HdrHistogram log, rates as CSV, every message as Parquet."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from collectors.contract.window_rows import WindowRow
from deploy.errors import Problem
from deploy.ping.results import PingResults

# Times in these logs are in seconds, and the maximum in ms where values are in ns: the viewers' convention.
_HDR_UNIT_NS: Final = 1_000_000


class OutputFiles(NamedTuple):
    """The files that are wanted."""

    hdr_log: Path | None
    rate_log: Path | None
    samples: Path | None

    def try_out(self) -> None:
        """Raise Problem for a file that cannot be written: before an hour of measuring, not after it."""
        for file in filter(None, self):
            try:
                file.open("ab").close()
            except OSError as error:
                raise Problem(f"cannot write {file}: {error.strerror}") from None

    def write(self, results: PingResults) -> None:
        """Write all of them; raises Problem for the first that cannot be written."""
        for file, write in zip(self, (_write_hdr_log, write_rate_log, _write_samples), strict=True):
            try:
                if file:
                    write(file, results)
            except OSError as error:
                raise Problem(f"cannot write {file}: {error.strerror or error}") from None


def _write_hdr_log(file: Path, results: PingResults) -> None:
    write_hdr_log(file, results.last_rows())


def write_rate_log(file: Path, results: PingResults) -> None:
    results.rates.write(file)


def _write_samples(file: Path, results: PingResults) -> None:
    from deploy.ping import samples  # noqa: PLC0415 -- few want it, and it takes a while to load

    samples.write_samples(file, results)


def write_hdr_log(file: Path, rows: list[WindowRow]) -> None:
    """Write the standard log, version 1.3; the hdrhistogram package's writer knows no tags."""
    start = min((row["window_start_ns"] for row in rows), default=0)
    began = datetime.fromtimestamp(start / 1e9, UTC)
    lines = [
        f"#[Logged with inflight {version('inflight-monitor')}]",
        "#[Histogram log format version 1.3]",
        f"#[StartTime: {start / 1e9:.3f} (seconds since epoch), {began.isoformat()}]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    for row in rows:
        for tag, latency in (("response", row["response"]), ("service", row["service"])):
            if latency is not None:
                begin, length = (row["window_start_ns"] - start) / 1e9, row["window_ns"] / 1e9
                longest = latency["max_ns"] / _HDR_UNIT_NS
                lines.append(f"Tag={tag},{begin:.3f},{length:.3f},{longest:.3f},{latency['hdr']}")
    file.write_text("\n".join(lines) + "\n", encoding="ascii")
