"""A lab as text of 80 columns, and what can be done with it next."""

from __future__ import annotations

from collections.abc import Iterator

from deploy.lab.client import Condition, LabRecord
from deploy.lab.record import Record
from deploy.topology.show.text import count, table
from streaming.wording import duration


def lines(record: Record, condition: Condition, now_ns: int) -> Iterator[str]:
    """The lab as it is: its parts, and the faults of its links."""
    since = duration(max(0, now_ns - record.since_ns))
    yield f"{record.name}: {condition}, started {since} ago; {_kinds(record)}; wiring: {record.wiring}"
    if not record.parts:
        return
    yield ""
    yield from table(["part", "state", "runs", "where", "pid"], _rows(record))
    for part in record.parts:
        if part.jolokia is not None:
            yield f"{part.name}'s Jolokia: {part.jolokia}"
    for part in record.parts:
        if part.ended is not None:
            yield f"{part.name} ended unasked with {part.ended}: inflight lab logs {part.name} {record.name}"
    for link, faults in record.faults.items():
        for fault in faults:
            told = " ".join(f"{key}={value}" for key, value in fault.items() if key != "do")
            yield f"link {link}: {fault['do']} {told}".rstrip()


def next_steps(lab: LabRecord, *, alone: bool) -> Iterator[str]:
    """What to type to measure on the lab, to break it and to end it; `alone`: there is no other one."""
    routers = [part.name for part in lab.record.parts if part.kind == "router"]
    victim = routers[:2][-1]  # over the second one leads the longest way of a line, a ring or a tree
    steps = {
        f"inflight run -c {lab.config_file}": "measure on it",
        f"inflight status -c {lab.config_file}": "what its routers say",
        f"inflight fault kill {victim} --for 10s{'' if alone else f' --lab {lab.name}'}": "break it",
        f"inflight lab down {lab.name}": "end it",
    }
    width = max(map(len, steps))
    for step, why in steps.items():
        yield f"  {step:<{width}}  # {why}"


def counted(routers: int, brokers: int, *, kafka: bool) -> str:
    """Return `5 routers, 1 broker, Kafka`."""
    return ", ".join(
        [
            count(routers, "router"),
            *([count(brokers, "broker")] if brokers else []),
            *(["Kafka"] if kafka else []),
        ]
    )


def _rows(record: Record) -> Iterator[list[str]]:
    for part in record.parts:
        yield [part.name, part.state, part.runs, part.url or "–", str(part.pid or "–")]


def _kinds(record: Record) -> str:
    def number(kind: str) -> int:
        return sum(part.kind == kind for part in record.parts)

    return counted(number("router"), number("broker"), kafka=number("kafka") > 0)


def wrong(condition: Condition, record: Record) -> bool:
    """Whether somebody should look after the lab."""
    return condition in {"silent", "gone"} or any(part.ended is not None for part in record.parts)
