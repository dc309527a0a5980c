"""The dashboards as Grafana's JSON, which is committed: made from code, reviewed as a diff."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards.boards import brokers, overview, path, pipeline, routers
from dashboards.boards.shell import ANNOTATIONS

FOLDER: Final = Path(__file__).with_name("json")
_BOARDS: Final = {
    "overview": overview.build,
    "path": path.build,
    "routers": routers.build,
    "brokers": brokers.build,
    "pipeline": pipeline.build,
}


def dashboards() -> dict[str, dict[str, Any]]:
    """Return the dashboards by name, as Grafana takes them."""
    return {
        name: _finish(json.loads(JSONEncoder().encode(build().build()))) for name, build in _BOARDS.items()
    }


def _finish(board: dict[str, Any]) -> dict[str, Any]:
    """Number the panels, and add what the SDK's types do not know."""
    for number, panel in enumerate(board["panels"], start=1):
        panel["id"] = number
    for variable in board["templating"]["list"]:
        # The SDK gives all of them one id, by which Grafana would take them for one; the rest it
        # only expects.
        for key in ("id", "auto", "auto_count", "auto_min"):
            variable.pop(key, None)
        variable.setdefault("regex", "")
        variable.setdefault("options", [])
        variable.setdefault("refresh", 1)
    for spec, annotation in zip(ANNOTATIONS, board["annotations"]["list"], strict=True):
        annotation |= {"titleFormat": spec.title, "textFormat": spec.text, "step": "2s"}
    return board


def text(board: dict[str, Any]) -> str:
    return json.dumps(board, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def write(folder: Path = FOLDER) -> list[Path]:
    """Write all of them and return the files that changed."""
    folder.mkdir(parents=True, exist_ok=True)
    changed = []
    for name, board in dashboards().items():
        file = folder / f"{name}.json"
        new = text(board)
        if not file.exists() or file.read_text(encoding="utf-8") != new:
            file.write_text(new, encoding="utf-8")
            changed.append(file)
    return changed
