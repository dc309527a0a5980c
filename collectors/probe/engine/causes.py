"""Says why a connection or a link ended: in the words of the peer, and with what to do about it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from collectors.amqp.options import AmqpOptions

# What the engine or the peer says, and what it means; the first that the text contains is used.
_HINTS: Final = (
    (
        "certificate verify failed",
        "it has to be signed by `tls.ca`, and {host} has to be among its DNS names",
    ),
    ("alert unknown ca", "the peer does not trust this side's certificate, `tls.cert`"),
    ("alert certificate unknown", "the peer does not trust this side's certificate, `tls.cert`"),
    (
        "alert bad certificate",
        "the peer wants a certificate of this side that it trusts: `tls.cert`, `tls.key`",
    ),
    (
        "certificate required",
        "the peer wants a certificate of this side that it trusts: `tls.cert`, `tls.key`",
    ),
    (
        "No worthy mechs found",
        "Cyrus SASL has no module for {mechanisms} here; on Debian: apt-get install libsasl2-modules",
    ),
    ("[mech=none]", "the peer does not offer {mechanisms}: `sasl.mechanism` has to be one that it offers"),
    ("[mech=EXTERNAL]", "the peer knows nobody by this certificate, `tls.cert`"),
    ("[mech=ANONYMOUS]", "the peer lets nobody in without a login: see `sasl`"),
    ("Authentication failed [mech=", "the peer refuses this user or password"),
    ("wrong version number", "this port speaks no TLS: its URL begins with amqp://, or the port is another"),
    ("unexpected eof while reading", "the peer hung up in the middle of TLS: its log may say why"),
    ("Unknown protocol", "this port speaks no AMQP 1.0"),
    (
        "no protocol header found",
        "the peer hung up without a word: a port of TLS, whose URL begins with amqps://, or its log says why",
    ),
    ("connection aborted", "the peer hung up without a reason: its log may say why"),
    ("Connection reset", "the peer hung up without a reason: its log may say why"),
    ("Broken pipe", "the peer hung up without a reason: its log may say why"),
)


def condition_text(condition_of: Callable[[], Any]) -> str:
    """Returns what a peer, or the engine, says of an end; empty where it says nothing."""
    try:
        condition = condition_of()
    except UnicodeDecodeError:
        return "a reason that is no UTF-8"
    if condition is None or not condition.name:
        return ""
    return f"{condition.name}: {condition.description}" if condition.description else str(condition.name)


def error_text(code: int | None) -> str:
    return os.strerror(code) if code else "the connection broke"


def with_hint(text: str, peer: AmqpOptions) -> str:
    """Returns the text, and what it means where that is known."""
    for sign, hint in _HINTS:
        if sign in text:
            return f"{text}; {hint.format(host=peer.host, mechanisms=' or '.join(peer.mechanisms.split()))}"
    return text
