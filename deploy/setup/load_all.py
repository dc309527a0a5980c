"""`python -m deploy.setup.load_all`: loads all modules of Inflight, for Python to keep their byte code.

Packages are installed without it. Parts that start at once would each compile what they load, and where
PYTHONDONTWRITEBYTECODE is set they would do so at every start.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

_TOPS = ("collectors", "streaming", "dashboards", "deploy")
_OF_EXTRAS = ("scipy", "bokeh", "stomp")
_OF_WORKERS = ("pyspark.daemon", "pyspark.worker")


def main() -> None:
    sys.dont_write_bytecode = False
    for top in _TOPS:
        package = importlib.import_module(top)
        for module in pkgutil.walk_packages(package.__path__, f"{top}."):
            if not module.name.endswith("__main__"):
                _load(module.name)
    for name in _OF_WORKERS:
        importlib.import_module(name)


def _load(name: str) -> None:
    """Load a module, unless it needs an extra that is not installed."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OF_EXTRAS:
            raise


if __name__ == "__main__":
    main()
