"""No thread ends in silence: each is a Worker, or one that ends soon and hands on whatever it raises."""

from __future__ import annotations

import ast
from pathlib import Path

_PROJECT = Path(__file__).resolve().parents[1]
_MAKERS = {"Thread", "ThreadPoolExecutor", "start_new_thread", "ThreadingHTTPServer", "ThreadingMixIn"}
# Where, and what becomes of that which is raised in it.
_SHORT_LIVED = {
    "collectors/process/worker.py": "the Worker itself",
    "collectors/probe/engine/reconnect.py": "a look-up: any error is told to the loop, which dials again",
    "collectors/http/server.py": "a connection each: answered with 500, and logged",
    "dashboards/grafana.py": "one question: raised in the thread that waits for the answer",
    "deploy/live_check/paths.py": "one message: raised in the thread that waits for it",
    "deploy/lab/lab.py": "the starts of parts: `result` is asked for by the one who waits for them",
    "deploy/lab/connected.py": "a wait for each router: raised in the thread that waits for all",
    "deploy/experiment/stream_load.py": "the starts of processes: raised in the thread that waits for all",
    "deploy/demo/stack.py": "the starts of parts: `result` is asked for by the one who waits for them",
}


def _makes_threads(file: Path) -> bool:
    """Whether something in it makes a thread of the standard library, by its text alone."""
    nodes = list(ast.walk(ast.parse(file.read_text())))
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    used |= {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    return bool(used & _MAKERS)


def test_threads_are_workers() -> None:
    """A thread of any other kind has its place, and a reason, in the list above."""
    found = {
        str(file.relative_to(_PROJECT))
        for folder in ("collectors", "streaming", "dashboards", "deploy")
        for file in (_PROJECT / folder).rglob("*.py")
        if _makes_threads(file)
    }
    assert found == set(_SHORT_LIVED)
