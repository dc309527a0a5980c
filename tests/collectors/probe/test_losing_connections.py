"""Connections that go, clocks that jump, receivers that die: what was sent is accounted for."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from helpers import wait_until
from peers import Between, Evil
from proton import ProtonException
from standin_clients import StandIn

from collectors.amqp.options import AmqpOptions
from collectors.probe.engine import proton_connection, reconnect
from collectors.probe.measure import guard
from collectors.probe.measure.clock import RunClock
from collectors.process import wall_clock

pytestmark = pytest.mark.slow

_SECOND = 1_000_000_000


def _config(*ports: int, **settings: Any) -> str:
    urls = ", ".join(f'"amqp://127.0.0.1:{port}"' for port in ports)
    shown = ", ".join(f"{name}: {str(value).lower()}" for name, value in settings.items())
    return f"""
endpoints: {{a: {{url: [{urls}]}}}}
defaults: {{window: 1s, settle: 1s}}
paths: {{p: {{from: a, to: a, {shown}}}}}
"""


@pytest.mark.parametrize("presettled", [False, True])
def test_router_dies_and_another_takes_over(tmp_path: Path, run: Any, *, presettled: bool) -> None:
    """The stream goes on over the next URL, no number is used twice, and the classes add up."""
    first, second = StandIn(tmp_path, "F"), StandIn(tmp_path, "G")
    address = "closest/failover"
    measured = run(_config(first.port, second.port, address=address, rate="400/s", presettled=presettled))
    measured.wait_sent(200)
    first.process.kill()
    first.process.wait()
    gone = measured.sent
    wait_until(lambda: measured.sent > gone + 200, 20, "messages over the second router")
    wait_until(lambda: measured.received > gone, 20, "messages from the second router")
    measured.finish()
    second.stop()
    total = measured.total("p")
    assert total["sent"] == measured.sent
    assert total["duplicate"] == total["unexpected"] == 0
    assert len({record.header.run for record in measured.records if record.header.role == "sender"}) == 1
    detached = [
        r.header.detached for r in measured.records if r.header.role == "receiver" and r.header.number
    ]
    assert any(detached)
    for role in ("sender", "receiver"):
        peers = [r.header.peer for r in measured.records if r.header.role == role and r.header.peer]
        assert peers[-1] == "G.stand-in"
        assert {*peers} <= {"F.stand-in", "G.stand-in"}
    assert measured.prober.senders[0].sender.unsettled == 0


def test_a_connection_that_cannot_be_set_up_is_tried_again(
    router: StandIn, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where proton refuses its settings once the socket is connected, as for files that have just changed."""
    failed = []
    prepare = AmqpOptions.prepare

    def at_first_not(self: AmqpOptions, *engine: Any) -> None:
        if len(failed) < 4:
            failed.append(self.url)
            raise ProtonException("made by a test")
        prepare(self, *engine)

    monkeypatch.setattr(AmqpOptions, "prepare", at_first_not)
    measured = run(_config(router.port, address="closest/again", rate="100/s"))
    wait_until(lambda: measured.received > 20, 30, "messages after some attempts")
    assert len(failed) == 4
    measured.finish()


class _Cutter(Between):
    """Cuts each connection after so many bytes."""

    def __init__(self, port: int, seed: int) -> None:
        super().__init__(port)
        self._chance = random.Random(seed)  # noqa: S311 -- where to cut

    def _filter(self) -> Callable[[bytes], bytes]:
        left = int(self._chance.expovariate(1 / 6_000)) + 1

        def cut(data: bytes) -> bytes:
            nonlocal left
            left -= len(data)
            self.done += left <= 0
            return data if left > 0 else b""

        return cut


@pytest.mark.parametrize(("presettled", "seed"), [(False, 1), (True, 2), (False, 3)])
def test_cut_at_any_byte(
    router: StandIn, run: Any, monkeypatch: pytest.MonkeyPatch, *, presettled: bool, seed: int
) -> None:
    """Wherever connections break, every message sent is in exactly one class, and no number is used twice."""
    monkeypatch.setattr(reconnect, "_LONGEST_DELAY_SECONDS", 0.1)
    cutter = _Cutter(router.port, seed)
    cutter.start()
    address = f"closest/cut{seed}"
    measured = run(_config(cutter.port, address=address, rate="300/s", presettled=presettled))
    wait_until(lambda: cutter.done >= 15, 60, "connections to be cut")
    cutter.active = False
    before = measured.received
    wait_until(lambda: measured.received > before + 50, 30, "messages over whole connections")
    measured.finish()
    cutter.close()
    total = measured.total("p")
    assert total["sent"] == measured.sent
    assert total["received"] + total["refused"] + total["lost"] + total["unobserved"] == total["sent"]
    assert total["unexpected"] == total["foreign"] == 0


