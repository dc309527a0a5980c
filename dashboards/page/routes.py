"""The page's files, its events, the runbook, and the state as JSON for the terminal and for scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import PurePath
from typing import Final

from collectors.http.server import Request, Response, Route, for_known_names
from dashboards.page.feed import Feed
from dashboards.page.runbook import html
from streaming.exporter import Exporter
from streaming.exporter.page_data import snapshot
from streaming.exporter.why_data import why

_KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
# Nothing but this server's own files: whatever a hostile name smuggles in, it cannot run or call out.
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        *("script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src data:"),
        *("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"),
    )
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
}


def routes(exporter: Exporter, not_ready: Callable[[], str | None]) -> Mapping[str, Route]:
    """Return what is served beside /metrics."""
    feed = Feed(lambda: snapshot(exporter, not_ready()))
    files = _files()
    return {
        **files,
        "/": for_known_names(files["/"]),  # whose events would be missing
        "/runbook": _file(html(), _KINDS[".html"]),
        "/events": for_known_names(lambda _: _events(feed)),
        "/api/state": for_known_names(lambda _: _state(feed)),
        "/api/why": for_known_names(lambda request: _why(exporter, request)),
    }


def _files() -> dict[str, Route]:
    found: dict[str, Route] = {}
    for file in resources.files("dashboards.page").iterdir():
        kind = _KINDS.get(PurePath(file.name).suffix)
        if kind is not None:
            path = "/" if file.name == "index.html" else f"/{file.name}"
            found[path] = _file(file.read_bytes(), kind)
    return found


def _file(data: bytes, kind: str) -> Route:
    return lambda _: Response(data, kind, headers=_HEADERS)


def _events(feed: Feed) -> Response:
    reader = feed.reader()
    if reader is None:
        return Response(b"too many pages are open; try again later\n", status=503)
    return Response(reader, "text/event-stream", headers={"Cache-Control": "no-store"})


def _why(exporter: Exporter, request: Request) -> Response:
    name = request.query.get("path")
    if not name:
        return Response(b"ask for a path, like /api/why?path=NAME\n", status=400)
    found = why(exporter, name)
    body = json.dumps(found, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    status = 200 if found["known"] else 404
    return Response(body, "application/json", status, {"Cache-Control": "no-store"})


def _state(feed: Feed) -> Response:
    return Response(feed.encoded(), "application/json", headers={"Cache-Control": "no-store"})
