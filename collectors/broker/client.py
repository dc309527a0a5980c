"""Jolokia's bulk POST: reads and searches, bounded in size and time. It cannot execute or write."""

from __future__ import annotations

import base64
import http
import json
import socket
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from collectors.config.model import Auth, Broker, Tls
from collectors.config.secrets import SecretError, read_password
from collectors.http.client import HttpClient, TooLargeError
from collectors.polling.errors import Failure, PollError

MAX_REQUEST_BYTES: Final = 256 << 10
MAX_REQUESTS: Final = 500


@dataclass(frozen=True, slots=True)
class Read:
    """Asks for attributes of the MBeans that match a pattern; for all if none is named."""

    mbean: str
    attributes: tuple[str, ...]

    def encode(self) -> dict[str, Any]:
        # A missing attribute must not take the others with it.
        config = {"ignoreErrors": True, "serializeException": False}
        named = {"attribute": [*self.attributes]} if self.attributes else {}
        return {"type": "read", "mbean": self.mbean, **named, "config": config}


@dataclass(frozen=True, slots=True)
class Search:
    """Asks for the names of the MBeans that match a pattern."""

    mbean: str

    def encode(self) -> dict[str, Any]:
        return {"type": "search", "mbean": self.mbean}


Request = Read | Search


class JolokiaClient:
    """One HTTP connection, kept open; `ask` blocks until `until` of time.monotonic() at the most."""

    def __init__(self, broker: Broker) -> None:
        self.where = broker.jolokia
        self._client = HttpClient(broker.jolokia, lambda: _context(broker.tls or Tls(), broker.jolokia))
        self._path = urlsplit(broker.jolokia).path.rstrip("/") + "/"
        self._origin = broker.origin
        self._auth: Auth | None = broker.auth
        self._target = broker.target
        self._encoded: tuple[list[Request], list[tuple[bytes, int]]] = ([], [])
        self.reply_bytes = 0

    def ask(self, requests: Sequence[Request], until: float) -> list[dict[str, Any]]:
        """Return a reply for each request, in order; raises PollError if there is no usable answer."""
        try:
            return [
                reply for body, count in self._encode(requests) for reply in self._post(body, count, until)
            ]
        except TooLargeError as error:
            raise PollError("bad_reply", f"{self.where}: {error}; narrow `queues.include`") from None
        except TimeoutError:
            raise PollError("timeout", f"{self.where} did not answer in time") from None
        except ssl.SSLError as error:
            raise PollError("tls", f"{self.where}: TLS failed: {_ssl_reason(error)}") from None
        except OSError as error:
            text = getattr(error, "strerror", None) or str(error) or type(error).__name__
            failure: Failure = (
                "refused" if isinstance(error, ConnectionRefusedError | socket.gaierror) else "lost"
            )
            raise PollError(failure, f"{self.where} cannot be asked: {text}; is the broker up?") from None

    def close(self) -> None:
        self._client.close()

    def _encode(self, requests: Sequence[Request]) -> list[tuple[bytes, int]]:
        """Return the bodies and how many requests each has; poll after poll asks for the same."""
        if self._encoded[0] != [*requests]:
            self._encoded = ([*requests], [*self._bodies(requests)])
        return self._encoded[1]

    def _bodies(self, requests: Sequence[Request]) -> Iterator[tuple[bytes, int]]:
        """Put the requests into as few bodies as the bounds allow."""
        part: list[str] = []
        size = 2
        for request in requests:
            encoded = request.encode()
            if self._target:
                encoded["target"] = {"url": self._target}
            text = json.dumps(encoded, separators=(",", ":"))
            if part and (len(part) >= MAX_REQUESTS or size + len(text) + 1 > MAX_REQUEST_BYTES):
                yield f"[{','.join(part)}]".encode(), len(part)
                part, size = [], 2
            part.append(text)
            size += len(text) + 1
        if part:
            yield f"[{','.join(part)}]".encode(), len(part)

    def _post(self, body: bytes, count: int, until: float) -> list[dict[str, Any]]:
        headers = {"Content_Type": "application/json", "Accept": "application/json"}
        if self._origin:
            headers["Origin"] = self._origin
        if self._auth:
            login = f"{self._auth.user}:{self._password(self._auth)}".encode()
            headers["Authorization"] = "Basic " + base64.b64encode(login).decode()
        answer = self._client.exchange("POST", self._path, until, body, **headers)
        self.reply_bytes += len(answer.body)
        try:
            return self._read(answer.status, answer.body, count)
        except PollError:
            self.close()
            raise

    def _password(self, auth: Auth) -> str:
        try:
            return read_password(auth.password_file)
        except SecretError as error:
            raise PollError("auth", f"{self.where}: {error}") from None

    def _read(self, status: int, data: bytes, count: int) -> list[dict[str, Any]]:
        if status == http.HTTPStatus.UNAUTHORIZED:
            raise PollError(
                "auth",
                f"{self.where} refused the login"
                + ("" if self._auth else " (none was given)")
                + "; check `auth`: user and password_file",
            )
        if status == http.HTTPStatus.FORBIDDEN:
            raise PollError("denied", self._denied())
        if status != http.HTTPStatus.OK:
            raise PollError(
                "bad_reply", f"{self.where} answered HTTP {status}; is it the URL of Jolokia itself?"
            )
        try:
            replies = json.loads(data)
        except (ValueError, RecursionError):
            raise PollError(
                "bad_reply", f"{self.where} did not answer JSON; is it the URL of Jolokia itself?"
            ) from None
        statuses = [reply.get("status") for reply in _listed(replies) if isinstance(reply, dict)]
        if statuses and all(status == http.HTTPStatus.FORBIDDEN for status in statuses):
            raise PollError("denied", self._denied())
        if not isinstance(replies, list) or len(replies) != count:
            raise PollError("bad_reply", f"{self.where} did not answer each of the {count} requests")
        return [reply if isinstance(reply, dict) else {} for reply in replies]

    def _denied(self) -> str:
        hint = (
            f"jolokia-access.xml must allow this host, the Origin {self._origin}, `read` and `search`"
            if self._origin
            else "set `origin` to the console's URL, as stock consoles ask for it"
        )
        return f"{self.where} forbids it (403): {hint}; see deploy/rights/README.md"


def _listed(replies: Any) -> list[Any]:
    return replies if isinstance(replies, list) else [replies]


def _ssl_reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{error.verify_message}; check `tls.ca` and the name in the URL"
    return error.reason or "the handshake failed"


def _context(tls: Tls, where: str) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=str(tls.ca) if tls.ca else None)
        if tls.cert and tls.key:
            # Without a password here a key with a pass phrase would ask for it on the terminal.
            context.load_cert_chain(tls.cert, tls.key, password="")
    except OSError as error:
        files = ", ".join(str(file) for file in (tls.ca, tls.cert, tls.key) if file)
        raise PollError(
            "tls", f"{where}: {files} cannot be used: {error.strerror or 'not PEM, or not a pair'}"
        ) from None
    context.check_hostname = tls.verify == "name"
    if tls.verify == "none":
        context.verify_mode = ssl.CERT_NONE
    return context
