"""`python -m deploy.setup.load_all`: loads all modules of Inflight, for Python to keep their byte code.

Packages are installed without it. Parts that start at once would each compile what they load, and where
PYTHONDONTWRITEBYTECODE is set they would do so at every start.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

_TOPS = ("collectors", "streaming", "dashboards", "deploy")
_OF_WORKERS = ("pyspark.daemon", "pyspark.worker")


def main() -> None:
    sys.dont_write_bytecode = False
    for top in _TOPS:
        package = importlib.import_module(top)
        for module in pkgutil.walk_packages(package.__path__, f"{top}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for name in _OF_WORKERS:
        importlib.import_module(name)


if __name__ == "__main__":
    main()
