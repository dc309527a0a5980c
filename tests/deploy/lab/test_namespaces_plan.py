"""What namespaces are set up with, as data and text: no root needed, nothing is run."""

from __future__ import annotations

import random
from typing import Any

import pytest

from deploy.actions import form
from deploy.actions.here import commands as commands_of
from deploy.errors import Problem
from deploy.lab.namespaces import commands, faults, layout, needs
from deploy.lab.namespaces.delay_line import DelayLine
from deploy.lab.namespaces.faults import Traffic, Wait
from deploy.lab.namespaces.layout import Layout, Wire

_MS = 1_000_000


def _layout() -> Layout:
    """A, B and C in a line; B dials A twice."""
    block = next(layout.free_blocks(()))
    wires = layout.wires([("B", "A"), ("B", "A"), ("C", "B")])
    return Layout(block, layout.places(block, ["A", "B", "C"]), wires)


def _wire() -> Wire:
    return _layout().wires["A--B"]


@pytest.mark.parametrize(
    ("routes", "block"),
    [
        (["default", "192.0.2.0/24", "127.0.0.0/8"], "198.18.0.0/24"),
        (["198.18.0.7", "198.18.1.0/30"], "198.18.2.0/24"),
        (["0.0.0.0/1", "128.0.0.0/1"], "198.18.0.0/24"),
        (["198.18.0.0/15", "172.16.0.0/13"], "172.24.0.0/24"),
        (["198.16.0.0/13", "172.16.0.0/12", "10.0.0.0/9"], "10.128.0.0/24"),
    ],
    ids=["none in use", "another lab", "a VPN for everything", "a wide one", "only the last range"],
)
def test_free_block(routes: list[str], block: str) -> None:
    """The first 256 addresses that no route of this host leads into; one to everywhere does not count."""
    assert str(next(layout.free_blocks(routes)).network) == block


def test_no_block_is_left() -> None:
    """A host with routes to every private address has none for a lab."""
    assert list(layout.free_blocks(["198.18.0.0/15", "172.16.0.0/12", "10.0.0.0/8"])) == []


def test_device_names_are_short_enough() -> None:
    """The kernel takes 15 characters: the largest numbers fit."""
    *_, last = layout.free_blocks(["198.18.0.0/15", "172.16.0.0/12", "10.0.0.0/9"])
    parts = layout.places(last, [f"R{number}" for number in range(253)])
    assert max(len(place.host_device) for place in parts.values()) <= 15
    assert parts["R252"].address == "10.255.255.253"
    assert last.host == "10.255.255.254"


def test_too_many_parts() -> None:
    """More parts than addresses are refused in words."""
    with pytest.raises(Problem, match="254 parts are too many for namespaces: at most 253; use relays"):
        layout.places(next(layout.free_blocks(())), [str(number) for number in range(254)])


def test_devices() -> None:
    """One pair to this host for each part, one for each link however often it is dialled."""
    made = commands.make_devices(_layout(), {"A": "/a", "B": "/b", "C": "/c"}.__getitem__)
    assert made == (
        "link add lab0-1 type veth peer name host netns /a\n"
        "link add lab0-2 type veth peer name host netns /b\n"
        "link add lab0-3 type veth peer name host netns /c\n"
        "link add link0 netns /a type veth peer name link0 netns /b\n"
        "link add link1 netns /b type veth peer name link1 netns /c\n"
    )


def test_a_part_reaches_its_neighbours_and_this_host_alone() -> None:
    """One address on all links; routes to neighbours lead over their link, and there is no other."""
    assert commands.join_part(_layout(), "B") == (
        "link set lo up\n"
        "address add 198.18.0.2/32 dev lo\n"
        "link set host up\n"
        "route add 198.18.0.254 dev host src 198.18.0.2\n"
        "link set link0 up\n"
        "route replace 198.18.0.1 dev link0 src 198.18.0.2 metric 100\n"
        "link set link1 up\n"
        "route replace 198.18.0.3 dev link1 src 198.18.0.2 metric 100\n"
    )
    assert "address add 198.18.0.254 peer 198.18.0.2 dev lab0-2\n" in commands.join_host(_layout())


def test_a_detour_goes_before_the_link() -> None:
    """Its route is preferred to the one over the veth, which stays for when the detour's device is gone."""
    taken = commands.take_detour(_layout(), "A", _wire(), "wait0b")
    assert taken == ("link set wait0b up\nroute replace 198.18.0.2 dev wait0b src 198.18.0.1 metric 10\n")
    assert commands.leave_detour("wait0b") == "route flush dev wait0b\n"


