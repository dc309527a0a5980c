"""The page's files, its events, and the same state as JSON for the terminal and for scripts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Final

from collectors.exposition import Request, Response, Route
from dashboards.page.feed import Feed
from streaming.exporter import Exporter
from streaming.exporter.view import snapshot

_FILES: Final = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
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
    """To be served beside /metrics."""
    feed = Feed(lambda: snapshot(exporter, not_ready()))
    return {
        **{path: _file(name, kind) for path, (name, kind) in _FILES.items()},
        "/events": lambda _: _events(feed),
        "/api/state": lambda request: _state(feed, request),
    }


def _file(name: str, kind: str) -> Route:
    data = resources.files("dashboards.page").joinpath(name).read_bytes()
    return lambda _: Response(data, kind, headers=_HEADERS)


def _events(feed: Feed) -> Response:
    reader = feed.reader()
    if reader is None:
        return Response(b"too many pages are open; try again later\n", status=503)
    return Response(reader, "text/event-stream", headers={"Cache-Control": "no-store"})


def _state(feed: Feed, request: Request) -> Response:
    body = json.dumps(feed.newest(), separators=(",", ":"), ensure_ascii=False).encode()
    headers = {"Cache-Control": "no-store"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        body = gzip.compress(body, compresslevel=1)
        headers["Content-Encoding"] = "gzip"
    return Response(body, "application/json", headers=headers)
