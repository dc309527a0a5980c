"""The log of a process on stderr."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from deploy import logs


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_what_py4j_logs_beside_raising_it_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """It does so by the root logger: a JVM that has ended is one line, told by whoever caught the error."""
    logs.setup()
    for file in ("/x/py4j/java_gateway.py", "/x/other.py"):
        record = logging.LogRecord("root", logging.ERROR, file, 1, f"from {file}", None, None)
        logging.getLogger().handle(record)
    assert [line.split(": ")[1] for line in capsys.readouterr().err.splitlines()] == ["from /x/other.py"]
