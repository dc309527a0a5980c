"""Gets what is known of a path: from the exporter, or of the past from an archive."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import quote

from collectors.contract import attribution_rows
from collectors.contract.untrusted_text import shown
from collectors.contract.window_rows import CLASSES
from collectors.http import client
from collectors.http.server import NO_PAGE
from deploy.errors import Problem
from deploy.why.choose import Known
from streaming.archive.layout import ATTRIBUTION
from streaming.archive.read import ArchiveError, Question, read
from streaming.exporter.why_data import near

_TIMEOUT_SECONDS: Final = 5.0
_OK: Final = 200
_NOT_FOUND: Final = 404
_REASON_BYTES: Final = 300
_HOUR_NS: Final = 3_600 * 10**9
_DAY_NS: Final = 24 * _HOUR_NS
_NUMBERS: Final = ("start_ns", "length_ns", "sent")

Json = dict[str, Any]


def ask_exporter(url: str, path: str) -> Known:
    """Return what the exporter at a URL knows. Raises Problem: no answer, or no such path."""
    try:
        status, found = _get(f"{url.rstrip('/')}/api/why?path={quote(path, safe='')}")
        if status == _NOT_FOUND and found["known"] is False:
            raise _unknown(path, [str(name) for name in found["near"]])
        return Known(
            path=str(found["path"]),
            now_ns=_number(found["now_ns"]),
            rows=[attribution_rows.check(row) for row in found["rows"]],
            window=_window(found["window"]),
        )
    except OSError as error:
        raise Problem(
            f"no answer from {url}: {error}; is `inflight export` or `inflight run` there?"
        ) from None
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        why = shown(str(error))[:_REASON_BYTES]
        raise Problem(f"{url} does not say why: {why}; is it an exporter of this version?") from None


def _get(url: str) -> tuple[int, Json]:
    answer = client.get(url, time.monotonic() + _TIMEOUT_SECONDS, **{NO_PAGE: "why"})
    if answer.status not in (_OK, _NOT_FOUND):
        said = answer.headers.get("location") or answer.body[:_REASON_BYTES].decode("utf-8", "replace")
        raise ValueError(f"HTTP status {answer.status}: {said.strip()}")
    try:
        return answer.status, dict(json.loads(answer.body))
    except (ValueError, TypeError):
        raise ValueError(f"HTTP status {answer.status}, and no JSON of Inflight") from None


def _number(value: object) -> int:
    if type(value) is not int:
        raise ValueError("a number is missing")
    return value


def _window(found: Any) -> Json | None:
    if found is None:
        return None
    classes = {str(name): _number(count) for name, count in found["classes"].items()}
    return {**{name: _number(found[name]) for name in _NUMBERS}, "classes": classes}


def ask_archive(archive: str, path: str, at_ns: int | None, now_ns: int) -> Known:
    """Return what an archive has of a path about a time. Raises Problem: no archive, or no such path."""
    end_ns = now_ns if at_ns is None else at_ns
    back_ns = _DAY_NS if at_ns is None else _HOUR_NS
    since_ns = max(0, end_ns - back_ns)
    try:
        question = Question(since_ns, end_ns + _HOUR_NS, (path,))
        rows = [attribution_rows.decode(row["row"].encode()) for row in read(archive, question, ATTRIBUTION)]
        window = None
        for found in read(archive, Question(max(0, end_ns - _HOUR_NS), end_ns + 1, (path,))):
            window = found if window is None else max(window, found, key=lambda row: row["window_start_ns"])
        if not rows and window is None:
            others = (row["path"] for row in read(archive, Question(max(0, end_ns - _HOUR_NS), end_ns + 1)))
            raise _unknown(path, near(path, set(others)), f" in an hour of {archive}")
    except ArchiveError as error:
        raise Problem(str(error)) from None
    except ValueError as error:
        raise Problem(f"the rows in {archive} cannot be read: {error}") from None
    return Known(path=path, now_ns=now_ns, rows=rows, window=window and _of_archive(window))


def _of_archive(row: Json) -> Json:
    return {
        "start_ns": row["window_start_ns"],
        "length_ns": row["window_ns"],
        "sent": row["sent"],
        "classes": {name: row[name] or 0 for name in CLASSES},
    }


def _unknown(path: str, names: Iterable[str], where: str = "") -> Problem:
    found = ", ".join(shown(name)[:200] for name in names)
    meant = f"did you mean {found}?" if found else "`inflight top` shows those that there are"
    return Problem(f"no path {shown(path)[:200]} is known{where}: {meant}")
