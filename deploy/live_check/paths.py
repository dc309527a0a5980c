"""Does one message get through, along each path?"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any, Final, Literal

from proton import Message, ProtonException, Timeout
from proton.utils import BlockingConnection, LinkDetached, SendException

from collectors import amqp
from collectors.config import Config, Endpoint
from collectors.paths import Path, resolve
from collectors.secrets import SecretError
from deploy.live_check import fixes
from deploy.live_check.result import Checked

_SECONDS: Final = 5.0
_TTL_SECONDS: Final = 10.0
_TURN_SECONDS: Final = 0.2
_UNAUTHORIZED: Final = "amqp:unauthorized-access"

Step = Literal["receive", "send", "arrive"]


def check_paths(config: Config) -> Iterator[Checked]:
    """Log in at each end point in use, then try each path between those where that went well.

    Messages of others that come meanwhile are released; on a presettled path those few are lost to whoever
    they were for, so probes are best not running.
    """
    found = resolve(config)
    good = set()
    for name in sorted({end for path in found.values() for end in (path.source, path.target)}):
        for checked in _logins(name, config.endpoints[name]):
            yield checked
            if checked.ok:
                good.add(name)
    for path in found.values():
        what = f"path {path.name}"
        if missing := {path.source, path.target} - good:
            yield fixes.failed(what, f"not tried: no login at {', '.join(sorted(missing))}", "")
        else:
            attempt = _attach if path.subscription else _try
            yield attempt(path, config.endpoints[path.source], config.endpoints[path.target])


def _logins(name: str, endpoint: Endpoint) -> Iterator[Checked]:
    for url in endpoint.url:
        what = f"endpoint {name} at {url}"
        try:
            connection = _connect(url, endpoint)
        except (amqp.AmqpOptionsError, SecretError) as error:
            yield fixes.failed(what, str(error), "put the file right, or the config that names it")
        except (ProtonException, OSError) as error:
            text = str(error) or type(error).__name__
            yield fixes.failed(what, text, fixes.of_mesh(_kind(text)))
        else:
            yield fixes.passed(what, f"logged in, {connection.conn.remote_container}")
            _close(connection)


def _connect(url: str, endpoint: Endpoint) -> BlockingConnection:
    kwargs = amqp.options(url, endpoint.tls, endpoint.sasl).container_kwargs()
    return BlockingConnection(timeout=_SECONDS, **kwargs)


def _connect_any(endpoint: Endpoint) -> BlockingConnection:
    for url in endpoint.url[:-1]:
        with contextlib.suppress(ProtonException, OSError):
            return _connect(url, endpoint)
    return _connect(endpoint.url[-1], endpoint)


def _kind(text: str) -> Any:
    for words, kind in (
        (("ssl", "certificate", "tls"), "tls"),
        (("authentication", "unauthorized", "sasl"), "auth"),
        (("timed out", "timeout"), "timeout"),
        (("refused", "unreachable", "disconnected", "resolve"), "refused"),
    ):
        if any(word in text.lower() for word in words):
            return kind
    return "lost"


def _try(path: Path, source: Endpoint, target: Endpoint) -> Checked:
    what = f"path {path.name}"
    receiving = _Receiving(path, target)
    step: Step = "receive"
    try:
        receiving.attached()
        step = "send"
        began = time.monotonic()
        _send(path, source, receiving.nonce)
        step = "arrive"
        receiving.arrived()
    except LinkDetached as error:
        return _refused(path, error, step)
    except SendException as error:
        return fixes.failed(what, f"the message was not accepted: {error}", _lead(path))
    except Timeout:
        return fixes.failed(what, _TIMEOUTS[step], _lead(path))
    except (ProtonException, OSError) as error:
        return fixes.failed(what, f"the connection failed while it was to {step}: {error}", "")
    finally:
        receiving.end()
    return fixes.passed(what, f"a message took {(time.monotonic() - began) * 1000:.1f} ms")


def _attach(path: Path, source: Endpoint, target: Endpoint) -> Checked:
    """Both links without a message: the durable subscription would keep it, and its receiver be given it.

    The receiving link is a passing one, so that the subscription is neither made nor taken from its receiver.
    """
    what = f"path {path.name}"
    step: Step = "receive"
    try:
        with contextlib.ExitStack() as open_ones:
            receiving = _connect_any(target)
            open_ones.callback(_close, receiving)
            receiving.create_receiver(path.receive_address, credit=0)
            step = "send"
            sending = _connect_any(source)
            open_ones.callback(_close, sending)
            sender = sending.create_sender(path.address)
            sending.wait(lambda: sender.link.credit > 0, timeout=_SECONDS)
    except LinkDetached as error:
        return _refused(path, error, step)
    except Timeout:
        return fixes.failed(what, _TIMEOUTS[step], _lead(path))
    except (ProtonException, OSError) as error:
        return fixes.failed(what, f"the connection failed while it was to {step}: {error}", "")
    return fixes.passed(
        what, "both ends may attach; no message was sent, as its durable subscription would keep it"
    )


def _refused(path: Path, error: LinkDetached, step: Step) -> Checked:
    denied = error.condition == _UNAUTHORIZED
    sends = step == "send"
    address = path.address if sends else path.receive_address
    text = f"the link to {step} at {path.source if sends else path.target} was refused: {error}"
    fix = fixes.path_policy(address, sends=sends) if denied else _lead(path)
    return fixes.failed(f"path {path.name}", text, fix)


_TIMEOUTS: Final[dict[Step, str]] = {
    "receive": f"the receiver was not attached within {_SECONDS:g} s",
    "send": f"nobody gave credit for sending within {_SECONDS:g} s",
    "arrive": f"a message was accepted and did not arrive within {_SECONDS:g} s",
}


def _lead(path: Path) -> str:
    if path.via:
        return f"{fixes.waypoint(path.address, path.via)}\n{fixes.address_setting('inflight.#')}"
    return (
        f"see that {path.source} and {path.target} are of one mesh, and its links by `inflight status URL`; "
        f"no other program may receive from {path.receive_address}"
    )


def _send(path: Path, source: Endpoint, nonce: str) -> None:
    connection = _connect_any(source)
    try:
        sender = connection.create_sender(path.address, name=f"{nonce}-out")
        message = Message(body=nonce, durable=path.durable, priority=path.priority)
        message.ttl = _TTL_SECONDS
        sender.send(message, timeout=_SECONDS)
    finally:
        _close(connection)


class _Receiving:
    """The receiver, in a thread of its own: credit must go out while the sender waits for it."""

    def __init__(self, path: Path, target: Endpoint) -> None:
        self.nonce = f"inflight-check-{uuid.uuid4()}"
        self._path, self._target = path, target
        self._attached, self._arrived, self._end = (threading.Event() for _ in range(3))
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def attached(self) -> None:
        self._wait(self._attached)

    def arrived(self) -> None:
        self._wait(self._arrived)

    def end(self) -> None:
        self._end.set()
        self._thread.join(_SECONDS)

    def _wait(self, event: threading.Event) -> None:
        if not event.wait(_SECONDS):
            raise self._error or Timeout
        if self._error:
            raise self._error

    def _run(self) -> None:
        try:
            connection = _connect_any(self._target)
            try:
                name = f"{self.nonce}-in"
                receiver = connection.create_receiver(self._path.receive_address, credit=1, name=name)
                self._attached.set()
                self._receive(receiver)
            finally:
                _close(connection)
        except Exception as error:  # noqa: BLE001 -- raised in the thread that waits
            self._error = error
            self._attached.set()
            self._arrived.set()

    def _receive(self, receiver: Any) -> None:
        while not self._end.is_set():
            try:
                message = receiver.receive(timeout=_TURN_SECONDS)
            except Timeout:
                continue
            if message.body == self.nonce:
                receiver.accept()
                self._arrived.set()
                return
            receiver.release(delivered=False)
            receiver.flow(1)


def _close(connection: BlockingConnection) -> None:
    try:
        connection.close()
    except (ProtonException, OSError):
        return  # it is gone already, or hangs: the check is over
