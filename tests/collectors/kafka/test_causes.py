"""What kafka-python says of a connection that ends, and what it must not throw away."""

# ruff: noqa: SLF001 -- what is mended is inside of the client

from __future__ import annotations

import socket
from unittest.mock import Mock

import pytest
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

import collectors.kafka.causes  # noqa: F401 -- it is what mends them


@pytest.mark.parametrize("kind", [KafkaTCPTransport, KafkaSSLTransport])
def test_what_came_with_the_end_is_read(kind: type) -> None:
    """A broker's refusal and the end of its connection come together where we are slow to look."""
    ours, theirs = socket.socketpair()
    transport = kind.__new__(kind)
    transport._sock = ours
    transport._protocol = Mock()
    transport._closed, transport._host = False, "kafka"
    ours.setblocking(False)
    theirs.sendall(b"wrong password")
    theirs.close()
    assert transport._sock_recv() == (b"wrong password", None)
    data, error = transport._sock_recv()
    assert data == b""
    assert "disconnected" in str(error)
    ours.close()
