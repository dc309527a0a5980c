"""What the collectors are told of paths."""

from __future__ import annotations

from dataclasses import replace

from collectors.config import load, paths

CONFIG = load.parse(
    """
version: 1
site: here
meshes: {east: {urls: amqp://e}, west: {urls: amqp://w}, far: {urls: amqp://f}, idle: {urls: amqp://i}}
brokers: {orders-a: {jolokia: http://o/jolokia, mesh: far}, none: {jolokia: http://n/jolokia, mesh: far}}
endpoints: {e: {url: amqp://e, mesh: east}, w: {url: amqp://w, mesh: west}}
paths:
  plain: {from: e, to: e, address: plain}
  across: {from: e, to: w, address: across, receive_address: there}
  queued: {from: e, to: e, address: orders, receive_address: "orders::probe", via: orders-a}
  fan: {from: e, to: [e, w], address: multicast/fan}
""",
    "f",
)


def test_each_mesh_has_the_addresses_of_paths_that_lie_in_it() -> None:
    """Sent to and received from, at both ends, and in the mesh of the broker that they go through."""
    assert paths.addresses_by_mesh(CONFIG) == {
        "east": {"plain", "across", "there", "orders", "orders::probe", "multicast/fan"},
        "west": {"across", "there", "multicast/fan"},
        "far": {"orders", "orders::probe"},
    }


def test_a_broker_has_the_names_of_queues_that_paths_go_through() -> None:
    """Of an address and its queue each."""
    assert paths.queues_by_broker(CONFIG) == {"orders-a": {"orders", "probe"}}


def test_a_marked_path_has_an_address_for_each_colour() -> None:
    """In place of the one that it is configured with."""
    path = next(iter(paths.resolve(CONFIG).values()))
    plain = replace(path, address="a", receive_address="a", marking_ns=0)
    assert plain.addresses == ("a",)
    assert replace(plain, marking_ns=30_000_000_000).addresses == ("a/0", "a/1")
