"""Why Kafka cannot be reached: its client raises `Unable to bootstrap` for all, and says more in its log."""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import Any, Final

from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

_NEWS_SECONDS: Final = 15.0  # the client's attempts follow each other faster
_LOST: Final = "Connection lost: "
_LONGEST: Final = 300

# What the client says → what it means. A refusal is said between mere ends of connections, so what stands
# higher counts more than what came later.
_MEANINGS: Final = (
    ("SaslAuthenticationFailed", "Kafka refuses this user or password: see `kafka.sasl`"),
    ("UnsupportedSaslMechanism", "Kafka does not offer `kafka.sasl.mechanism`"),
    (
        "CERTIFICATE_VERIFY_FAILED",
        "the server's certificate has to be signed by `kafka.tls.ca`, and to have its name",
    ),
    ("CERTIFICATE_REQUIRED", "Kafka wants a certificate of its client: see `kafka.tls.cert`"),
    ("_ALERT_", "Kafka does not take this side's certificate: see `kafka.tls.cert`"),
    ("violation of protocol", "this port does not speak TLS: leave out `kafka.tls`, or take another port"),
    ("WRONG_VERSION_NUMBER", "this port does not speak TLS: leave out `kafka.tls`, or take another port"),
    ("Invalid frame length", "no answer in Kafka's protocol: this port may want `kafka.tls` or `kafka.sasl`"),
    ("ApiVersions check", "no answer in Kafka's protocol: this port may want `kafka.tls` or `kafka.sasl`"),
    ("socket disconnected", "Kafka ends the connection: this port may want `kafka.tls` or `kafka.sasl`"),
    ("", ""),
)


class _Listener(logging.Handler):
    """Keeps the last few things said, by whatever client of this process."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: deque[tuple[float, str]] = deque(maxlen=50)

    def emit(self, record: logging.LogRecord) -> None:
        _, found, cause = record.getMessage().partition(_LOST)
        if found:
            self.said.append((time.monotonic(), cause))


_listener: Final = _Listener()


def listen() -> None:
    """Before a client is made; its connections' log then goes here only."""
    logger = logging.getLogger("kafka.net.connection")
    if _listener not in logger.handlers:
        logger.addHandler(_listener)
        logger.setLevel(logging.ERROR)
        logger.propagate = False


def _read_to_the_end(transport: Any) -> None:
    """Let it take in what came with the end of a connection, which is how Kafka tells a refusal.

    By itself the client throws away all that it read together with an end; it finds the end again.
    """
    read = transport._sock_recv  # noqa: SLF001 -- it has no other place for this

    def whole(self: Any) -> tuple[bytes, BaseException | None]:
        data, error = read(self)
        return (data, None) if data else (data, error)

    transport._sock_recv = whole  # noqa: SLF001 -- the same


for _transport in (KafkaTCPTransport, KafkaSSLTransport):
    _read_to_the_end(_transport)


def explain(error: BaseException, since: float) -> str:
    """What was raised, as a person wants it told; by what was said since that time of the monotonic clock."""
    raised = str(error) or type(error).__name__
    since = max(since, time.monotonic() - _NEWS_SECONDS)
    said = [cause for when, cause in list(_listener.said) if when >= since]
    for sign, meaning in _MEANINGS:
        for cause in reversed(said):
            if sign in cause:
                return "; ".join(part for part in (meaning, cause[:_LONGEST]) if part)
    return raised
