"""A broker watched: a real Artemis, and servers that answer as no broker should."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from helpers import wait_until
from peers import Dripping
from proton import Message
from proton.utils import BlockingConnection

from collectors.broker import client as jolokia
from collectors.config.model import Broker
from collectors.contract import telemetry
from collectors.http import client as http_client
from collectors.polling.errors import PollError

if TYPE_CHECKING:
    from deploy.embedded.programs.artemis import Artemis

Watch = Callable[..., Any]
QUEUE = {"address": "inflight.collected", "queue": "inflight.collected"}


def login(artemis: Artemis) -> dict[str, Any]:
    return {
        "jolokia": artemis.jolokia_url,
        "origin": artemis.origin,
        "auth": {"user": artemis.user, "password_file": str(artemis.password_file)},
    }


def send(artemis: Artemis, address: str, count: int) -> None:
    connection = BlockingConnection(artemis.amqp_url)
    sender = connection.create_sender(address)
    for _ in range(count):
        sender.send(Message(durable=True, body="x"))
    connection.close()


def receive(artemis: Artemis, address: str, count: int) -> None:
    connection = BlockingConnection(artemis.amqp_url)
    receiver = connection.create_receiver(address, credit=count)
    for _ in range(count):
        receiver.receive(timeout=30)
        receiver.accept()
    connection.close()


@pytest.mark.e2e
def test_a_real_artemis(artemis: Artemis, watch: Watch) -> None:
    """Queues are counted exactly; what happened before the first look is not in the counters."""
    send(artemis, "inflight.collected", 3)
    send(artemis, "inflight.of-a-path", 2)
    began_ns = time.time_ns()
    watching = watch(
        **login(artemis), queues={"include": ["inflight.coll*"]}, of_paths=["inflight.of-a-path"]
    )
    wait_until(lambda: watching.value("broker_queue_messages", **QUEUE) == 3, 30, "three messages")
    assert watching.value("broker_queue_added_messages_total", **QUEUE) == 0
    send(artemis, "inflight.collected", 5)
    receive(artemis, "inflight.collected", 2)
    wait_until(lambda: watching.value("broker_queue_acknowledged_messages_total", **QUEUE) == 2, 30, "2 gone")
    assert watching.value("broker_queue_added_messages_total", **QUEUE) == 5
    assert watching.value("broker_queue_messages", **QUEUE) == 6
    assert watching.value("broker_up") == 1
    assert watching.value("broker_info", version="2.44.0", product="artemis", ha_role="active") == 1
    assert watching.value("broker_address_paging", address="inflight.collected") == 0
    for stat in ("init", "committed", "max", "used"):
        assert watching.value("broker_jvm_memory_bytes", pool="heap", stat=stat) is not None
    for pool in ("eden", "survivor", "old", "metaspace", "non_heap"):
        assert (watching.value("broker_jvm_memory_bytes", pool=pool, stat="used") or 0) >= 0
    for metric in ("threads", "classes"):
        assert (watching.value(f"broker_jvm_{metric}") or 0) > 10
    for metric in ("open_fds", "max_fds", "free_memory_bytes", "committed_virtual_bytes"):
        assert (watching.value(f"broker_{metric}") or 0) > 0
    assert {record.entity for _, record in watching.records} == {
        *("broker", "jvm", "queue", "address", "broker_link")
    }
    # What a path goes through is told though the config leaves it out.
    assert {row["queue"]: row["messages"] for row in watching.rows("b1", "queue")} == {
        "inflight.collected": 6,
        "inflight.of-a-path": 2,
    }
    assert len({record.run for _, record in watching.records}) == 1
    for _, record in watching.records:
        assert telemetry.decode(record.encode()) == record
        assert began_ns < record.asked_ns < record.answered_ns == record.at_ns


@pytest.mark.e2e
def test_a_broker_that_restarts(tmp_path: Path, watch: Watch, caplog: pytest.LogCaptureFixture) -> None:
    """Down while it is away, with no values; back by itself, and its counters go on from where they were."""
    from deploy.embedded.programs.artemis import Artemis  # noqa: PLC0415 -- most tests do without it

    with Artemis.alone(tmp_path) as broker:
        watching = watch(**login(broker), queues={"include": ["inflight.collected"]})
        wait_until(lambda: watching.value("broker_up") == 1, 30, "the broker")
        send(broker, "inflight.collected", 4)
        wait_until(lambda: watching.value("broker_queue_added_messages_total", **QUEUE) == 4, 30, "4 added")
        broker.kill()
        wait_until(lambda: watching.value("broker_up") == 0, 30, "the broker to be down")
        assert watching.value("broker_queue_messages", **QUEUE) is None
        assert "is the broker up?" in caplog.text
        broker.start()
        send(broker, "inflight.collected", 2)
        wait_until(lambda: watching.value("broker_queue_messages", **QUEUE) == 6, 30, "the broker to be back")
        # Loading four from its journal counts as adding them; that is what Artemis tells.
        added = watching.value("broker_queue_added_messages_total", **QUEUE)
        assert added is not None
        assert added >= 6


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("change", "failure", "text"),
    [
        ({"origin": None}, "denied", "set `origin` to the console's URL"),
        ({"origin": "http://elsewhere"}, "denied", "the Origin http://elsewhere"),
        ({"auth": None}, "auth", r"refused the login \(none was given\); check `auth`"),
    ],
)
def test_what_a_real_artemis_refuses(
    artemis: Artemis, change: dict[str, Any], failure: str, text: str
) -> None:
    """Each with what to do about it."""
    config = Broker.model_validate(login(artemis) | change)
    with pytest.raises(PollError, match=text) as caught:
        jolokia.JolokiaClient(config).ask([jolokia.Search("java.lang:*")], until=soon())
    assert caught.value.failure == failure


@pytest.mark.e2e
def test_a_password_that_is_put_right_is_taken_with_no_restart(
    artemis: Artemis, watch: Watch, tmp_path: Path
) -> None:
    """It is read anew for each try; until then the broker is down, for the reason `auth`."""
    file = tmp_path / "password"
    file.write_text("wrong\n")
    auth = {"user": artemis.user, "password_file": str(file)}
    watching = watch(**{**login(artemis), "auth": auth})
    wait_until(lambda: watching.polls("auth") >= 1, 30, "a refusal")
    assert watching.value("broker_up") == 0
    file.write_text(artemis.password_file.read_text())
    wait_until(lambda: watching.value("broker_up") == 1, 30, "the broker to be up")


@pytest.mark.e2e
def test_a_wrong_password_is_never_shown(artemis: Artemis, tmp_path: Path) -> None:
    """It is in no message."""
    (tmp_path / "wrong").write_text("s3cr3t-word\n")
    config = login(artemis) | {"auth": {"user": "monitor", "password_file": str(tmp_path / "wrong")}}
    with pytest.raises(PollError) as caught:
        jolokia.JolokiaClient(Broker.model_validate(config)).ask(
            [jolokia.Search("java.lang:*")], until=soon()
        )
    assert caught.value.failure == "auth"
    assert "s3cr3t" not in str(caught.value)


def soon() -> float:
    """Long after any of the answers here."""
    import time  # noqa: PLC0415 -- only here

    return time.monotonic() + 30


def ask(url: str, **config: Any) -> list[Any]:
    broker = Broker.model_validate({"jolokia": url, **config})
    return jolokia.JolokiaClient(broker).ask([jolokia.Search("x:*"), jolokia.Search("y:*")], until=soon())


GOOD = [{"status": 200, "value": []}, {"status": 200, "value": []}]


@pytest.mark.parametrize(
    ("answer", "failure", "text"),
    [
        ((401, b""), "auth", "refused the login"),
        ((403, b""), "denied", r"forbids it \(403\)"),
        ((404, b"<html>"), "bad_reply", "answered HTTP 404; is it the URL of Jolokia itself"),
        ((302, b""), "bad_reply", "answered HTTP 302"),
        ((200, b"<html>"), "bad_reply", "did not answer JSON"),
        ((200, b'[{"status": 2'), "bad_reply", "did not answer JSON"),
        ((200, {"status": 403, "error": "no"}), "denied", "set `origin`"),
        ((200, [{"status": 403}, {"status": 403}]), "denied", "forbids it"),
        ((200, GOOD[:1]), "bad_reply", "did not answer each of the 2 requests"),
        ((200, {"status": 200}), "bad_reply", "did not answer each"),
        ((200, [{"status": [1]}]), "bad_reply", "did not answer each"),
        ((200, {"status": {"a": 1}}), "bad_reply", "did not answer each"),
    ],
)
def test_bad_answers(fake: Any, answer: tuple[int, Any], failure: str, text: str) -> None:
    """Each is told as what it is."""
    with pytest.raises(PollError, match=text) as caught:
        ask(fake(lambda _: answer).url)
    assert caught.value.failure == failure


def test_requests_are_bounded(fake: Any) -> None:
    """Many MBeans go in several posts, each within the bounds, and the replies come in order."""
    server = fake(lambda asked: (200, [{"status": 200, "value": request["mbean"]} for request in asked]))
    client = jolokia.JolokiaClient(Broker.model_validate({"jolokia": server.url}))
    names = [f"x:queue={'q' * 800}{number}" for number in range(1200)]
    replies = client.ask([jolokia.Read(name, ("A", "B")) for name in names], until=soon())
    assert [reply["value"] for reply in replies] == names
    assert max(server.bytes_in) <= jolokia.MAX_REQUEST_BYTES
    assert max(len(asked) for asked in server.asked) <= jolokia.MAX_REQUESTS
    assert len(server.asked) > 1


def test_a_reply_that_is_too_large_is_left(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read to its end."""
    monkeypatch.setattr(http_client, "MAX_REPLY_BYTES", 1 << 20)
    with pytest.raises(PollError, match=r"narrow `queues\.include`"):
        ask(fake(lambda _: (200, b" " * (2 << 20))).url)


