"""Folders of users who may not enter a state directory: outside of it, noted in it, removed with its end."""

from __future__ import annotations

import shutil
import stat
import tempfile
from pathlib import Path

from deploy.embedded.supervise.orphans import ELSEWHERE, ELSEWHERE_BEGINS
from deploy.errors import Problem

# The first one is never in memory alone, as the other may be: what is measured there shall be a disk.
_OPEN_TO_ALL = (Path("/var/tmp"), Path(tempfile.gettempdir()))  # noqa: S108 -- a folder of a random name below


def directory(state_dir: Path, user: str) -> Path:
    """Make an empty one for a user, and note it; for root. Raises Problem where it has no place."""
    below = next((base for base in _OPEN_TO_ALL if _is_open_to_all(base)), None)
    if below is None:
        where = " nor in ".join(map(str, dict.fromkeys(_OPEN_TO_ALL)))
        raise Problem(f"{user} cannot have a folder in {where}: let all users write to one of them")
    path = Path(tempfile.mkdtemp(prefix=ELSEWHERE_BEGINS, dir=below))
    with (state_dir / ELSEWHERE).open("a") as noted:
        noted.write(f"{path}\n")
    shutil.chown(path, user)
    return path


def _is_open_to_all(folder: Path) -> bool:
    """Whether any user may write there, and can get there."""
    try:
        modes = [one.stat().st_mode for one in (folder, *folder.resolve().parents)]
    except OSError:
        return False
    return bool(modes[0] & stat.S_IWOTH) and all(mode & stat.S_IXOTH for mode in modes)
