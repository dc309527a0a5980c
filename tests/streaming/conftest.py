"""One Spark for all tests of the job that run in this process: it takes long to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session of the job's kind."""
    from spark_job import quick_session  # noqa: PLC0415 -- most test runs do without it

    with quick_session() as session:
        yield session
