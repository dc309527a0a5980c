"""Link routes: the same behaviour from the stand-in and from qdrouterd, seen from both ends of a link.

A - B - C in a line, E an edge by A; link routes `lr` and `lr.deep` at C lead to two scripted brokers, and
`of-edge` at E to a third.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import proton
import pytest
from link_routed import LOST, NO_WAY, Routed, running_routed
from proton import Delivery, Message
from raw_links import End, Seen, Wires

pytestmark = pytest.mark.slow

_PAYLOAD = b"\x00\x53\x75\xb0"  # a body of bytes; its length follows
_FULL = proton.Condition("amqp:resource-limit-exceeded", "the queue is full")


@pytest.fixture(scope="module", params=["stand-in", "qdrouterd"])
def routed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Routed]:
    with running_routed(request.param, tmp_path_factory.mktemp("routed")) as made:
        yield made


@pytest.fixture
def wires(routed: Routed) -> Iterator[Wires]:
    yield routed.wires
    routed.wires.close_clients()


@pytest.fixture
def client(routed: Routed, wires: Wires) -> End:
    return wires.client(routed.port("A"))


@pytest.fixture
def sending(routed: Routed, client: End) -> tuple[Seen, Seen]:
    """A sender at A, and the broker's end of its link."""
    return routed.sender(client, "lr.q")


@pytest.fixture
def receiving(routed: Routed, client: End) -> tuple[Seen, Seen]:
    """A receiver at A, and the broker's end of its link."""
    return routed.receiver(client, "lr.q")


def send(end: Seen, data: bytes | None = None, *, settled: bool = False) -> Any:
    delivery = end.link.delivery(f"tag{end.sent}")
    end.sent += 1
    end.link.send(Message(body="body").encode() if data is None else data)
    end.link.advance()
    if settled:
        delivery.settle()
    return delivery


def test_both_ends_see_each_other_as_they_are(routed: Routed, client: End, wires: Wires) -> None:
    """The broker's end has the client's address, and a name of its own; credit is the receiver's."""
    sender, far = routed.sender(client, "lr.q")
    receiver, source = routed.receiver(client, "lr.q")
    container = client.connection.container
    assert (far.link.name, far.link.remote_target.address) == (f"{sender.link.name}@{container}", "lr.q")
    assert (source.link.name, source.link.remote_source.address) == (
        f"{receiver.link.name}@{container}",
        "lr.q",
    )
    wires.pump(0.3)
    assert (sender.link.credit, source.link.credit) == (0, 0)
    far.link.flow(3)
    receiver.link.flow(5)
    wires.wait(lambda: (sender.link.credit, source.link.credit) == (3, 5), "credit of both receivers")


def test_messages_and_tags_pass_unchanged(
    wires: Wires, sending: tuple[Seen, Seen], receiving: tuple[Seen, Seen]
) -> None:
    """No router adds its route to them; settled ones come settled, what is no message passes as well."""
    for near, far in ((sending[0], sending[1]), (receiving[1], receiving[0])):
        far.link.flow(3)
        wires.wait(lambda near=near: near.link.credit == 3, "credit")
        send(near)
        send(near, settled=True)
        send(near, b"no message at all")
        wires.wait(lambda far=far: len(far.bodies) == 3, "three messages")
        assert far.bodies == [Message(body="body").encode()] * 2 + [b"no message at all"]
        assert [delivery.tag for delivery in far.deliveries] == ["tag0", "tag1", "tag2"]
        assert [bool(delivery.settled) for delivery in far.deliveries] == [False, True, False]


def test_a_long_message_passes_as_it_comes(wires: Wires, sending: tuple[Seen, Seen]) -> None:
    """The broker has its beginning before its end is sent; where that never comes, it is told so."""
    near, far = sending
    far.link.flow(3)
    wires.wait(lambda: near.link.credit == 3, "credit")
    whole = _PAYLOAD + (1_000_000).to_bytes(4, "big") + b"z" * 1_000_000
    send(near, whole)
    wires.wait(lambda: far.bodies == [whole], "a message of a megabyte")
    near.link.delivery("half")
    near.link.send(whole[:50_000])
    wires.wait(lambda: len(far.partial) == 50_000, "the first half")
    near.link.send(whole[50_000:])
    near.link.advance()
    wires.wait(lambda: far.bodies == [whole] * 2, "the second half")
    cut = near.link.delivery("cut")
    near.link.send(whole[:50_000])
    wires.wait(lambda: len(far.partial) == 50_000, "the first part")
    cut.abort()
    wires.wait(lambda: far.aborted == 1, "the abort")
    assert (near.link.credit, far.link.credit) == (0, 0)


