"""The table of error budgets: what is left of each, or how often it is used up, and since when."""

from __future__ import annotations

from typing import Any, Final

from dashboards import style
from dashboards.style import override, table_query

USED_UP: Final = {"0": ("used up", style.RED)}
_NEVER: Final = {"0": ("–", style.GREY)}
ABOUT: Final = (
    "What is left of the messages that each objective lets fail in 30 days. Used up more than once, the"
    " objective is broken. Of less time where the exporter's counters do not reach back so far."
)


def panel(
    title: str, left: str, used: str, since: str, labels: dict[str, str], *, size: tuple[int, int]
) -> Any:
    """Return the table; `left`, `used`, `since` are queries, `labels` the columns that name an objective."""
    columns = {
        **labels,
        "Value #left": "Budget left",
        "Value #used": "Used up",
        "Value #since": "Since",
    }
    made = style.table_panel(
        title,
        ABOUT,
        [
            table_query(left, ref="left"),
            table_query(used, ref="used"),
            table_query(since, ref="since"),
        ],
        columns,
        size=size,
        sort="Used up",
        none="no objectives",
    )
    override(
        made,
        "Budget left",
        unit="percentunit",
        decimals=0,
        mappings=style.mappings(USED_UP),
        thresholds=style.thresholds(style.BUDGET),
        custom__cellOptions={"type": "color-text"},
    )
    override(
        made,
        "Used up",
        unit="suffix: times",
        thresholds=style.thresholds(((None, style.GREEN), (1, style.RED))),
        custom__cellOptions={"type": "color-text"},
    )
    return override(made, "Since", unit="dateTimeAsIsoNoDateIfToday", mappings=style.mappings(_NEVER))
