"""Why a management connection cannot be had or has ended, in words that say what to do."""

from __future__ import annotations

from typing import Any, Final

from collectors.polling.errors import PollError

UNAUTHORIZED: Final = "amqp:unauthorized-access"


def unreachable(where: str, error: OSError, timeout_seconds: float) -> PollError:
    if isinstance(error, TimeoutError):
        text = f"{where} did not answer within {timeout_seconds:g}s; is a firewall in the way?"
        return PollError("timeout", text)
    return PollError("refused", f"{where} cannot be reached: {error.strerror or error}; is the router up?")


def silent(where: str, timeout_seconds: float) -> PollError:
    return PollError(
        "timeout",
        f"{where} took the connection but did not answer AMQP within {timeout_seconds:g}s; "
        "is it a router's AMQP port?",
    )


def broken(where: str, error: OSError) -> PollError:
    return PollError("lost", f"{where}: the connection broke: {error.strerror or error}")


def closed(where: str, condition: Any) -> PollError:
    """The peer closed the connection, a session or a link."""
    name, text = _told(condition, "no reason given")
    if name == UNAUTHORIZED:
        return PollError(
            "denied",
            f"{where} does not allow management: {text}; "
            "deploy/rights/README.md has the vhost policy it needs",
        )
    return PollError("lost", f"{where} closed the connection: {text}")


def transport_failed(where: str, condition: Any, *, tls: bool, login_failed: bool) -> PollError:
    """AMQP, TLS or the login failed."""
    name, text = _told(condition, "unknown")
    if name == UNAUTHORIZED or login_failed:
        return login_refused(where, text)
    if tls and any(word in text.lower() for word in ("ssl", "tls", "certificate")):
        return PollError("tls", f"{where}: TLS failed: {text}; check `tls.ca` and the name in the URL")
    if "timeout" in text.lower():
        return PollError("timeout", f"{where} fell silent: {text}")
    return PollError("lost", f"{where}: {text}")


def login_refused(where: str, text: str) -> PollError:
    return PollError(
        "auth", f"{where} refused the login ({text}); check `sasl`: mechanism, user and password_file"
    )


def ended(where: str, *, begun: bool) -> PollError:
    """The peer ended the stream without a word."""
    if begun:
        return PollError("lost", f"{where} closed the connection")
    return PollError("lost", f"{where} hung up before AMQP began; is it a router's AMQP port?")


def _told(condition: Any, otherwise: str) -> tuple[str, str]:
    name = condition.name if condition else ""
    return name, (condition.description if condition else "") or name or otherwise