def test_lost_with_the_connection_is_unsettled(tmp_path: Path, run: Any) -> None:
    """Messages without an outcome when the connection broke stay unsettled, and are not sent again."""
    router = StandIn(tmp_path, "F")
    router.tell(kind="delay", address="closest/slow", ms=5_000)
    measured = run(_config(router.port, address="closest/slow", rate="100/s", count=50))
    measured.wait_sent(50)
    router.process.kill()
    router.process.wait()
    router.start()
    wait_until(lambda: measured.prober.not_ready() is None, 20, "both ends to be back")
    time.sleep(0)  # nothing more is due: whatever came again would be a repeat
    measured.finish()
    router.stop()
    total = measured.total("p")
    assert total["sent"] == 50
    assert total["received"] == total["duplicate"] == 0
    assert total["lost"] + total["unobserved"] == 50
    outcomes = measured.prober.senders[0].sender.outcomes
    assert outcomes[5] == 50


def test_router_not_there_yet(tmp_path: Path, run: Any) -> None:
    """Probes wait for a router that comes later; what was due meanwhile is sent with its true time."""
    router = StandIn(tmp_path, "F")
    router.stop()
    measured = run(_config(router.port, address="closest/later", rate="50/s", count=300))
    wait_until(lambda: "Connection refused" in measured.prober.problems()[0], 20, "the problem to be told")
    assert "not attached" in (measured.prober.not_ready() or "")
    wait_until(lambda: measured.prober.senders[0].sender.backlog.due > 20, 20, "messages to be due")
    router.start()
    measured.wait_finished()
    measured.finish()
    router.stop()
    assert measured.total("p") == {"sent": 300, "received": 300, "due": 300}
    late = [
        int((record.received.sent_ns - record.received.intended_ns).max())
        for record in measured.records
        if record.received is not None
    ]
    assert max(late) > _SECOND // 5


