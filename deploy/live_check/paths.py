"""Checks that a message arrives along each path, and at all targets of a fan-out."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from proton import Message, ProtonException, Timeout
from proton.utils import BlockingConnection, LinkDetached, SendException

from collectors.amqp.options import AmqpOptionsError, read_options
from collectors.config.model import Config, Endpoint
from collectors.config.paths import Path, resolve
from collectors.config.secrets import SecretError
from deploy.live_check import fixes
from deploy.live_check.result import Checked, failed, passed

_SECONDS: Final = 5.0
_TTL_SECONDS: Final = 10.0
_TURN_SECONDS: Final = 0.2
_FAN_OUT_TIMES: Final = 4  # messages, until one has come to all targets
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
    flows: dict[str, list[Path]] = {}
    for path in found.values():
        source, target = config.endpoints[path.source], config.endpoints[path.target]
        if missing := {path.source, path.target} - good:
            text = f"not tried: no login at {', '.join(sorted(missing))}"
            yield failed(f"path {path.name}", text, "")
        elif path.subscription:
            yield _attach(path, source, target)
        else:
            flows.setdefault(path.flow, []).append(path)
    for paths in flows.values():
        targets = [config.endpoints[path.target] for path in paths]
        for colour in zip(*map(_tried, paths), strict=True):
            yield from _try(colour, config.endpoints[paths[0].source], targets)


def _tried(path: Path) -> Sequence[Path]:
    """Return the path, or both colours of a marked one, which are told apart by their addresses."""
    if not path.marking_ns:
        return [path]
    return [replace(colour, name=f"{path.name} at {colour.address}") for colour in path.colours]


def _logins(name: str, endpoint: Endpoint) -> Iterator[Checked]:
    for url in endpoint.url:
        what = f"endpoint {name} at {url}"
        try:
            connection = _connect(url, endpoint)
        except (AmqpOptionsError, SecretError) as error:
            yield failed(what, str(error), "put the file right, or the config that names it")
        except (ProtonException, OSError) as error:
            text = str(error) or type(error).__name__
            yield failed(what, text, fixes.of_mesh(_kind(text)))
        else:
            yield passed(what, f"logged in, {connection.conn.remote_container}")
            _close(connection)


def _connect(url: str, endpoint: Endpoint) -> BlockingConnection:
    kwargs = read_options(url, endpoint.tls, endpoint.sasl).container_kwargs()
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


def _try(paths: Sequence[Path], source: Endpoint, targets: list[Endpoint]) -> Iterator[Checked]:
    """Check all paths of a flow together: each target of a fan-out is to get each message."""
    nonce = f"inflight-check-{uuid.uuid4()}"
    receiving = [_Receiving(path, target, nonce) for path, target in zip(paths, targets, strict=True)]
    try:
        there = []
        for one in receiving:
            if problem := _problem(one.path, "receive", one.attached):
                yield problem
            else:
                there.append(one)
        if there:
            yield from _send_to(there, source, nonce)
    finally:
        for one in receiving:
            one.end()


def _send_to(receiving: list[_Receiving], source: Endpoint, nonce: str) -> Iterator[Checked]:
    """Send until a message has come everywhere: a mesh needs a moment to know all receivers of a fan-out."""
    most = _FAN_OUT_TIMES if len(receiving) > 1 else 1
    sent: list[str] = []
    while len(sent) < most:
        sent.append(f"{nonce} {len(sent)}")
        began = time.monotonic()
        if problem := _problem(receiving[0].path, "send", lambda: _send(receiving[0].path, source, sent[-1])):
            for one in receiving:
                yield replace(problem, what=f"path {one.path.name}")
            return
        until = time.monotonic() + _SECONDS / most
        if all(one.arrived(sent[-1], until) for one in receiving):
            for one in receiving:
                took = (one.came[sent[-1]] - began) * 1000
                yield passed(f"path {one.path.name}", f"a message took {took:.1f} ms")
            return
    for one in receiving:
        yield _incomplete(one, receiving, len(sent))


def _incomplete(one: _Receiving, receiving: list[_Receiving], sent: int) -> Checked:
    what = f"path {one.path.name}"
    came = sum(len(each.came) for each in receiving)
    if len(one.came) == sent:
        return passed(what, f"{sent} messages arrived")
    if one.error is not None:
        return failed(what, f"the connection failed while it was to arrive: {one.error}", "")
    if len(receiving) > 1 and came == sent:
        got = ", ".join(f"{each.path.target} {len(each.came)}" for each in receiving)
        text = f"{sent} messages were sent, and each went to one target only, not to all: {got}"
        return failed(what, text, fixes.fan_out(one.path.address))
    return failed(what, _TIMEOUTS["arrive"], _lead(one.path))


def _problem(path: Path, step: Step, do: Callable[[], object]) -> Checked | None:
    """Do one step; return what is wrong with it, if anything is."""
    what = f"path {path.name}"
    try:
        do()
    except LinkDetached as error:
        return _refused(path, error, step)
    except SendException as error:
        return failed(what, f"the message was not accepted: {error}", _lead(path))
    except Timeout:
        return failed(what, _TIMEOUTS[step], _lead(path))
    except (ProtonException, OSError) as error:
        return failed(what, f"the connection failed while it was to {step}: {error}", "")
    return None


def _attach(path: Path, source: Endpoint, target: Endpoint) -> Checked:
    """Attach both links and send nothing: the durable subscription would keep the message for its receiver.

    The receiving link is a passing one, so that the subscription is neither made nor taken from its receiver.
    """
    with contextlib.ExitStack() as open_ones:

        def connect(endpoint: Endpoint) -> BlockingConnection:
            connection = _connect_any(endpoint)
            open_ones.callback(_close, connection)
            return connection

        def send() -> None:
            connection = connect(source)
            sender = connection.create_sender(path.address)
            connection.wait(lambda: sender.link.credit > 0, timeout=_SECONDS)

        problem = _problem(
            path, "receive", lambda: connect(target).create_receiver(path.receive_address, credit=0)
        ) or _problem(path, "send", send)
    return problem or passed(
        f"path {path.name}",
        "both ends may attach; no message was sent, as its durable subscription would keep it",
    )


def _refused(path: Path, error: LinkDetached, step: Step) -> Checked:
    denied = error.condition == _UNAUTHORIZED
    sends = step == "send"
    address = path.address if sends else path.receive_address
    text = f"the link to {step} at {path.source if sends else path.target} was refused: {error}"
    fix = fixes.path_policy(address, sends=sends) if denied else _lead(path)
    return failed(f"path {path.name}", text, fix)


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


def _send(path: Path, source: Endpoint, text: str) -> None:
    connection = _connect_any(source)
    try:
        sender = connection.create_sender(path.address, name=text)
        message = Message(body=text, durable=path.durable, priority=path.priority)
        message.ttl = _TTL_SECONDS
        sender.send(message, timeout=_SECONDS)
    finally:
        _close(connection)


class _Receiving:
    """The receiver, in a thread of its own: credit must go out while the sender waits for it."""

    def __init__(self, path: Path, target: Endpoint, nonce: str) -> None:
        self.path: Final = path
        self._target, self._nonce = target, nonce
        self.came: dict[str, float] = {}  # the check's own messages: when each did
        self.error: Exception | None = None
        self._changed = threading.Condition()
        self._attached = self._end = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def attached(self) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._attached or self.error, _SECONDS):
                raise Timeout
        if self.error:
            raise self.error

    def arrived(self, text: str, until: float) -> bool:
        with self._changed:
            left = max(0.0, until - time.monotonic())
            self._changed.wait_for(lambda: text in self.came or self.error, left)
            return text in self.came

    def end(self) -> None:
        self._end = True
        self._thread.join(_SECONDS)

    def _run(self) -> None:
        try:
            connection = _connect_any(self._target)
            try:
                name = f"{self._nonce}-in"
                receiver = connection.create_receiver(self.path.receive_address, credit=1, name=name)
                with self._changed:
                    self._attached = True
                    self._changed.notify_all()
                self._receive(receiver)
            finally:
                _close(connection)
        except Exception as error:  # noqa: BLE001 -- raised in the thread that waits
            with self._changed:
                self.error = error
                self._changed.notify_all()

    def _receive(self, receiver: Any) -> None:
        while not self._end:
            try:
                message = receiver.receive(timeout=_TURN_SECONDS)
            except Timeout:
                continue
            if isinstance(message.body, str) and message.body.startswith(self._nonce):
                receiver.accept()
                with self._changed:
                    self.came[message.body] = time.monotonic()
                    self._changed.notify_all()
            else:
                receiver.release(delivered=False)
            receiver.flow(1)


def _close(connection: BlockingConnection) -> None:
    try:
        connection.close()
    except (ProtonException, OSError):
        return  # it is gone already, or hangs: the check is over
