"""Paths that share a connection: what one of them does is not the others' loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import wait_until
from peers import Between
from real_routers import DISPATCH, line, wanted
from standin_clients import StandIn

from collectors.probe.engine import reconnect
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.lab.routers import RealRouter
from deploy.lab.wiring import Direct

pytestmark = pytest.mark.slow

_LARGE = 20_000
ENDS = {"p": 1, "q": 1, "r": 2}  # of senders, of paths that do nothing wrong


def _config(url: str, bad: str) -> str:
    return f"""
endpoints: {{a: {{url: "{url}"}}}}
defaults: {{window: 1s, settle: 1s, rate: 100/s}}
paths:
  p: {{from: a, to: a, address: closest/shared-p}}
  q: {{from: a, to: a, address: closest/shared-q, presettled: true}}
  r: {{from: a, to: a, address: closest/shared-r, senders: 2}}
  bad: {{from: a, to: a, address: closest/shared-bad, {bad}}}
"""


def _lost_links(caplog: pytest.LogCaptureFixture) -> Counter[str]:
    """How often a link went, by path."""
    return Counter(text.partition(":")[0] for text in caplog.messages if ": the link is gone" in text)


class _Bounded(Between):
    """Ends the connection that a long message comes over, as routers do, without a word."""

    def _filter(self) -> Callable[[bytes], bytes]:
        in_a_row = 0

        def bounded(data: bytes) -> bytes:
            nonlocal in_a_row
            in_a_row = in_a_row + len(data) if bytes(500) in data else 0
            self.done += in_a_row > _LARGE // 2
            return data if in_a_row <= _LARGE // 2 else b""

        return bounded


@pytest.fixture
def bounded(router: StandIn) -> Iterator[_Bounded]:
    peer = _Bounded(router.port)
    peer.start()
    yield peer
    peer.close()


def test_a_path_that_ends_its_connection_is_soon_alone(
    bounded: _Bounded, run: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After the second time nobody shares with it: it fails on and on, and the others lose nothing more."""
    monkeypatch.setattr(reconnect, "_LONGEST_DELAY_SECONDS", 0.2)
    measured = run(_config(bounded.url, f"size: {_LARGE}B, rate: 5/s"))
    wait_until(lambda: bounded.done >= 8, 60, "connections to be ended")
    measured.finish()
    lost = _lost_links(caplog)
    assert lost["path bad"] >= 6
    assert all(lost[f"path {path}"] <= 2 * ends for path, ends in ENDS.items()), lost
    senders = {end.path.name: end.sender for end in measured.prober.senders}
    assert len({id(sender.link.connection) for sender in senders.values()}) == 4
    for path in ENDS:
        total = measured.total(path)
        assert total["sent"] == total["received"] + total["lost"] + total["unobserved"]
        assert total["received"] > 100


def test_long_messages_have_a_connection_of_their_own(router: StandIn, run: Any) -> None:
    """Those that are longer than a frame: the others would wait behind them. All others share two."""
    measured = run(_config(f"amqp://127.0.0.1:{router.port}", "size: 100kB, rate: 5/s"))
    wait_until(lambda: all(end.sender.sent > 2 for end in measured.prober.senders), 20, "messages")
    connections = [end.sender.link.connection for end in measured.prober.senders]
    receiving = [receiver.link.connection for receiver in measured.prober.receivers]
    measured.finish()
    names = [end.path.name for end in measured.prober.senders]
    alone = connections[names.index("bad")]
    assert sum(connection is alone for connection in connections) == 1
    assert len({id(connection) for connection in connections}) == 2
    assert len({id(connection) for connection in receiving}) == 2
    for path in (*ENDS, "bad"):
        assert measured.total(path)["received"] == measured.total(path)["sent"]


@pytest.mark.parametrize("presettled", ["true", "false"])
def test_what_the_socket_does_not_take_is_not_sent(router: StandIn, run: Any, presettled: str) -> None:
    """The peer reads nothing, and then the connection ends: what was due meanwhile waited, and was not lost.

    Of presettled messages those are told as unsettled that had been made and were not on the socket: as many
    as are made at once, which of this length are two, and one of which a part was out.
    """
    peer = Between(router.port)
    peer._filter = lambda: bytes  # type: ignore[method-assign]  # noqa: SLF001 -- all goes through
    peer.start()
    bad = f"size: 100kB, rate: 100/s, presettled: {presettled}, max_backlog: 10000"
    measured = run(_config(peer.url, bad))
    (sender,) = [end.sender for end in measured.prober.senders if end.path.name == "bad"]
    wait_until(lambda: sender.sent > 20, 30, "messages")
    peer.deaf = True
    wait_until(lambda: len(sender.backlog.waiting) > 150, 60, "a backlog")
    sent = sender.sent
    peer.cut = True
    wait_until(lambda: not sender.link_up, 20, "the end of the connection")
    assert sender.sent == sent
    peer.deaf = peer.cut = False
    wait_until(lambda: sender.sent > sent + 200, 60, "what had waited")
    measured.finish()
    peer.close()
    total = measured.total("bad")
    if presettled == "true":
        assert total["lost unsettled"] <= 3
    assert total["sent"] == total["received"] + total["lost"] + total["unobserved"]
    assert total["due"] == total["sent"] + sum(n for name, n in total.items() if name.startswith("unsent"))


_POLICY = """
policy {
    enableVhostPolicy: true
}
vhost {
    hostname: $default
    maxMessageSize: 10000
    groups: {
        "$default": {
            "users": "*", "remoteHosts": "*", "allowDynamicSource": true, "allowAnonymousSender": true,
            "targets": "*", "sources": "*"
        }
    }
}
"""


@pytest.mark.e2e
def test_a_real_router_that_refuses_long_messages(
    tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It ends the connection with a reason: the bad path's own end tells it, and the others go on."""
    wanted(DISPATCH)
    monkeypatch.setattr(reconnect, "_LONGEST_DELAY_SECONDS", 0.2)
    with Supervisor(tmp_path) as supervisor:
        router = RealRouter(supervisor, Direct().place(line(routers=1)), "A")
        router.configuration.write_text(router.configuration.read_text() + _POLICY)
        router.start()
        measured = run(_config(router.url, f"size: {_LARGE}B, rate: 5/s"))
        (bad,) = [end.sender for end in measured.prober.senders if end.path.name == "bad"]
        wait_until(
            lambda: len({id(end.sender.link.connection) for end in measured.prober.senders}) == 5, 30, "parts"
        )
        wait_until(lambda: "Message size exceeded" in bad.link.connection.problem, 30, "the reason")
        wait_until(lambda: _lost_links(caplog)["path bad"] >= 6, 60, "further failures")
        measured.finish()
        lost = _lost_links(caplog)
        assert all(lost[f"path {path}"] <= 2 * ends for path, ends in ENDS.items()), lost
