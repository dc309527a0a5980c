"""A mesh watched over real connections, and what goes wrong with them."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from helpers import wait_until
from peers import Evil
from proton import Message
from replay import Replay
from scripted import ScriptedNode

from collectors.contract import telemetry
from collectors.contract.topics import ROUTER

pytestmark = pytest.mark.slow

Watch = Callable[..., Any]


class Nodes:
    """Scripted nodes that end with the test."""

    def __init__(self) -> None:
        self.started: list[ScriptedNode] = []

    def start(self, script: Any, **options: Any) -> ScriptedNode:
        self.started.append(ScriptedNode(script, **options))
        return self.started[-1]


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    found = Nodes()
    yield found
    for node in found.started:
        node.close()


@pytest.mark.parametrize("flavour", ["qdrouterd", "skrouterd"])
def test_a_mesh_is_shown(watch: Watch, nodes: Nodes, flavour: str) -> None:
    """All routers are up, with their values, their links, and records of each."""
    replay = Replay(flavour)
    node = nodes.start(replay, product=replay.product)
    watching = watch(urls=node.url, links=["*closest/p2"])
    wait_until(lambda: len(watching.statuses) > 1, 30, "two polls")
    a, b, c, _ = replay.routers
    for router in replay.routers:
        assert watching.value("router_up", router=router) == 1
    assert watching.value("mesh_up") == 1
    assert watching.value("router_objects", router=a, kind="nodes") == 2
    assert watching.value("router_auto_link_up", router=c, name="al-in") == 1
    assert watching.value("mesh_edge_up", id=f"{a}--{b}", source=a, target=b) == 1
    waiting = {"peer": "", "address": "closest/p2", "direction": "out", "type": "endpoint"}
    assert watching.value("router_link_undelivered_messages", router=c, **waiting) == 30
    held = watching.value("router_allocator_held_bytes", router=a, type="_other")
    assert held is not None
    entities = {record.entity for topic, record in watching.records if topic is ROUTER}
    assert {"mesh", "router", "link", "address", "node", "connection", "allocator", "listener"} <= entities
    for _, record in watching.records:
        assert telemetry.decode(record.encode()) == record
    assert node.connections == 1


def test_only_reads_are_sent(watch: Watch, nodes: Nodes) -> None:
    """Nothing that could change a router leaves the collector."""
    node = nodes.start(Replay("qdrouterd"))
    watching = watch(urls=node.url)
    wait_until(lambda: len(watching.statuses) > 1, 30, "two polls")
    assert {request.properties["operation"] for request in node.requests} == {"QUERY", "GET-MGMT-NODES"}
    unnamed = {r.properties["entityType"] for r in node.requests if r.body and not r.body["attributeNames"]}
    assert unnamed == {"org.apache.qpid.dispatch.router"}  # one row, in which versions differ


def test_a_router_that_falls_silent_vanishes_and_comes_back(watch: Watch, nodes: Nodes) -> None:
    """Its values go, its `up` is 0, the others go on; then it is back, by itself."""
    replay = Replay("qdrouterd")
    watching = watch(urls=nodes.start(replay).url)
    wait_until(lambda: watching.value("router_up", router="QDR.B") == 1, 30, "B to be up")
    replay.silent = {"QDR.B"}
    # In one poll: on a busy machine the deadline may pass for others, too, in another.
    only_b_is_down = {"QDR.A": 0, "QDR.B": None, "QDR.C": 0, "QDR.E": 0}
    wait_until(
        lambda: (
            {r: watching.value("router_stuck_deliveries", router=r) for r in replay.routers} == only_b_is_down
            and watching.value("router_up", router="QDR.B") == 0
            and watching.value("router_up", router="QDR.C") == 1
        ),
        30,
        "B alone to be down, and without values",
    )
    assert watching.polls("timeout", "prod/QDR.B") >= 1
    replay.silent = set()
    wait_until(lambda: watching.value("router_up", router="QDR.B") == 1, 30, "B to be back")


def test_an_answer_that_comes_late_is_not_taken_for_the_next(watch: Watch, nodes: Nodes) -> None:
    """B answers each request only when the one after it has come: counted as late, nothing mixed up."""
    replay = Replay("qdrouterd")
    kept: list[Message | bytes] = []

    def script(request: Message) -> list[Message | bytes]:
        answers = replay(request)
        if replay.router_of(request) != "QDR.B":
            return answers
        answers, kept[:] = kept[:], answers
        return answers

    watching = watch(urls=nodes.start(script).url)

    def late() -> float | None:
        labels = {"collector": "router", "target": "prod", "reason": "late_or_foreign"}
        return watching.registry.get_sample_value("inflight_collector_bad_replies_total", labels)

    wait_until(late, 30, "a late reply")
    for each in watching.statuses:
        assert "QDR.B" not in each.snapshots
        assert {*each.snapshots} == {"QDR.A"} | ({*each.snapshots} & {"QDR.C", "QDR.E"})


def test_the_next_url_is_tried(watch: Watch, nodes: Nodes) -> None:
    """One URL is dead: the mesh is polled through the other, and again through it when that ends."""
    first, second = nodes.start(Replay("qdrouterd")), nodes.start(Replay("qdrouterd"))
    watching = watch(urls=[first.url, second.url])
    wait_until(lambda: watching.value("mesh_up") == 1, 30, "a poll")
    first.close()
    wait_until(lambda: second.connections == 1, 30, "the other URL")
    wait_until(lambda: watching.value("router_up", router="QDR.C") == 1, 30, "the mesh to be back")


class Cutting:
    """A way to a node that is cut, in both directions, after so many bytes from the node."""

    def __init__(self, port: int, after_bytes: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"amqp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._port, self._left = port, after_bytes
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        near, _ = self._listener.accept()
        self._listener.close()
        with near, socket.create_connection(("127.0.0.1", self._port)) as far:
            threading.Thread(target=self._forward, args=(near, far), daemon=True).start()
            while self._left > 0 and (data := far.recv(min(self._left, 4096))):
                near.sendall(data)
                self._left -= len(data)
            near.shutdown(socket.SHUT_RDWR)  # closing alone waits for the other thread to be done reading

    def _forward(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := near.recv(4096):
                far.sendall(data)


def test_a_router_killed_in_the_middle_of_its_replies(watch: Watch, nodes: Nodes) -> None:
    """What had come of that poll is not shown; the next URL is taken."""
    cut = Cutting(nodes.start(Replay("qdrouterd")).port, after_bytes=30_000)
    other = nodes.start(Replay("skrouterd"), product="skupper-router")
    watching = watch(urls=[cut.url, other.url])
    wait_until(lambda: watching.value("mesh_up") == 1, 8, "the other URL")
    assert watching.polls("lost") == 1
    assert {router for each in watching.statuses for router in each.snapshots} == {
        "SK.A",
        "SK.B",
        "SK.C",
        "SK.E",
    }


TLS_MISTAKES = {
    "expired": ({"expired": True}, "certificate has expired|certificate verify failed"),
    "of another name": ({"hosts": "DNS:other.example"}, "certificate verify failed|mismatch"),
}


@pytest.mark.parametrize("mistake", TLS_MISTAKES)
def test_a_certificate_that_is_wrong(
    watch: Watch, nodes: Nodes, authority: Authority, mistake: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not accepted; the message says that it is TLS, and where to look."""
    options, text = TLS_MISTAKES[mistake]
    made = authority.issue(f"router {mistake}", **options)
    node = nodes.start(Replay("qdrouterd"), certificate=made)
    watching = watch(urls=node.url, tls={"ca": str(authority.ca)})
    wait_until(lambda: watching.polls("tls") >= 1, 30, "a refusal")
    wait_until(lambda: re.search(text, caplog.text), 30, "the message")
    assert "check `tls.ca` and the name in the URL" in caplog.text
    assert watching.value("mesh_up") == 0
    assert not node.requests
    node.close()
    good = authority.issue(f"router no longer {mistake}")
    nodes.start(Replay("qdrouterd"), certificate=good, port=node.port)
    wait_until(lambda: watching.value("mesh_up") == 1, 30, "the mesh to be up, with no restart")


