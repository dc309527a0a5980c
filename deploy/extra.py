"""What experiments need beside the rest of Inflight: an extra, which is named where it is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from deploy.errors import Problem

_PACKAGES: Final = frozenset({"bokeh", "scipy", "stomp"})


@contextmanager
def needed() -> Iterator[None]:
    """Raise Problem for an import inside of it that takes the extra, where that is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _PACKAGES:
            raise
        raise Problem(
            f"this needs {package}, which is not installed: pip install 'inflight-monitor[experiments]'"
        ) from None
