"""Proton with nothing around it, over one blocking socket: the floor below any generator, and a trivial sink.

python -m deploy.loads.bare sink                      prints its port; takes one connection, and what it sends
python -m deploy.loads.bare send PORT SECONDS BYTES   prints how many were sent, in how long
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

import cproton as c
from cproton_ffi import ffi, lib
from proton import Connection, Message, Transport

_BUFFER_BYTES: Final = 1 << 18
_CREDIT: Final = 20_000
_IN_TURN: Final = 1_000
_PATIENCE_SECONDS: Final = 10.0
_ADDRESS: Final = "ceiling"
_TAG: Final = struct.Struct(">Q")


class Bare:
    """One connection."""

    def __init__(self, sock: socket.socket, *, server: bool) -> None:
        self._socket = sock
        sock.settimeout(_PATIENCE_SECONDS)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = Connection()
        transport = Transport(Transport.SERVER if server else Transport.CLIENT)
        self._collector = c.pn_collector()
        c.pn_connection_collect(self.connection._impl, self._collector)  # noqa: SLF001 -- cproton's pointer
        self.connection.container = "inflight-ceiling"
        transport.bind(self.connection)
        self._kept = transport
        self._transport = transport._impl  # noqa: SLF001 -- cproton's pointer
        self._data = bytearray(_BUFFER_BYTES)
        self._data_c, self._view = ffi.from_buffer(self._data), memoryview(self._data)

    def events(self) -> Iterator[tuple[int, Any]]:
        """Yields kinds and events; each is of use until the next one is asked for."""
        while event := lib.pn_collector_peek(self._collector):
            yield lib.pn_event_type(event), event
            lib.pn_collector_pop(self._collector)

    def read(self) -> bool:
        """Blocks until something has come; returns whether the peer is still there."""
        most = min(_BUFFER_BYTES, lib.pn_transport_capacity(self._transport))
        count = self._socket.recv_into(self._view, max(1, most)) if most >= 0 else 0
        if count:
            lib.pn_transport_push(self._transport, self._data_c, count)
        return count > 0

    def write(self) -> None:
        while (pending := lib.pn_transport_pending(self._transport)) > 0:
            count = lib.pn_transport_peek(self._transport, self._data_c, min(pending, _BUFFER_BYTES))
            self._socket.sendall(self._view[:count])
            lib.pn_transport_pop(self._transport, count)


def sink() -> None:
    """Accepts and forgets all that one connection sends, until it ends."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)  # noqa: T201 -- what it says
        listening.settimeout(_PATIENCE_SECONDS)
        sock, _ = listening.accept()
    bare = Bare(sock, server=True)
    bare.connection.open()
    links: list[Any] = []  # proton's links are gone with their last reference
    while True:
        for kind, event in bare.events():
            if kind == c.PN_DELIVERY:
                _forget(lib.pn_event_delivery(event))
            elif kind == c.PN_SESSION_REMOTE_OPEN:
                lib.pn_session_open(lib.pn_event_session(event))
            elif kind == c.PN_LINK_REMOTE_OPEN:
                link = lib.pn_event_link(event)
                links.append(link)
                lib.pn_terminus_copy(lib.pn_link_target(link), lib.pn_link_remote_target(link))
                lib.pn_link_open(link)
                lib.pn_link_flow(link, _CREDIT)
        try:
            bare.write()
            if not bare.read():
                return
        except OSError:
            return  # the sender has measured, and is gone


def _forget(delivery: Any) -> None:
    if not lib.pn_delivery_readable(delivery) or lib.pn_delivery_partial(delivery):
        return
    link = lib.pn_delivery_link(delivery)
    lib.pn_link_advance(link)
    lib.pn_delivery_update(delivery, c.PN_ACCEPTED)
    lib.pn_delivery_settle(delivery)
    if (credit := lib.pn_link_credit(link)) <= _CREDIT // 2:
        lib.pn_link_flow(link, _CREDIT - credit)


def send(port: int, seconds: float, size_bytes: int) -> dict[str, float]:
    """Sends the same bytes again and again, presettled: nothing costs less. Returns how many in how long."""
    bare = Bare(socket.create_connection(("127.0.0.1", port), _PATIENCE_SECONDS), server=False)
    bare.connection.open()
    session = bare.connection.session()
    session.open()
    sender = session.sender("ceiling")
    sender.target.address = _ADDRESS
    sender.open()
    link = sender._impl  # noqa: SLF001 -- cproton's pointer
    message = Message(body=bytes(size_bytes), inferred=True).encode()
    data, length = ffi.from_buffer(message), len(message)
    tag_bytes = bytearray(_TAG.size)
    tag = ffi.new("pn_bytes_t *")
    tag.size, tag.start = _TAG.size, ffi.from_buffer(tag_bytes)
    number = 0
    while lib.pn_link_credit(link) <= 0:
        bare.write()
        bare.read()
        for _ in bare.events():
            pass
    began, cpu = time.monotonic(), time.process_time()
    while time.monotonic() - began < seconds:
        for _ in range(min(_IN_TURN, lib.pn_link_credit(link))):
            _TAG.pack_into(tag_bytes, 0, number)
            number += 1
            delivery = lib.pn_delivery(link, tag[0])
            lib.pn_link_send(link, data, length)
            lib.pn_delivery_settle(delivery)
        bare.write()
        if lib.pn_link_credit(link) < _CREDIT // 2 and not bare.read():
            raise ConnectionError("the sink hung up")
        for _ in bare.events():
            pass
    return {
        "messages": number,
        "seconds": time.monotonic() - began,
        "cpu_seconds": time.process_time() - cpu,
    }


if __name__ == "__main__":
    if sys.argv[1] == "sink":
        sink()
    else:
        print(json.dumps(send(int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))))  # noqa: T201 -- the same
