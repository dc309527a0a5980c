"""Explains why Kafka cannot be reached: its client raises one error for all and logs more."""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import Any, Final

from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

_NEWS_SECONDS: Final = 15.0  # the client's attempts follow each other faster
_LOST: Final = "Connection lost: "
_LONGEST: Final = 300

# What the client logs → what it means. It logs a refusal among mere ends of connections, so the first sign of
# this list that was logged counts, not the latest.
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
    """Keeps the last few messages about connections, of all clients in this process."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: deque[tuple[float, str]] = deque(maxlen=50)

    def emit(self, record: logging.LogRecord) -> None:
        _, found, cause = record.getMessage().partition(_LOST)
        if found:
            self.said.append((time.monotonic(), cause))


_listener: Final = _Listener()


def listen() -> None:
    """Begins to keep what clients log about connections, which then goes nowhere else."""
    logger = logging.getLogger("kafka.net.connection")
    if _listener not in logger.handlers:
        logger.addHandler(_listener)
        logger.setLevel(logging.ERROR)
        logger.propagate = False


def _read_to_the_end(transport: Any) -> None:
    """Makes a transport take in what came together with the end of a connection.

    Kafka tells a refusal in this way, and the client throws it away; it finds the end again at its next read.
    """
    read = transport._sock_recv  # noqa: SLF001 -- it has no other place for this

    def whole(self: Any) -> tuple[bytes, BaseException | None]:
        data, error = read(self)
        return (data, None) if data else (data, error)

    transport._sock_recv = whole  # noqa: SLF001 -- the same


for _transport in (KafkaTCPTransport, KafkaSSLTransport):
    _read_to_the_end(_transport)


def explain(error: BaseException, since: float) -> str:
    """Returns the cause of an error as text, by what clients have logged since this monotonic time."""
    raised = str(error) or type(error).__name__
    since = max(since, time.monotonic() - _NEWS_SECONDS)
    said = [cause for when, cause in list(_listener.said) if when >= since]
    for sign, meaning in _MEANINGS:
        for cause in reversed(said):
            if sign in cause:
                return "; ".join(part for part in (meaning, cause[:_LONGEST]) if part)
    return raised
