"""Questions over HTTP to parts on this machine."""

from __future__ import annotations

import base64
import json
import time
from typing import Any, Final
from urllib.parse import urlsplit

from collectors.http import client as http_client
from collectors.http.client import Answer, HttpClient

_TIMEOUT_SECONDS: Final = 2.0
_REDIRECTIONS: Final = 300


def get(url: str) -> str:
    """The body of a good answer; anything else raises OSError."""
    return _good(url, http_client.get(url, _until())).decode()


def post_json(url: str, body: object, *, user: str, password: str, origin: str) -> Any:
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    client = HttpClient(url)
    try:
        answer = client.exchange(
            "POST",
            urlsplit(url).path or "/",
            _until(),
            json.dumps(body).encode(),
            Authorization=f"Basic {token}",
            Content_Type="application/json",
            Origin=origin,
        )
    finally:
        client.close()
    return json.loads(_good(url, answer))


def _until() -> float:
    return time.monotonic() + _TIMEOUT_SECONDS


def _good(url: str, answer: Answer) -> bytes:
    if answer.status >= _REDIRECTIONS:
        raise OSError(f"{url} answered HTTP {answer.status}")
    return answer.body
