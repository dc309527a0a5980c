"""Tests of namespaces need root and the right to make them; in CI that depends on its container."""

from __future__ import annotations

import pytest
from helpers import OPTIONAL, missing

from deploy.lab.namespaces import needs


def skip_unless_possible() -> None:
    """Skip a test, with the reason; what .ci/run installs is not missing there."""
    for program in needs.absent():
        missing(program)
    if reason := needs.missing():
        pytest.skip(f"{OPTIONAL}{reason}")
