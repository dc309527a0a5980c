"""The wiring of a lab whose parts are in namespaces of their own; `commands` has what is run.

Nothing has a name outside of processes: the namespaces are there for the holder and the parts. With them go
the veth pairs, and with those the routes of this host.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from deploy.embedded.supervise.process import Process, ProcessSpec
from deploy.embedded.supervise.supervisor import Supervisor
from deploy.errors import Problem
from deploy.lab import faults
from deploy.lab.faults import CLEAR, Choices, Faults
from deploy.lab.namespaces import commands, holder, layout, needs, packets
from deploy.lab.namespaces.faults import KINDS, Traffic, Wait, traffic
from deploy.lab.namespaces.layout import Block, Layout, Wire
from deploy.lab.wiring import Argv
from deploy.topology import plan
from deploy.topology.form import Topology
from deploy.topology.plan import Plan

_COMMAND_SECONDS: Final = 30.0
_START_SECONDS: Final = 30.0


@dataclass(frozen=True)
class _Detour:
    """Devices of this name are the way over a link while its packets have to wait in a relay."""

    device: str
    relay: Process
    waits: Mapping[str, Wait]


class Namespaces:
    """A namespace for each part, a veth pair for each link, and one from each part to this host."""

    verbs: frozenset[str] = frozenset({*KINDS, CLEAR})
    clients: Mapping[str, int] = {}

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._directory = supervisor.directory("parts/namespaces", fresh=True)
        self._lock = threading.Lock()
        self._claim: socket.socket | None = None
        self._layout: Layout | None = None
        self._holder: Process | None = None
        self.netem = False  # whether this kernel has it; known from `start` on
        self._faults: dict[str, Faults] = {}
        self._detours: dict[str, _Detour | None] = {}  # by link, like the faults

    @property
    def layout(self) -> Layout:
        if self._layout is None:
            raise RuntimeError("`place` comes before all else")
        return self._layout

    def place(self, topology: Topology) -> Plan:
        """Choose addresses; ports are counted upwards at each of them, as on hosts of their own."""
        if missing := needs.missing():
            raise Problem(missing)
        block = self._free_block()
        places = layout.places(block, [*topology.routers, *topology.brokers])
        made = plan.make(topology.placed(lambda part: places[part].address))
        wires = layout.wires((one, other) for one, other, _ in made.links())
        self._layout = Layout(block, places, wires)
        self._faults = {link: {} for link in wires}
        return made

    def _free_block(self) -> Block:
        """Choose addresses that no other lab chooses meanwhile; from `start` on, this host's routes tell."""
        argv = [needs.program("ip"), "-json", "-4", "route", "show", "table", "all"]
        told = self._run("looking at this host's routes", argv)
        for block in layout.free_blocks(route["dst"] for route in json.loads(told)):
            claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                # No file: such a name belongs to the network namespace, and is gone with its process.
                claim.bind(f"\0inflight-lab-{block.network}")
            except OSError:
                claim.close()
                continue
            self._claim = claim
            return block
        raise Problem("this host has routes to all private addresses, and so none are left for namespaces")

    def start(self) -> None:
        """Make namespaces, devices and routes; they are there when this returns."""
        leaving = self._directory / "leaving"
        leaving.write_text(commands.leave_host(self.layout))
        script = ["-I", "-S", str(holder.__file__), str(len(self.layout.places))]
        ending = [needs.program("ip"), "-force", "-batch", str(leaving)]
        self._holder = self._started("namespaces", [*script, *ending])
        self._ip(None, commands.make_devices(self.layout, self._namespace))
        for part in self.layout.places:
            self._ip(part, commands.join_part(self.layout, part))
        self._ip(None, commands.join_host(self.layout))
        self.netem = self._has_netem()
        if self._claim is not None:
            self._claim.close()

    def _has_netem(self) -> bool:
        """Find out by trying: it may be a module, or not built at all."""
        part = next(iter(self.layout.places))
        try:
            self._tc(part, f"qdisc replace dev {layout.HOST_DEVICE} root netem delay 1ms\n")
        except Problem:
            return False
        self._tc(part, f"qdisc replace dev {layout.HOST_DEVICE} root noqueue\n")
        return True

    def argv(self, part: str, argv: Argv) -> Argv:
        """Return a command line that begins inside the part's namespace, in the same process."""
        return [needs.program("nsenter"), f"--net={self._namespace(part)}", "--", *argv]

    def _namespace(self, part: str) -> str:
        if self._holder is None:
            raise RuntimeError("the namespaces were not started")
        self._holder.check()
        return f"/proc/{self._holder.pid}/fd/{holder.FIRST_FILE + self.layout.places[part].number - 1}"

    def tell(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Change what is done to a link, and return all that is now; after a Problem it is as it was."""
        if command.get("do") not in self.verbs:
            raise Problem(
                f"{command.get('do')!a} is none of {', '.join(sorted(self.verbs))}: in namespaces a link"
                " leads from one part to one other, and cannot be moved; relays can"
            )
        wire = self.layout.wires.get(str(command.get("link")))
        if wire is None:
            raise Problem(f"name a `link`, one of {', '.join(sorted(self.layout.wires))}")
        with self._lock:
            before = self._faults[wire.id]
            after = faults.changed(before, command, Choices(KINDS, wire.directions))
            try:
                self._carry_out(wire, after)
            except Problem:
                self._carry_out(wire, before)
                raise
        return {"link": wire.id, "faults": faults.told(after)}

    def _traffics(self, wire: Wire) -> dict[str, Traffic]:
        """Return what becomes of what each end sends."""
        on = self._faults[wire.id]
        return {end: traffic(on, way) for end, way in zip(wire.ends, wire.directions, strict=True)}

    def _carry_out(self, wire: Wire, on: Faults) -> None:
        """Let a link be as its faults say, whatever it was."""
        self._faults[wire.id] = on
        before = self._detours.get(wire.id)
        after = self._detours[wire.id] = self._detour(wire, before)
        device = after.device if after else wire.device
        try:
            for end, sent in self._traffics(wire).items():
                self._tc(end, commands.shape(sent, device, netem=self.netem))
                if after:
                    self._ip(end, commands.take_detour(self.layout, end, wire, device))
                elif before and before.relay.alive:
                    self._ip(end, commands.leave_detour(before.device))
                self._nft(end)
        finally:
            if before and before is not after:
                before.relay.stop()
        if "cut" in on:
            self._reset(wire)

    def _detour(self, wire: Wire, before: _Detour | None) -> _Detour | None:
        """Return a way by which packets can wait, if some have to and there is no netem for it."""
        waits = {end: sent.wait for end, sent in self._traffics(wire).items()}
        if self.netem or not any(wait.delay_ns for wait in waits.values()):
            return None
        if before and before.waits == waits and before.relay.alive:
            return before
        device = next(name for name in wire.detours if before is None or name != before.device)
        told = [
            {"namespace": self._namespace(end), "device": device, **asdict(wait)}
            for end, wait in waits.items()
        ]
        relay = self._started(f"packets-{wire.id}-{device}", ["-m", packets.__name__, json.dumps(told)])
        return _Detour(device, relay, waits)

    def _started(self, name: str, arguments: Argv) -> Process:
        """Start a program of this folder; its last argument is a file that it makes when it is ready."""
        ready = self._directory / f"{name}.ready"
        ready.unlink(missing_ok=True)
        argv = [sys.executable, *arguments, ready]
        return self._supervisor.start(ProcessSpec(name, argv, ready.exists, _START_SECONDS))

    def _reset(self, wire: Wire) -> None:
        """End the connections over a link: those that say nothing would not notice that it is cut."""
        for end in wire.ends:
            peer = self.layout.places[wire.other(end)].address
            argv = [needs.program("ss"), "--kill", "--tcp", "--all", "dst", peer]
            self._run(f"resetting the connections of {end}", self.argv(end, argv))

    def _ip(self, part: str | None, text: str) -> None:
        self._batch(part, [needs.program("ip"), "-batch"], text)

    def _tc(self, part: str, text: str) -> None:
        self._batch(part, [needs.program("tc"), "-batch"], text)

    def _nft(self, part: str) -> None:
        wires = self.layout.at(part)
        traffics = {wire.id: self._traffics(wire) for wire in wires}
        self._batch(part, [needs.program("nft"), "-f"], commands.ruleset(traffics, wires, part))

    def _batch(self, part: str | None, argv: list[str], text: str) -> None:
        """Run the lines of a text, in the part's namespace or in this one."""
        file = self._directory / "commands"
        file.write_text(text)
        where = "this host" if part is None else f"the namespace of {part}"
        within = argv if part is None else self.argv(part, argv)
        self._run(f"setting up the network of {where}", [*within, file])

    def _run(self, what: str, argv: Argv) -> str:
        return self._supervisor.run(what, argv, within_seconds=_COMMAND_SECONDS)