def test_outcomes_pass_with_their_details(wires: Wires, sending: tuple[Seen, Seen]) -> None:
    """Each state as it is told, settled or not yet."""
    near, far = sending
    far.link.flow(4)
    wires.wait(lambda: near.link.credit == 4, "credit")
    sent = [send(near) for _ in range(4)]
    wires.wait(lambda: len(far.deliveries) == 4, "four messages")
    accepted, modified, rejected, released = far.deliveries
    accepted.update(Delivery.ACCEPTED)
    wires.wait(lambda: near.outcomes == [("ACCEPTED", False)], "an outcome that is not settled")
    accepted.settle()
    wires.wait(lambda: near.outcomes[1:] == [("ACCEPTED", True)], "its settlement")
    modified.local.failed = modified.local.undeliverable = True
    modified.local.annotations = {"why": "tired"}
    modified.update(Delivery.MODIFIED)
    modified.settle()
    rejected.local.condition = proton.Condition("x:no", "not that one")
    rejected.update(Delivery.REJECTED)
    rejected.settle()
    released.update(Delivery.RELEASED)
    released.settle()
    wires.wait(lambda: len(near.outcomes) == 5, "the others")
    assert near.outcomes[2:] == [("MODIFIED", True), ("REJECTED", True), ("RELEASED", True)]
    told = sent[1].remote
    assert (told.failed, told.undeliverable, told.annotations) == (True, True, {"why": "tired"})
    assert sent[2].remote.condition == proton.Condition("x:no", "not that one")


def test_a_receivers_outcomes_reach_the_broker(wires: Wires, receiving: tuple[Seen, Seen]) -> None:
    near, far = receiving
    near.link.flow(2)
    wires.wait(lambda: far.link.credit == 2, "credit")
    send(far)
    send(far)
    wires.wait(lambda: len(near.deliveries) == 2, "two messages")
    for delivery, outcome in zip(near.deliveries, (Delivery.RELEASED, Delivery.ACCEPTED), strict=True):
        delivery.update(outcome)
        delivery.settle()
    wires.wait(lambda: far.outcomes == [("RELEASED", True), ("ACCEPTED", True)], "both outcomes")


def test_who_sends_may_settle_first(wires: Wires, sending: tuple[Seen, Seen]) -> None:
    near, far = sending
    far.link.flow(1)
    wires.wait(lambda: near.link.credit == 1, "credit")
    delivery = send(near)
    wires.wait(lambda: far.deliveries, "the message")
    delivery.settle()
    wires.wait(lambda: far.deliveries[0].settled, "its settlement")


def test_drain_goes_there_and_back(
    wires: Wires, sending: tuple[Seen, Seen], receiving: tuple[Seen, Seen]
) -> None:
    """Who receives gets its credit back, and may give new one."""
    for near, far in ((sending[0], sending[1]), (receiving[1], receiving[0])):
        far.link.flow(5)
        wires.wait(lambda near=near: near.link.credit == 5, "credit")
        send(near)
        far.link.drain(0)
        wires.wait(lambda near=near: near.link.drain_mode, "drain")
        near.link.drained()
        wires.wait(lambda far=far: far.link.credit == 0 and far.link.drained() == 4, "four credits back")
        far.link.flow(2)
        wires.wait(lambda near=near: near.link.credit == 2, "new credit")


@pytest.mark.parametrize("how", ["close", "detach"])
@pytest.mark.parametrize("who", ["client", "broker"])
def test_detaches_pass_with_their_reason(
    wires: Wires, sending: tuple[Seen, Seen], who: str, how: str
) -> None:
    """And are answered only when the other end has answered."""
    one, other = sending if who == "client" else reversed(sending)
    one.end(how, proton.Condition("x:enough", "no more"))
    wires.wait(lambda: other.ended, "the other end to hear of it")
    assert (other.ended, other.text) == ((how, "x:enough"), "no more")
    wires.pump(0.3)
    assert one.ended is None
    other.end(how, proton.Condition("x:so-be-it", "well"))
    wires.wait(lambda: one.ended, "the answer")
    assert one.ended == (how, "x:so-be-it")


def test_a_detach_settles_nothing(wires: Wires, sending: tuple[Seen, Seen]) -> None:
    """Of what the broker has not answered the client learns no outcome: it may have been kept."""
    near, far = sending
    far.link.flow(1)
    wires.wait(lambda: near.link.credit == 1, "credit")
    send(near)
    wires.wait(lambda: far.deliveries, "the message")
    far.end("close", _FULL)
    wires.wait(lambda: near.ended, "the end of the link")
    near.link.close()
    wires.wait(lambda: far.ended, "the answer")
    wires.pump(0.2)
    assert near.outcomes == []


@pytest.mark.parametrize("kind", ["sender", "receiver"])
def test_a_broker_that_refuses_is_heard(routed: Routed, client: End, wires: Wires, kind: str) -> None:
    """The client sees no terminus, and the broker's own reason."""

    def refuse(link: Any) -> None:
        link.open()
        link.condition = _FULL
        link.close()

    with routed.answering("store", refuse):
        near = getattr(wires, kind)(client, "lr.refused", f"{kind}-refused")
        wires.wait(lambda: near.ended, "a refusal")
    terminus = near.link.remote_target if kind == "sender" else near.link.remote_source
    assert (near.ended, near.text, terminus.address) == (
        ("close", "amqp:resource-limit-exceeded"),
        "the queue is full",
        None,
    )


