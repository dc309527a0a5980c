"""Files and folders that only the user of the process may read: they name things of the network."""

from __future__ import annotations

import os
from pathlib import Path


def private_folder(folder: Path) -> Path:
    """Makes a folder and its missing parents; one that exists stays as it is. OSError when that fails."""
    for missing in [path for path in (folder, *folder.parents) if not path.exists()][::-1]:
        missing.mkdir(mode=0o700, exist_ok=True)
    return folder


def replace(file: Path, data: bytes) -> None:
    """Replaces the content of a file in one step; on OSError the file is as it was."""
    private_folder(file.parent)
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)  # it would keep its mode
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    part.replace(file)
