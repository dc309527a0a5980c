"""Labs by their commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_commands import Labs


@pytest.fixture
def labs(tmp_path: Path) -> Iterator[Labs]:
    """Labs in a folder of the test's own; all that they started is ended with it."""
    made = Labs(tmp_path)
    yield made
    made.close()