def test_two_routers_that_are_away_are_told_once_each(
    run: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not again whenever it is the other one's turn."""
    monkeypatch.setattr(reconnect, "_LONGEST_DELAY_SECONDS", 0.01)
    tries = []
    monkeypatch.setattr(reconnect.Connector, "_look_up", _counting(reconnect.Connector._look_up, tries))  # noqa: SLF001
    run(_config(1, 2, address="closest/away"), receive=False)
    wait_until(lambda: len(tries) > 10, 20, "many tries")
    told = [message for message in caplog.messages if "no connection" in message]
    assert len(told) == len(set(told)) == 2


def _counting(call: Callable[..., None], calls: list[object]) -> Callable[..., None]:
    def counted(*arguments: object) -> None:
        calls.append(arguments)
        call(*arguments)

    return counted


def test_clock_step_begins_new_runs(router: StandIn, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the wall clock jumps all ends say bye and begin again; everything is still accounted for."""
    measured = run(_config(router.port, address="closest/step", rate="100/s"))
    measured.wait_sent(100)
    before = {record.header.run for record in measured.records}
    real = time.time_ns
    monkeypatch.setattr(wall_clock, "now_ns", lambda: real() + 3 * _SECOND)
    wait_until(lambda: measured.prober.clock_steps == 1, 10, "the step to be noticed")
    wait_until(lambda: measured.received > 100, 20, "messages of the new run")
    measured.finish()
    after = {record.header.run for record in measured.records} - before
    assert (len(before), len(after)) == (2, 2)
    byes = [record.header.run for record in measured.records if record.header.kind == "bye"]
    assert sorted(byes) == sorted(before | after)
    total = measured.total("p")
    assert total["sent"] > 150
    assert total["unexpected"] == total["negative"] == 0


def test_guard_stops_and_resumes(router: StandIn, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody receives any more: sending stops, and what is due is unsent for it; later it goes on."""
    monkeypatch.setattr(guard, "SILENT_NS", _SECOND)
    text = _config(router.port, address="multicast/guard", rate="100/s", presettled=True)
    sending = run(text, receive=False)
    receiving = run(text, send=False, shared_with=sending)
    wait_until(lambda: receiving.received > 50, 20, "messages, and the receiver to be heard of")
    sender = sending.prober.senders[0].sender
    wait_until(lambda: sender.backlog._guard._reports, 20, "the receiver to be heard of")  # noqa: SLF001 -- its only trace
    receiving.finish()
    wait_until(lambda: sender.backlog.guard_problem, 20, "the guard")
    stopped = sender.sent
    wait_until(lambda: sender.backlog.unsent > 20, 20, "messages to be given up")
    assert sender.sent <= stopped + 2  # a trickle, for a receiver to find it by
    again = run(text, send=False, shared_with=sending)
    wait_until(lambda: sender.sent > stopped and not sender.backlog.guard_problem, 30, "sending to go on")
    again.finish()
    sending.finish()
    assert sending.total("p")["unsent guard"] > 20


def test_clocks_of_two_hosts(router: StandIn, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends of different boots find their clocks' offset by echo, with the bound that the round trip gives."""
    text = _config(router.port, address="closest/echo", rate="50/s")
    real = RunClock.start

    def other(boot: int, ahead_ns: int) -> Callable[[], RunClock]:
        clock = real()
        return lambda: RunClock(clock.epoch_ns + ahead_ns, clock.suspended_ns, boot)

    monkeypatch.setattr(RunClock, "step_ns", lambda _self: 0)
    monkeypatch.setattr(RunClock, "start", other(1, 0))
    sending = run(text, receive=False)
    monkeypatch.setattr(RunClock, "start", other(2, 5 * _SECOND))
    receiving = run(text, send=False, shared_with=sending)

    def told() -> Any:
        return [r.header.clock for r in sending.records if r.header.role == "receiver" and r.header.clock]

    wait_until(told, 30, "an offset")
    ((offset, bound),) = told()[-1].values()
    assert abs(offset - 5 * _SECOND) <= bound
    assert 0 < bound < _SECOND
    receiving.finish()
    sending.finish()


def test_tls_and_password(tmp_path: Path, run: Any) -> None:
    """Over TLS, the name checked, logged in; with the wrong name or password nothing is sent."""
    authority = Authority(tmp_path)
    issued = authority.issue("router")
    (tmp_path / "users").write_text("probe:right\n")
    (tmp_path / "password").write_text("right\n")
    (tmp_path / "wrong").write_text("wrong\n")
    keys = f"cert={issued.cert},key={issued.key},users={tmp_path}/users"
    router = StandIn(tmp_path, "S", "--listen", f"127.0.0.1:0,{keys}")

    def config(password: str, host: str = "localhost") -> str:
        return f"""
endpoints:
  a:
    url: amqps://{host}:{router.port}
    tls: {{ca: {authority.ca}}}
    sasl: {{mechanism: PLAIN, user: probe, password_file: {tmp_path}/{password}}}
defaults: {{window: 1s, settle: 1s}}
paths: {{p: {{from: a, to: a, address: closest/tls, rate: 100/s, count: 20}}}}
"""

    measured = run(config("password"))
    measured.wait_finished()
    measured.finish()
    assert measured.total("p") == {"sent": 20, "received": 20, "due": 20}
    other_name = run(config("password", "127.0.0.1"))
    wait_until(lambda: "verify failed" in other_name.prober.problems()[0], 20, "the name to be refused")
    other_name.finish()
    refused = run(config("wrong"))
    wait_until(lambda: "unauthorized" in " ".join(refused.prober.problems()), 20, "the login to be refused")
    refused.finish()
    router.stop()


@pytest.mark.parametrize("place", ["container", "reason"])
def test_a_peer_whose_words_are_no_text_is_left_for_the_next(router: StandIn, run: Any, place: str) -> None:
    """Whatever it says, the probe goes to the next URL, and does not say the same for ever."""
    evil = Evil(place)
    evil.start()
    measured = run(_config(evil.port, router.port, address=f"closest/evil-{place}", rate="100/s"))
    wait_until(lambda: measured.received > 50, 30, "messages over the other peer")
    assert evil.served < 20
    measured.finish()
    evil.close()


class _Garbler(Between):
    """Lets dynamic addresses come as no text."""

    def _filter(self) -> Callable[[bytes], bytes]:
        def garble(data: bytes) -> bytes:
            self.done += b"/temp." in data
            return data.replace(b"/temp.", b"/\xff\xff\xff\xff.")

        return garble


def test_an_address_that_is_no_text_is_asked_for_again(router: StandIn, run: Any) -> None:
    """Links whose answer was not understood are made anew, on a new connection."""
    garbler = _Garbler(router.port)
    garbler.start()
    measured = run(_config(garbler.port, address="closest/garbled", rate="100/s"))
    wait_until(lambda: garbler.done >= 2, 30, "addresses to be garbled")
    garbler.active = False
    before = measured.received
    wait_until(lambda: measured.received > before + 50, 30, "messages")
    measured.finish()
    garbler.close()


def test_a_peer_that_answers_no_attach_is_left_for_the_next(
    router: StandIn, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it never does, or its answer was lost on the way."""
    monkeypatch.setattr(proton_connection, "_ATTACH_SECONDS", 1.0)
    mute = Evil("nothing")
    mute.start()
    measured = run(_config(mute.port, router.port, address="closest/mute", rate="100/s"))
    wait_until(lambda: measured.received > 50, 30, "messages over the other peer")
    assert mute.served
    measured.finish()
    mute.close()
