"""The file: HTML with style, scripts and plots inside. It loads nothing, and runs its own scripts only."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib import resources
from typing import Any, Final

from bokeh.embed import json_item
from bokeh.resources import Resources

from dashboards.report.markup import paragraph, text

_WITHOUT_SCRIPT: Final = (
    "Plots need JavaScript, which is off here. The answer and all tables are complete without them."
)


class Page:
    """Collects parts of a page, and the plots among them."""

    def __init__(self) -> None:
        self._plots: list[str] = []

    def plot(self, made: Any, caption: str = "") -> str:
        """Return a place for the plot; it is drawn once it is in sight."""
        if made is None:
            return ""
        place = f"plot-{len(self._plots) + 1}"
        # Within a script no text can end it, or begin a comment.
        data = json.dumps(json_item(made, place), separators=(",", ":")).replace("<", "\\u003c")
        self._plots.append(f'<script type="application/json" id="{place}-data">{data}</script>')
        said = f"<figcaption>{text(caption)}</figcaption>" if caption else ""
        return f'<figure><div class="plot" id="{place}"></div>{said}</figure>'

    def whole(self, title: str, parts: Sequence[str]) -> str:
        """Return the whole file."""
        scripts = [*_bokeh(), _own("report.js")] if self._plots else []
        hashes = " ".join(f"'sha256-{_hash(script)}'" for script in scripts) or "'none'"
        # Whatever a name holds, the page can load nothing, and run no script but these.
        policy = (
            f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {hashes};"
            " base-uri 'none'; form-action 'none'"
        )
        inside = "\n".join(filter(None, parts))
        without = f"<noscript>{paragraph(_WITHOUT_SCRIPT)}</noscript>" if self._plots else ""
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f"<title>Inflight: {text(title)}</title>\n<style>\n{_own('report.css')}</style>\n</head>\n"
            f"<body>\n<main>\n{inside}\n{without}\n</main>\n"
            + "\n".join([*self._plots, *(f"<script>{script}</script>" for script in scripts)])
            + "\n</body>\n</html>\n"
        )


def _own(name: str) -> str:
    return resources.files("dashboards.report").joinpath(name).read_text(encoding="utf-8")


def _bokeh() -> list[str]:
    """Return Bokeh's script, without what only widgets, tables and formulas need."""
    return [
        script
        for script in Resources(mode="inline", components=["bokeh"], log_level="error").js_raw
        if script.strip()
    ]


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
