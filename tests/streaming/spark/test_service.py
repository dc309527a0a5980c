"""What a failed query says of itself, in one line."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest
from prometheus_client import CollectorRegistry
from pyspark.errors import PySparkException

from streaming.spark import supervised
from streaming.spark.failures import cause, is_unfit
from streaming.spark.progress import Progress
from streaming.spark.query import Query
from streaming.spark.supervised import SupervisedQuery

PYTHON = """[PYTHON_EXCEPTION] thrown from the Python worker: Traceback (most recent call last):
  File "/x/streaming/shard/packing.py", line 36, in unpack
    raise BadState(
streaming.accounting.state_codec.BadState: the state is of form b'IP' 2, this reads 1

	at org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
	at java.base/java.lang.Thread.run(Thread.java:840)
"""
BESIDE_THE_DRIVER = """[STREAM_FAILED] Query [id = 6d00, runId = 1970] terminated with exception: \
[STREAMING_PYTHON_RUNNER_INITIALIZATION_FAILURE] Streaming Runner initialization failed, returned -2. Cause: \
Traceback (most recent call last):
  File "/x/pyspark.zip/pyspark/serializers.py", line 454, in loads
    return cloudpickle.loads(obj, encoding=encoding)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
ModuleNotFoundError: No module named 'streaming'
 SQLSTATE: XXKST SQLSTATE: XXKST
=== Streaming Query ===
Identifier: accounting-0 [id = 6d00, runId = 1970]
Current State: ACTIVE
Thread State: RUNNABLE

Logical Plan:
WriteToMicroBatchDataSource Kafka, accounting-0, Append
+- Project [topic#40, key#41, value#42]
   +- LocalRelation <empty>
"""
DAEMON = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: \
Lost task 0.3 in stage 1.0 (TID 8) (10.0.0.5 executor 7): org.apache.spark.SparkException:
Error from python worker:
  Traceback (most recent call last):
    File "<frozen runpy>", line 189, in _run_module_as_main
  ModuleNotFoundError: No module named 'pyspark'
PYTHONPATH was:
  /x/pyspark.zip
org.apache.spark.SparkException: EOFException occurred while reading the port number
	at org.apache.spark.api.python.PythonWorkerFactory.startDaemon(PythonWorkerFactory.scala:357)
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
        (PYTHON, "streaming.accounting.state_codec.BadState: the state is of form b'IP' 2, this reads 1"),
        (BESIDE_THE_DRIVER, "ModuleNotFoundError: No module named 'streaming'"),
        (DAEMON, "ModuleNotFoundError: No module named 'pyspark'"),
        (JAVA, "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment"),
        ("plain\nand more", "plain"),
        ("", "it ended without saying why"),
    ],
)
def test_the_cause_is_told(text: str, said: str) -> None:
    """Not the wrappers around it, and not the trace."""
    assert cause(RuntimeError(text)) == said


def test_nothing_is_known() -> None:
    """A query may end without an error."""
    assert cause(None) == "it ended without saying why"


@pytest.mark.parametrize(
    ("said", "never"),
    [
        ("ModuleNotFoundError: No module named 'pandas'", True),
        ("ImportError: PyArrow >= 18.0.0 must be installed; however, it was not found.", True),
        ('Cannot run program "/opt/inflight/bin/python3": error=2, No such file or directory', True),
        ('java.io.IOException: Cannot run program "/opt/python3": error=13, Permission denied', True),
        (
            "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker",
            True,
        ),
        ("org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node", False),
        ("Job aborted due to stage failure: ExecutorLostFailure (executor 1 exited)", False),
    ],
)
def test_what_no_restart_mends(said: str, never: bool) -> None:  # noqa: FBT001 -- a parameter of the test
    """A Python that cannot run the job will not do so in ten seconds; Kafka may be there by then."""
    assert is_unfit(said) is never


def test_a_query_with_nothing_to_read_is_well_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure: it asked Kafka, and there was nothing new, as with a lane that has no path."""
    monkeypatch.setattr(supervised, "BACKOFF_SECONDS", (0,))
    progress = Progress(CollectorRegistry())
    running = Mock(status={"isTriggerActive": True}, isActive=True)
    start = Mock(side_effect=[PySparkException("no such topic"), running])
    monkeypatch.setattr(supervised.job, "check_topics", Mock())
    query = Mock(spec=Query, start=start, accounts=True, reasons=())
    query.name = "accounting-0"
    detour = Mock(**{"plan.return_value": (False, [])})
    supervisor = SupervisedQuery(query, detour, progress)
    none: Any = None
    progress.idle("accounting-0")
    supervisor.supervise(none, none)
    for _ in range(3):
        supervisor.supervise(none, none)
        assert supervisor.trouble == "query accounting-0 failed: no such topic"
    progress.idle("accounting-0")
    supervisor.supervise(none, none)
    assert supervisor.trouble is None
