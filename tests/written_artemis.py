"""A real Artemis that runs a broker.xml of a topology, with Jolokia for who asks for it."""

from __future__ import annotations

import shutil
from pathlib import Path

from deploy.embedded.programs import java
from deploy.embedded.supervise.ports import LOOPBACK, accepts
from deploy.embedded.supervise.process import ProcessSpec
from deploy.jvm import artifacts

_MAIN = "org.apache.activemq.artemis.core.server.embedded.Main"


def spec(name: str, port: int, written: Path, jolokia_port: int | None = None) -> ProcessSpec:
    """An embedded one reads `etc/broker.xml` of its folder, and other files of `etc` by its class path."""
    etc = written / "etc"
    etc.mkdir()
    for file in written.glob("*.*"):
        shutil.copy(file, etc)
    (agent,) = artifacts.ensure().jars("jolokia")
    options = [f"-javaagent:{agent}=port={jolokia_port},host={LOOPBACK}"] if jolokia_port else []
    return ProcessSpec(
        name=name,
        argv=java.command("artemis", _MAIN, written, heap_mib=192, options=options),
        ready=lambda: accepts(port),
        timeout_seconds=60,
        cwd=written,
    )
