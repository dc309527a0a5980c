"""What this machine has to have for namespaces; found out by looking, and by trying."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Final

_PACKAGES: Final = {  # program → Debian's package
    "ip": "iproute2",
    "tc": "iproute2",
    "ss": "iproute2",
    "nft": "nftables",
    "nsenter": "util-linux",
    "unshare": "util-linux",
}
# Not on the PATH of everyone who became root.
_MORE_PATH: Final = ":/usr/local/sbin:/usr/sbin:/sbin"
_INSTEAD: Final = "or use relays instead, which need no root (they know neither loss nor reorder)"
_TRY_SECONDS: Final = 10.0


def program(name: str) -> str:
    """Return the file of a program; only its name where there is none."""
    return shutil.which(name, path=os.environ.get("PATH", os.defpath) + _MORE_PATH) or name


def absent() -> list[str]:
    """Return the programs that are not on this machine."""
    return [name for name in _PACKAGES if program(name) == name]


def missing() -> str | None:
    """Say what is missing here, and what to do; None where namespaces can be made."""
    if os.geteuid() != 0:
        return f"namespaces need root: run this as root, {_INSTEAD}"
    if without := absent():
        packages = " ".join(sorted({_PACKAGES[name] for name in without}))
        return f"namespaces need {', '.join(without)}: install {packages} (Debian's names), {_INSTEAD}"
    if refusal := _refusal():
        return (
            f"no network namespace can be made here ({refusal}): give this container the capabilities"
            f" SYS_ADMIN and NET_ADMIN, {_INSTEAD}"
        )
    return None


def _refusal() -> str | None:
    """Try all of it, in a namespace that is gone at once."""
    nft = f"{program('nft')} add table inet lab"
    lo = f"{program('ip')} link set lo up"
    try:
        done = subprocess.run(
            [program("unshare"), "--net", "sh", "-c", f"{lo} && {nft}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TRY_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {_TRY_SECONDS:g} s"
    if done.returncode == 0:
        return None
    return " ".join(done.stderr.split()) or f"status {done.returncode}"