def test_target_and_login_are_sent(fake: Any, tmp_path: Path) -> None:
    """A Jolokia that is a proxy is told of the JVM behind it, in each request."""
    (tmp_path / "password").write_text("geheim\n")
    server = fake(lambda _: (200, GOOD))
    target = "service:jmx:rmi:///jndi/rmi://artemis:1099/jmxrmi"
    auth = {"user": "monitor", "password_file": str(tmp_path / "password")}
    ask(server.url, target=target, auth=auth, origin="http://console")
    assert [request["target"] for request in server.asked[0]] == [{"url": target}] * 2
    assert server.headers[0]["Authorization"] == "Basic bW9uaXRvcjpnZWhlaW0="
    assert server.headers[0]["Origin"] == "http://console"


@pytest.mark.parametrize(
    "endless", [b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"]
)
def test_the_deadline_is_of_the_whole_answer(endless: bytes, watch: Watch) -> None:
    """A server that drips keeps no poll for ever, in its headers as little as behind them."""
    peer = Dripping(endless, b" ")
    peer.start()
    watching = watch(jolokia=f"http://127.0.0.1:{peer.port}/jolokia")
    wait_until(lambda: watching.polls("timeout") >= 1, 30, "a timeout")
    assert watching.value("broker_up") == 0
    peer.close()


def test_what_is_no_broker_is_told(fake: Any, watch: Watch, caplog: pytest.LogCaptureFixture) -> None:
    """A Jolokia of another program."""
    watching = watch(jolokia=fake(lambda _: (200, GOOD)).url)
    wait_until(lambda: watching.polls("bad_reply") >= 1, 30, "a poll")
    wait_until(lambda: "(ActiveMQ Artemis, ActiveMQ Classic)" in caplog.text, 30, "the message")


@pytest.mark.parametrize(
    ("options", "text"), [({"expired": True}, "expired"), ({"hosts": "DNS:other"}, "mismatch")]
)
def test_a_certificate_that_is_wrong(authority: Any, options: dict[str, Any], text: str) -> None:
    """It is not accepted, and told as TLS."""
    import ssl  # noqa: PLC0415 -- only here

    made = authority.issue(f"broker {text}", **options)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.cert, made.key)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        try:
            context.wrap_socket(connection, server_side=True)
        except OSError:
            connection.close()

    threading.Thread(target=serve, daemon=True).start()
    with pytest.raises(PollError, match=text) as caught:
        ask(f"https://localhost:{listener.getsockname()[1]}/jolokia", tls={"ca": str(authority.ca)})
    assert caught.value.failure == "tls"
    assert "check `tls.ca` and the name in the URL" in str(caught.value)
    listener.close()


def test_files_that_are_no_certificates_are_told(tmp_path: Path) -> None:
    """By name."""
    (tmp_path / "ca.pem").write_text("nonsense")
    with pytest.raises(PollError, match=r"ca\.pem cannot be used"):
        ask("https://localhost:1/jolokia", tls={"ca": str(tmp_path / "ca.pem")})