def test_a_link_as_it_was() -> None:
    """Without faults nothing is held up, refused or dropped."""
    assert commands.shape(Traffic(), "link0", netem=True) == "qdisc replace dev link0 root noqueue\n"
    rules = commands.ruleset({"A--B": {"A": Traffic(), "B": Traffic()}}, [_wire()], "A")
    assert "drop\n" not in rules
    assert "reject" not in rules


def test_limit() -> None:
    """A rate in bits, a bucket of 20 ms and a queue of 100 ms beyond it; of slow links of a few packets."""
    fast = commands.shape(Traffic(bytes_per_second=1_000_000), "link0", netem=False)
    assert fast.endswith(
        "qdisc replace dev link0 root handle 10: tbf rate 8000000bit burst 20000 limit 120000\n"
    )
    slow = commands.shape(Traffic(bytes_per_second=1_000), "link0", netem=False)
    assert slow.endswith("tbf rate 8000bit burst 3028 limit 18168\n")


def test_netem_before_the_limit() -> None:
    """Where netem is there it delays, keeps the order but for what shall overtake, and the limit follows."""
    wait = Wait(delay_ns=20 * _MS, jitter_ns=5 * _MS, overtaking_percent=2.5)
    assert commands.shape(Traffic(bytes_per_second=10_000, wait=wait), "link0", netem=True) == (
        "qdisc replace dev link0 root noqueue\n"
        "qdisc replace dev link0 root handle 1:"
        " netem limit 10000 delay 20000us 5000us reorder 2.5% rate 100gbit\n"
        "qdisc replace dev link0 parent 1:1 handle 10: tbf rate 80000bit burst 3028 limit 18168\n"
    )


def test_rules_of_a_part() -> None:
    """Who sends refuses what is cut, who receives drops what is lost; detours are meant with their link."""
    traffics = {
        "A--B": {"A": Traffic(loss_percent=5), "B": Traffic(cut=True)},
        "B--C": {"B": Traffic(), "C": Traffic(stall=True, loss_percent=1)},
    }
    rules = commands.ruleset(traffics, _layout().wires.values(), "B").split("\n")
    assert [line.strip() for line in rules if "ifname" in line] == [
        'oifname { "link0", "wait0a", "wait0b" } meta l4proto tcp reject with tcp reset',
        'oifname { "link0", "wait0a", "wait0b" } reject with icmp type host-unreachable',
        'iifname { "link0", "wait0a", "wait0b" } numgen random mod 1000000 < 50000 drop',
        'iifname { "link1", "wait1a", "wait1b" } drop',
    ]


def _after(*told: dict[str, Any]) -> faults.Faults:
    on: faults.Faults = {}
    for command in told:
        on = faults.changed(on, {"link": "A--B", **command}, _wire())
    return on


def test_faults_add_up_until_cleared() -> None:
    """One of each kind is on a link: others are added, a repeat replaces, clear takes all."""
    on = _after({"do": "loss", "percent": 5}, {"do": "delay", "ms": 20}, {"do": "loss", "percent": 7})
    assert faults.traffic(on, "A") == Traffic(loss_percent=7, wait=Wait(delay_ns=20 * _MS))
    assert [fault.told(_wire()) for fault in on.values()] == [
        {"do": "loss", "percent": 7},
        {"do": "delay", "ms": 20, "jitter_ms": 0},
    ]
    assert faults.changed(on, {"do": "clear", "link": "A--B"}, _wire()) == {}


@pytest.mark.parametrize(
    "done",
    [
        {"do": "cut"},
        {"do": "stall"},
        {"do": "loss", "percent": 5},
        {"do": "limit", "bytes_per_second": 5000},
        {"do": "delay", "ms": 20},
        {"do": "reorder", "percent": 5},
    ],
)
def test_what_an_action_did_is_undone_and_nothing_else(done: dict[str, Any]) -> None:
    """In the words in which `inflight fault` undoes it, other faults of the link stay."""
    do, undo = commands_of(form.read({**done, "what": "A--B"}))
    assert undo is not None
    other = {"link": "A--B", **({"do": "cut"} if done["do"] != "cut" else {"do": "stall"})}
    before = faults.changed({}, other, _wire())
    on = faults.changed(before, do, _wire())
    assert on != before
    assert faults.changed(on, undo, _wire()) == before


def test_direction() -> None:
    """A fault of one direction is about what that end sends."""
    on = _after({"do": "stall", "direction": "B>A"}, {"do": "limit", "bytes_per_second": 5000})
    assert faults.traffic(on, "A") == Traffic(bytes_per_second=5000)
    assert faults.traffic(on, "B") == Traffic(stall=True, bytes_per_second=5000)
    assert on["stall"].told(_wire()) == {"do": "stall", "direction": "B>A"}


