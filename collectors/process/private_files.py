"""Files of a process that are for its user alone: they tell names of the network, and what it does."""

from __future__ import annotations

import os
from pathlib import Path


def private_folder(folder: Path) -> Path:
    """Make it, and what is missing above it; one that is there stays as it is. OSError where it cannot be."""
    for missing in [path for path in (folder, *folder.parents) if not path.exists()][::-1]:
        missing.mkdir(mode=0o700, exist_ok=True)
    return folder


def replace(file: Path, data: bytes) -> None:
    """Make the file hold these bytes, or leave it as it was with OSError."""
    private_folder(file.parent)
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)  # it would keep its mode
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    part.replace(file)
