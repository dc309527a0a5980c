"""HTTP requests to the programs on this machine, with a short time-out."""

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
    """Return the body of the answer; raises OSError if there is none or its status is an error."""
    return _body(url, http_client.get(url, _deadline())).decode()


def post_json(url: str, body: object, *, user: str, password: str, origin: str) -> Any:
    """Return the answer's JSON; raises as `get` does, and ValueError if it is not JSON."""
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    client = HttpClient(url)
    try:
        answer = client.exchange(
            "POST",
            urlsplit(url).path or "/",
            _deadline(),
            json.dumps(body).encode(),
            Authorization=f"Basic {token}",
            Content_Type="application/json",
            Origin=origin,
        )
    finally:
        client.close()
    return json.loads(_body(url, answer))


def _deadline() -> float:
    return time.monotonic() + _TIMEOUT_SECONDS


def _body(url: str, answer: Answer) -> bytes:
    if answer.status >= _REDIRECTIONS:
        raise OSError(f"{url} answered HTTP {answer.status}")
    return answer.body
