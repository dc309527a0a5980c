"""The archive for spark-submit's --py-files, of the two packages that the job needs."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Final

import collectors
import streaming

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the format's oldest: the same code makes the same bytes


def build(target: Path) -> int:
    """Write the archive; returns how many modules are in it."""
    files = [file for package in (collectors, streaming) for file in _modules(package.__path__[0])]
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"{target.name}.unfinished")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in sorted(files):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, file.read_bytes())
    unfinished.replace(target)
    return len(files)


def _modules(folder: str) -> list[tuple[str, Path]]:
    root = Path(folder)
    return [(str(file.relative_to(root.parent)), file) for file in root.rglob("*.py")]