def test_tls(watch: Watch, nodes: Nodes, authority: Authority) -> None:
    """A certificate by the right authority, with the right name, is accepted."""
    node = nodes.start(Replay("qdrouterd"), certificate=authority.issue("router"))
    watching = watch(urls=node.url, tls={"ca": str(authority.ca)})
    wait_until(lambda: watching.value("mesh_up") == 1, 30, "a poll")


def test_a_refused_connection_is_told(watch: Watch, caplog: pytest.LogCaptureFixture) -> None:
    """Which URL, what happened, what to look at; once, though it is tried again and again."""
    watching = watch(urls="amqp://127.0.0.1:1")
    wait_until(lambda: watching.polls("refused") >= 2, 30, "two refusals")
    assert watching.value("mesh_up") == 0
    (message,) = [m for m in caplog.messages if "127.0.0.1:1 " in m]
    assert message == "mesh prod: amqp://127.0.0.1:1 cannot be reached: Connection refused; is the router up?"


def test_two_urls_that_fail_in_turns_are_told_once_each(
    watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not again whenever it is the other one's turn."""
    watching = watch(urls=["amqp://127.0.0.1:1", "amqp://127.0.0.1:2"])
    wait_until(lambda: watching.polls("refused") >= 5, 30, "refusals by both")
    assert sum("cannot be reached" in message for message in caplog.messages) == 2


@pytest.fixture
def black_hole() -> Iterator[str]:
    """Takes connections and never says a word."""
    listener = socket.create_server(("127.0.0.1", 0))
    kept = []

    def swallow() -> None:
        while True:
            try:
                kept.append(listener.accept()[0])
            except OSError:
                return

    thread = threading.Thread(target=swallow, daemon=True)
    thread.start()
    yield f"amqp://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)
    for connection in kept:
        connection.close()


def test_a_black_hole_is_left_in_time(watch: Watch, nodes: Nodes, black_hole: str) -> None:
    """A peer that never answers costs one deadline, and the next URL is taken."""
    watching = watch(urls=[black_hole, nodes.start(Replay("qdrouterd")).url])
    wait_until(lambda: watching.value("mesh_up") == 1, 8, "the other URL")
    assert watching.polls("timeout") >= 1


def test_silence_in_the_middle_is_noticed(watch: Watch, nodes: Nodes) -> None:
    """A router that was fine and stops answering: down within the deadline, back when it answers again."""
    replay = Replay("qdrouterd")
    watching = watch(urls=nodes.start(replay).url)
    wait_until(lambda: watching.value("mesh_up") == 1, 30, "a poll")
    replay.silent = {*replay.routers}
    wait_until(lambda: watching.value("mesh_up") == 0, 30, "the mesh to be down")
    assert watching.value("router_up", router="QDR.A") == 0
    assert watching.value("router_stuck_deliveries", router="QDR.A") is None
    replay.silent = set()
    wait_until(lambda: watching.value("mesh_up") == 1, 30, "the mesh to be back")


def test_junk_ends_nothing(watch: Watch, nodes: Nodes) -> None:
    """Bytes that are no message are counted, and the polls go on."""
    replay = Replay("qdrouterd")
    watching = watch(urls=nodes.start(lambda request: [b"\x00Sw\xff junk", *replay(request)]).url)
    wait_until(lambda: watching.value("mesh_up") == 1, 30, "a poll")
    labels = {"collector": "router", "target": "prod", "reason": "cut"}
    counted = watching.registry.get_sample_value("inflight_collector_bad_replies_total", labels)
    assert counted is not None
    assert counted >= 40


def test_a_wrong_password_is_told_and_never_shown(
    watch: Watch, nodes: Nodes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The message names the mechanism's settings; the password stands nowhere."""
    (tmp_path / "password").write_text("s3cr3t-word\n")
    sasl = {"mechanism": "PLAIN", "user": "monitor", "password_file": str(tmp_path / "password")}
    watching = watch(urls=nodes.start(Replay("qdrouterd")).url, sasl=sasl)
    wait_until(lambda: watching.polls("auth") >= 1, 30, "a refusal")
    wait_until(lambda: "refused the login" in caplog.text, 30, "the message")
    assert "check `sasl`: mechanism, user and password_file" in caplog.text
    assert "s3cr3t" not in caplog.text
    assert "s3cr3t" not in str(watching.records)


def test_a_missing_password_file_is_told(watch: Watch, caplog: pytest.LogCaptureFixture) -> None:
    """It is tried again: the file may come."""
    sasl = {"mechanism": "PLAIN", "user": "monitor", "password_file": "/nonexistent/password"}
    watching = watch(urls="amqp://127.0.0.1:1", sasl=sasl)
    wait_until(lambda: watching.polls("auth") >= 1, 30, "a refusal")
    wait_until(lambda: "/nonexistent/password cannot be read" in caplog.text, 30, "the message")


def test_what_is_odd_is_told_once(watch: Watch, nodes: Nodes, caplog: pytest.LogCaptureFixture) -> None:
    """An unknown attribute is counted at each poll, and logged at the first."""
    replay = Replay("qdrouterd")

    def script(request: Message) -> list[Message | bytes]:
        answers = replay(request)
        for answer in answers:
            if request.properties.get("entityType", "").endswith(".connector") and isinstance(
                answer, Message
            ):
                answer.body["attributeNames"].append("colour")
                for row in answer.body["results"]:
                    row.append("red")
        return answers

    watching = watch(urls=nodes.start(script).url)
    wait_until(lambda: len(watching.statuses) > 2, 30, "three polls")
    assert sum("unknown_attribute" in message for message in caplog.messages) == 4  # routers
    labels = {"collector": "router", "target": "prod/QDR.A", "reason": "unknown_attribute"}
    counted = watching.registry.get_sample_value("inflight_collector_bad_replies_total", labels)
    assert counted is not None
    assert counted >= 3


def test_a_peer_whose_reason_is_no_text_is_a_bad_reply(
    watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    """Told in a line and counted; the next poll begins anew."""
    evil = Evil("reason")
    evil.start()
    watching = watch(urls=evil.url)
    wait_until(lambda: watching.polls("bad_reply") >= 2, 30, "two polls")
    assert any("says what is no UTF-8" in record.getMessage() for record in caplog.records)
    assert not any(record.exc_info for record in caplog.records)
    evil.close()