def test_which_addresses_are_led(routed: Routed, client: End, wires: Wires) -> None:
    """Those below the longest prefix of whole words; what an anonymous sender names is an ordinary one."""
    assert routed.leads(client, "lr") == "store"
    assert routed.leads(client, "lr/q") == "store"
    assert routed.leads(client, "amqp:/lr.q") == "store"
    assert routed.leads(client, "lr.deeper") == "store"
    assert routed.leads(client, "lr.deep") == "deep"
    assert routed.leads(client, "lr.deep.q") == "deep"
    assert routed.leads(client, "lrx.q") is None
    anonymous = wires.sender(client, None, "anonymous")
    wires.wait(lambda: anonymous.link.credit, "credit of the router itself")
    send(anonymous, Message(address="lr.q", body="whose?").encode())
    wires.wait(lambda: anonymous.outcomes == [("RELEASED", True)], "a release: nobody receives there")


def test_edges_lead_and_are_led(routed: Routed, wires: Wires) -> None:
    """From an edge's client to a broker in the mesh, from the mesh to an edge's one, and within an edge."""
    at_edge, at_end = wires.client(routed.port("E")), wires.client(routed.port("C"))
    assert routed.leads(at_edge, "lr.q") == "store"
    assert routed.leads(at_edge, "of-edge.q") == "edge-store"
    assert routed.leads(at_end, "of-edge.q") == "edge-store"
    near, far = routed.receiver(at_end, "of-edge.q", "edge-store")
    near.link.flow(1)
    wires.wait(lambda: far.link.credit == 1, "credit")
    send(far)
    wires.wait(lambda: near.bodies == [Message(body="body").encode()], "a message from the edge's broker")


def test_a_client_that_is_gone_is_told_to_the_broker(routed: Routed, wires: Wires) -> None:
    """What it had sent in part only is aborted."""
    client = wires.client(routed.port("A"))
    near, far = routed.sender(client, "lr.q")
    far.link.flow(1)
    wires.wait(lambda: near.link.credit == 1, "credit")
    near.link.delivery("cut")
    near.link.send(_PAYLOAD + (100_000).to_bytes(4, "big") + b"z" * 50_000)
    wires.wait(lambda: far.partial, "the first part")
    client.connection.close()
    wires.wait(lambda: far.ended, "the end of the link")
    assert (far.ended, far.aborted) == (("close", LOST), 1)


def test_a_session_that_the_broker_ends_takes_its_links_along(
    routed: Routed, client: End, wires: Wires, sending: tuple[Seen, Seen]
) -> None:
    """They are lost to their clients; the next one gets a session of its own."""
    near, far = sending
    far.link.session.close()
    wires.wait(lambda: near.ended, "the end of the link")
    assert near.ended == ("close", LOST)
    assert routed.leads(client, "lr.q") == "store"


def test_links_end_with_the_brokers_connection(
    routed: Routed, client: End, wires: Wires, sending: tuple[Seen, Seen]
) -> None:
    """What had no outcome is modified, as its way is lost; when the broker is back, so are its addresses."""
    near, far = sending
    far.link.flow(1)
    wires.wait(lambda: near.link.credit == 1, "credit")
    delivery = send(near)
    wires.wait(lambda: far.deliveries, "the message")
    routed.drop_connection("store")
    wires.wait(lambda: near.ended, "the end of the link")
    assert (near.ended, near.text) == (("close", LOST), "Connectivity to the peer container was lost")
    assert near.outcomes == [("MODIFIED", True)]
    assert delivery.remote.failed
    routed.wait_led(client, "lr.q", "store")


def test_no_broker_no_link(routed: Routed, wires: Wires) -> None:
    """Where the link route is, attaches are refused; elsewhere the address becomes an ordinary one."""
    client = wires.client(routed.port("C"))
    with routed.away("store"):
        for kind in ("sender", "receiver"):
            near = getattr(wires, kind)(client, "lr.q", f"{kind}-none")
            wires.wait(lambda near=near: near.ended, "a refusal")
            assert (near.ended, near.text) == (("close", NO_WAY), "No route to the destination node")
    routed.wait_led(wires.client(routed.port("A")), "lr.q", "store")


def test_a_router_in_the_middle_is_killed(
    routed: Routed, client: End, wires: Wires, sending: tuple[Seen, Seen], receiving: tuple[Seen, Seen]
) -> None:
    """Both ends hear of it; there is no way until it is back."""
    for near, far in ((sending[0], sending[1]), (receiving[1], receiving[0])):
        far.link.flow(1)
        wires.wait(lambda near=near: near.link.credit == 1, "credit")
        send(near)
        wires.wait(lambda far=far: far.deliveries, "the message")
    routed.routers["B"].kill()
    ends = (*sending, *receiving)
    wires.wait(lambda: all(end.ended for end in ends), "the end of the links")
    assert {end.ended for end in ends} == {("close", LOST)}
    assert [sending[0].outcomes, receiving[1].outcomes] == [[("MODIFIED", True)]] * 2
    late = wires.sender(client, "lr.q", "late")
    wires.wait(lambda: late.ended, "a refusal")
    assert late.ended == ("close", NO_WAY)
    routed.routers["B"].start()
    routed.wait_led(client, "lr.q", "store")
