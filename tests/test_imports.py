"""The folders are layers: imports only go left, and the core knows nothing of what runs it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.commands import SUMMARIES

_PROJECT = Path(__file__).resolve().parents[1]
_LAYERS = ("collectors", "streaming", "dashboards", "deploy")
# What a module may import beside its own layer, where that is less than the layer may.
_CORE = {
    "collectors/contract/records.py": {"numpy"},
    "collectors/contract/record_codec.py": {"numpy", "pyarrow"},
    "streaming/histogram.py": {"numpy"},
}
_WITHOUT_SPARK = (
    "collectors.contract.record_codec",
    "collectors.config.model",
    "streaming.histogram",
    "streaming.accounting",
)


def _imported(file: Path) -> set[str]:
    """Returns the full names of all that a file imports, wherever in it, by its text alone."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import; name the folder"
            names.add(node.module or "")
    return names


def _tops(file: Path) -> set[str]:
    return {name.split(".")[0] for name in _imported(file)}


@pytest.mark.parametrize("layer", _LAYERS)
def test_imports_only_go_left(layer: str) -> None:
    """A folder of collectors ← streaming ← dashboards ← deploy imports itself and what stands left of it."""
    to_the_right = set(_LAYERS[_LAYERS.index(layer) + 1 :]) | {"tests"}
    files = sorted((_PROJECT / layer).rglob("*.py"))
    assert files, f"no Python in {layer}/"
    wrong = {str(f.relative_to(_PROJECT)): bad for f in files if (bad := _tops(f) & to_the_right)}
    assert wrong == {}


@pytest.mark.parametrize("name", sorted(_CORE))
def test_the_core_needs_next_to_nothing(name: str) -> None:
    """The contract of records and the arithmetic import the standard library and arrays, no more."""
    allowed = set(sys.stdlib_module_names) | _CORE[name] | {name.partition("/")[0]}
    assert _tops(_PROJECT / name) - allowed == set()


@pytest.mark.parametrize("module", _WITHOUT_SPARK)
def test_the_core_runs_without_spark(module: str) -> None:
    """Importing it, and all that it imports, does not load Spark, Kafka or proton."""
    code = f"import sys, {module}; print([n for n in ('pyspark', 'kafka', 'proton') if n in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=_PROJECT, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"


# What the extra `experiments` brings, and only its users have.
_EXTRA = ("scipy", "bokeh", "stomp", "networkx")
_WITHOUT_EXTRA = (
    "streaming.spark.job",
    "streaming.archive.read",
    "deploy.parts.run",
    "deploy.experiment.plan",
    "deploy.experiment.runner",
)


@pytest.mark.parametrize("module", _WITHOUT_EXTRA)
def test_the_extra_is_loaded_by_nothing_else(module: str) -> None:
    """The job, whose archive has all of streaming, and a plan's runs work where it is not installed."""
    code = f"import sys, {module}; print([n for n in {_EXTRA} if n in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=_PROJECT, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"


def test_the_set_up_needs_only_the_standard_library() -> None:
    """It runs on the system's Python, before anything is installed."""
    files = [
        *(_PROJECT / "deploy" / "setup").glob("*.py"),
        *(_PROJECT / "deploy" / n for n in ("__init__.py", "jvm/__init__.py", "jvm/java.py")),
    ]
    wrong = {
        file.name: bad for file in files if (bad := _tops(file) - set(sys.stdlib_module_names) - {"deploy"})
    }
    assert wrong == {}
    ours = {name for file in files for name in _imported(file) if name.startswith("deploy")}
    assert ours <= {"deploy.jvm.java", "deploy.setup", "deploy.setup.environment", "deploy.setup.progress"}


_HEAVY = ("kafka", "numpy", "pandas", "proton", "pyarrow", "pydantic", "pyspark", "rich", "yaml")
_LOADED_BY = {  # of these, by what a person waits for
    "import deploy.cli as c; c.main(['--help'], standalone_mode=False)": [],
    "import deploy.commands.top": ["pydantic", "rich"],
}


@pytest.mark.parametrize("code", _LOADED_BY)
def test_a_command_loads_no_more_than_it_shows(code: str) -> None:
    """The list of commands waits for no library, the terminal's first screen not for NumPy or Kafka."""
    look = f"import sys; {code}; print([name for name in {_HEAVY} if name in sys.modules], file=sys.stderr)"
    ran = subprocess.run(
        [sys.executable, "-c", look], cwd=_PROJECT, capture_output=True, text=True, check=True
    )
    assert ran.stderr == f"{_LOADED_BY[code]}\n"


def test_every_command_is_listed() -> None:
    """A module in deploy/commands is a sub-command, with a line of its own in `inflight --help`."""
    files = (_PROJECT / "deploy" / "commands").glob("[!_]*.py")
    assert sorted(SUMMARIES) == sorted(file.stem for file in files)