def test_overtaking_needs_something_to_overtake() -> None:
    """On a link without delay the others wait for 10 ms, with one for that."""
    alone, delayed = _after({"do": "reorder", "percent": 10}), {"do": "delay", "ms": 30, "jitter_ms": 3}
    assert faults.traffic(alone, "A").wait == Wait(10 * _MS, 0, 10)
    both = faults.changed(alone, {"link": "A--B", **delayed}, _wire())
    assert faults.traffic(both, "B").wait == Wait(30 * _MS, 3 * _MS, 10)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ({"do": "loss"}, "loss: percent is a number from 0 to 100, not None"),
        ({"do": "loss", "percent": 101}, "loss: percent is a number from 0 to 100, not 101"),
        ({"do": "loss", "percent": "5"}, "loss: percent is a number from 0 to 100, not '5'"),
        ({"do": "loss", "percent": True}, "loss: percent is a number from 0 to 100, not True"),
        ({"do": "loss", "percent": float("nan")}, "loss: percent is a number from 0 to 100, not nan"),
        ({"do": "limit", "bytes_per_second": 1}, "from 1,000 to 1,000,000,000, not 1"),
        ({"do": "delay", "ms": 5, "jitter_ms": 6}, "delay: jitter_ms must not be more than ms"),
        (
            {"do": "delay", "seconds": 5},
            "delay has no seconds: beside the link it knows ms, jitter_ms, direction",
        ),
        ({"do": "cut", "direction": "A>C"}, "cut: direction is A>B or B>A, or left out for both"),
        ({"do": "cut", "direction": ["A>B"]}, "cut: direction is A>B or B>A, or left out for both"),
        ({"do": "clear", "percent": 5}, "clear has no percent: beside the link it knows fault"),
        ({"do": "clear", "fault": "move"}, "clear: fault is one of cut, stall, loss, limit, delay, reorder"),
        ({"do": "clear", "fault": ["cut"]}, "clear: fault is one of cut, stall, loss, limit, delay, reorder"),
    ],
)
def test_refused_commands(command: dict[str, Any], problem: str) -> None:
    """What is no command changes nothing, and is refused with what would be one."""
    with pytest.raises(Problem) as told:
        _after(command)
    assert problem in told.value.message


def test_root_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is not root hears of relays."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert str(needs.missing()).startswith("namespaces need root: run this as root, or use relays instead")


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are not there are told with what to install."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name, **_: None if name in {"nft", "tc"} else f"/bin/{name}")
    assert str(needs.missing()).startswith(
        "namespaces need tc, nft: install iproute2 nftables (Debian's names)"
    )


def _line(**told: Any) -> DelayLine:
    settings = {"delay_ns": 20 * _MS, "jitter_ns": 0, "overtaking_percent": 0, **told}
    return DelayLine(**settings, dice=random.Random(7).random)  # noqa: S311 -- dice


def test_packets_wait_as_long_as_asked() -> None:
    """Nothing leaves before it is due, and all does then."""
    line = _line()
    line.put(b"one", 0)
    line.put(b"two", 3 * _MS)
    assert line.due_ns == 20 * _MS
    assert line.take(20 * _MS - 1) == []
    assert line.take(20 * _MS) == [b"one"]
    assert line.take(50 * _MS) == [b"two"]
    assert line.due_ns is None


def test_jitter_keeps_the_order() -> None:
    """Single packets wait 15 to 25 ms, evenly; packets close to each other do not pass by each other."""
    line, waited = _line(jitter_ns=5 * _MS), []
    for number in range(1000):
        line.put(b"packet", number * 1000 * _MS)
        assert line.due_ns is not None
        waited.append((line.due_ns - number * 1000 * _MS) / _MS)
        line.take(line.due_ns)
    assert 15 <= min(waited) < 15.5
    assert 24.5 < max(waited) <= 25
    assert 19.5 < sum(waited) / 1000 < 20.5
    close = [bytes([number]) for number in range(200)]
    for number, packet in enumerate(close):
        line.put(packet, 10**12 + number * _MS // 10)
    assert line.take(10**13) == close


def test_some_overtake() -> None:
    """The share that was asked for does not wait, and leaves before those that do."""
    line = _line(overtaking_percent=20)
    packets = [number.to_bytes(2) for number in range(5000)]
    for packet in packets:
        line.put(packet, 0)
    first = line.take(0)
    assert 1000 - 5 * 28.3 < len(first) < 1000 + 5 * 28.3  # five standard deviations
    assert first == sorted(first)
    assert line.take(20 * _MS) == sorted(set(packets) - set(first))


def test_waiting_packets_are_bounded() -> None:
    """What finds 10,000 waiting is dropped."""
    line = _line()
    for number in range(10_007):
        line.put(number.to_bytes(2), number)
    assert [int.from_bytes(packet) for packet in line.take(10**12)] == list(range(10_000))
