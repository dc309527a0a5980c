"""What a failed query says of itself, in one line."""

from __future__ import annotations

import pytest

from streaming.service import reason

PYTHON = """[PYTHON_EXCEPTION] thrown from the Python worker: Traceback (most recent call last):
  File "/x/streaming/packing.py", line 36, in unpack
    raise StateError(
streaming.packing.StateError: the state is of form b'IP' 2, this version reads up to 1

	at org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
	at java.base/java.lang.Thread.run(Thread.java:840)
"""
JAVA = """org.apache.spark.SparkException: Job aborted
	at org.apache.spark.X.y(X.scala:1)
Caused by: java.util.concurrent.ExecutionException: wrapped
	... 8 more
Caused by: org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PYTHON, "streaming.packing.StateError: the state is of form b'IP' 2, this version reads up to 1"),
        (JAVA, "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment"),
        ("plain\nand more", "plain"),
        ("", "it ended without saying why"),
    ],
)
def test_the_cause_is_told(text: str, said: str) -> None:
    """Not the wrappers around it, and not the trace."""
    assert reason(RuntimeError(text)) == said


def test_nothing_is_known() -> None:
    """A query may end without an error."""
    assert reason(None) == "it ended without saying why"
