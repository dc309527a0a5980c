"""The style of all dashboards: colours, thresholds, words for states, kinds of panels."""

from __future__ import annotations

from typing import Any, Final

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    prometheus,
    stat,
    statetimeline,
    table,
    timeseries,
)
from grafana_foundation_sdk.models import common as common_models
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import prometheus as prometheus_models

from collectors.contract.window_rows import Class
from streaming.states import WORST_FIRST, Colour

SOURCE: Final = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
TAG: Final = "inflight"
GREEN, YELLOW, ORANGE, RED, BLUE, PURPLE, GREY = (
    *("green", "#EAB839", "orange", "red", "blue", "purple", "#8e8e8e"),
)

Steps = tuple[tuple[float | None, str], ...]
PLAIN: Final[Steps] = ((None, GREEN),)
NONE_IS_GOOD: Final[Steps] = ((None, GREEN), (1, RED))  # for whole numbers
SOME_IS_ODD: Final[Steps] = ((None, GREEN), (1, YELLOW))
ALL_IS_GOOD: Final[Steps] = ((None, RED), (1, GREEN))  # for 0 and 1, and for ratios
BUDGET: Final[Steps] = ((None, RED), (0.001, ORANGE), (0.25, YELLOW), (0.5, GREEN))
FILL: Final[Steps] = ((None, GREEN), (0.7, YELLOW), (0.85, RED))
SHARE_OF_BOUND: Final[Steps] = ((None, GREEN), (0.8, YELLOW), (1, RED))
AGE: Final[Steps] = ((None, GREEN), (10, YELLOW), (30, RED))

UP: Final = {"1": ("up", GREEN), "0": ("down", RED)}
ROUTER_UP: Final = {**UP, "2": ("cut off", YELLOW)}
_SHADES: Final[dict[Colour, str]] = {
    "red": RED,
    "orange": ORANGE,
    "yellow": YELLOW,
    "purple": PURPLE,
    "blue": BLUE,
    "grey": GREY,
    "green": GREEN,
}
# Those of the states that they make.
CLASS_COLOURS: Final[dict[Class, str]] = {
    "received": GREEN,
    **{state.counts: _SHADES[state.colour] for state in WORST_FIRST if state.counts is not None},
}
PATH_STATES: Final = {str(state.rank): (state.word, _SHADES[state.colour]) for state in WORST_FIRST}

MESSAGES: Final = "suffix:msg/s"
_WIDE: Final = 12
_BAR_NAME_PIXELS: Final = 14  # unless told, names fill the room that few bars leave
_SPARK_POINTS: Final = 100  # a cell is no wider, and hundreds of paths have one each
# Where all is 0 the axis would go to 100.
_SOFT_MOST: Final = {"short": 1, MESSAGES: 1, "s": 0.001, "percentunit": 0.01}


def range_query(expression: str, legend: str = "", *, ref: str = "A") -> prometheus.Dataquery:
    """Return a query over the shown time."""
    built = prometheus.Dataquery().expr(expression).ref_id(ref).range()
    return built.legend_format(legend or "__auto")


def instant_query(expression: str, legend: str = "", *, ref: str = "A") -> prometheus.Dataquery:
    """Return a query of the state at the end of the shown time."""
    return prometheus.Dataquery().expr(expression).ref_id(ref).instant().legend_format(legend or "__auto")


def table_query(expression: str, *, ref: str = "A") -> prometheus.Dataquery:
    """Return an instant query as a table: a row for each series, a column for each label."""
    return instant_query(expression, ref=ref).format(prometheus_models.PromQueryFormat.TABLE)


def range_table_query(expression: str, *, ref: str) -> prometheus.Dataquery:
    """Return a query over the shown time as a table, a row for each series and moment, for sparklines."""
    return range_query(expression, ref=ref).format(prometheus_models.PromQueryFormat.TABLE)


def thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    return (
        dashboard.ThresholdsConfig()
        .mode(models.ThresholdsMode.ABSOLUTE)
        .steps([models.Threshold(value=value, color=colour) for value, colour in steps])
    )


def mappings(words: dict[str, tuple[str, str]]) -> list[models.ValueMapping]:
    """Return value mappings that show numbers as words with colours."""
    results = {
        value: models.ValueMappingResult(text=word, color=colour, index=index)
        for index, (value, (word, colour)) in enumerate(words.items())
    }
    return [models.ValueMap(options=results)]


def override(panel: Any, name: str, **properties: object) -> Any:
    """Change a field, by its name or a regular expression between slashes; `__` in keys stands for a dot."""
    values = [
        models.DynamicConfigValue(key.replace("__", "."), value.build() if hasattr(value, "build") else value)
        for key, value in properties.items()
    ]
    by_regexp = name.startswith("/")
    return (panel.override_by_regexp if by_regexp else panel.override_by_name)(name, values)


def colour(name: str) -> dict[str, str]:
    return {"mode": "fixed", "fixedColor": name}


def _common(panel: Any, title: str, about: str, unit: str, steps: Steps, size: tuple[int, int]) -> Any:
    width, height = size
    return (
        panel.title(title)
        .description(about)
        .unit(unit)
        .thresholds(thresholds(steps))
        .datasource(SOURCE)
        .span(width)
        .height(height)
    )


def time_series_panel(
    title: str,
    about: str,
    unit: str,
    queries: list[prometheus.Dataquery],
    *,
    size: tuple[int, int] = (12, 8),
    steps: Steps = PLAIN,
    stacked: bool = False,
    bars: bool = False,
    show_steps: bool = False,
) -> timeseries.Panel:
    """Return a graph of series over time; wide ones have figures in their legend."""
    table_legend = size[0] >= _WIDE
    legend = (
        common.VizLegendOptions()
        .display_mode(
            common_models.LegendDisplayMode.TABLE if table_legend else common_models.LegendDisplayMode.LIST
        )
        .placement(common_models.LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs(["lastNotNull", "max"] if table_legend else [])
    )
    panel = _common(timeseries.Panel(), title, about, unit, steps, size)
    panel = (
        panel.targets(queries)
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.PALETTE_CLASSIC))
        .legend(legend)
        .tooltip(
            common.VizTooltipOptions()
            .mode(common_models.TooltipDisplayMode.MULTI)
            .sort(common_models.SortOrder.DESCENDING)
        )
        .line_width(1)
        .fill_opacity(70 if bars else 35 if stacked else 6)
        .show_points(common_models.VisibilityMode.NEVER)
        .axis_soft_min(0)
        .axis_soft_max(_SOFT_MOST.get(unit, 0))
    )
    if bars:
        panel = panel.draw_style(common_models.GraphDrawStyle.BARS).line_width(0)
    if stacked:
        panel = panel.stacking(common.StackingConfig().mode(common_models.StackingMode.NORMAL).group("A"))
    if show_steps:
        panel = panel.thresholds_style(
            common.GraphThresholdsStyleConfig().mode(common_models.GraphTresholdsStyleMode.DASHED)
        )
    built: timeseries.Panel = panel
    return built


def stat_panel(
    title: str,
    about: str,
    unit: str,
    queries: list[prometheus.Dataquery],
    *,
    size: tuple[int, int] = (4, 4),
    steps: Steps = PLAIN,
    sparkline: bool = False,
    words: dict[str, tuple[str, str]] | None = None,
    names: bool = False,
    none: str = "no data",
) -> stat.Panel:
    """Return a panel of big numbers."""
    panel = _common(stat.Panel(), title, about, unit, steps, size)
    panel = (
        panel.targets(queries)
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .graph_mode(
            common_models.BigValueGraphMode.AREA if sparkline else common_models.BigValueGraphMode.NONE
        )
        .color_mode(common_models.BigValueColorMode.VALUE)
        .text_mode(
            common_models.BigValueTextMode.VALUE_AND_NAME if names else common_models.BigValueTextMode.AUTO
        )
        .no_value(none)
    )
    if words:
        panel = panel.mappings(mappings(words))
    built: stat.Panel = panel
    return built


def bar_gauge_panel(
    title: str,
    about: str,
    unit: str,
    asked: prometheus.Dataquery,
    labels: tuple[str, ...],
    *,
    size: tuple[int, int] = (8, 8),
    steps: Steps = PLAIN,
    least: float = 0,
    most: float | None = None,
    none: str = "no data",
) -> bargauge.Panel:
    """Return a panel with a bar for each series, named by its labels."""
    panel = _common(bargauge.Panel(), title, about, unit, steps, size)
    panel = (
        panel.targets([asked])
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.THRESHOLDS))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .display_mode(common_models.BarGaugeDisplayMode.BASIC)
        .orientation(common_models.VizOrientation.HORIZONTAL)
        .show_unfilled(True)
        # By a name of the field's own: a legend's is left out where there is only one bar.
        .display_name(" · ".join(f"${{__field.labels.{label}}}" for label in labels))
        .text(common.VizTextDisplayOptions().title_size(_BAR_NAME_PIXELS))
        .min(least)
        .no_value(none)
    )
    built: bargauge.Panel = panel if most is None else panel.max(most)
    return built


def state_timeline_panel(
    title: str,
    about: str,
    queries: list[prometheus.Dataquery],
    words: dict[str, tuple[str, str]],
    *,
    size: tuple[int, int] = (24, 7),
) -> statetimeline.Panel:
    """Return a panel that shows over time which state each series was in."""
    steps: Steps = tuple(sorted((float(value), shade) for value, (_, shade) in words.items()))
    panel = _common(statetimeline.Panel(), title, about, "short", ((None, GREY), *steps), size)
    built: statetimeline.Panel = (
        panel.targets(queries)
        .mappings(mappings(words))
        # By the words: the legend would tell ranges of numbers otherwise.
        .color_scheme(dashboard.FieldColor().mode(models.FieldColorModeId.PALETTE_CLASSIC))
        .merge_values(True)
        .show_value(common_models.VisibilityMode.AUTO)
        .row_height(0.8)
        .fill_opacity(80)
        .line_width(0)
        .legend(
            common.VizLegendOptions()
            .show_legend(True)
            .display_mode(common_models.LegendDisplayMode.LIST)
            .placement(common_models.LegendPlacement.BOTTOM)
        )
    )
    return built


def table_panel(
    title: str,
    about: str,
    queries: list[prometheus.Dataquery],
    columns: dict[str, str],
    *,
    size: tuple[int, int] = (24, 8),
    sort: str | None = None,
    steps: Steps = PLAIN,
    none: str = "–",
    group: tuple[str, ...] = (),
    sparks: tuple[str, ...] = (),
) -> table.Panel:
    """Return a table; `columns` are the fields that are shown, in this order, with their headings.

    With `group` a row for each of these labels' values; `sparks` are then fields of moments: lines in cells.
    """
    if group:
        kept = {name: _kept(name, sparks) for name in columns if name not in group}
        columns = {
            name if name in group else f"{name} ({kept[name]})": word for name, word in columns.items()
        }
    organised = {
        "renameByName": columns,
        "indexByName": {name: index for index, name in enumerate(columns)},
        "excludeByName": {},
    }
    include = "^(" + "|".join(name.replace("(", r"\(").replace(")", r"\)") for name in columns) + ")$"
    panel = _common(table.Panel(), title, about, "short", steps, size).targets(queries)
    if group:
        # Works in every Grafana 10; "time series to table" does, too, but only from 10.2 on, and without it
        # the whole table would be an error.
        fields = {name: {"aggregations": [], "operation": "groupby"} for name in group} | {
            name: {"aggregations": [how], "operation": "aggregate"} for name, how in kept.items()
        }
        panel = panel.with_transformation(models.DataTransformerConfig("groupBy", options={"fields": fields}))
        panel = panel.max_data_points(_SPARK_POINTS)
    panel = (
        panel.with_transformation(models.DataTransformerConfig("merge", options={}))
        .with_transformation(
            models.DataTransformerConfig("filterFieldsByName", options={"include": {"pattern": include}})
        )
        .with_transformation(models.DataTransformerConfig("organize", options=organised))
        .cell_height(common_models.TableCellHeight.SM)
        .no_value(none)
    )
    # Otherwise the last columns of a narrow table are out of sight.
    panel = override(panel, "/.*/", custom__minWidth=60)
    if sort is not None:
        panel = panel.sort_by([common.TableSortByFieldState().display_name(sort).desc(True)])
    built: table.Panel = panel
    return built


def matrix_panel(
    title: str,
    about: str,
    unit: str,
    asked: prometheus.Dataquery,
    axes: tuple[str, str],
    *,
    size: tuple[int, int],
    steps: Steps,
    none: str,
) -> table.Panel:
    """Return a table with a row for each value of one label and a column for each of another, in colours."""
    row, column = axes
    include = f"^({row}|{column}|Value)$"
    fields = {"rowField": row, "columnField": column, "valueField": "Value"}
    panel = (
        _common(table.Panel(), title, about, unit, steps, size)
        .targets([asked])
        .with_transformation(
            models.DataTransformerConfig("filterFieldsByName", options={"include": {"pattern": include}})
        )
        .with_transformation(
            models.DataTransformerConfig("groupingToMatrix", options={**fields, "emptyValue": "null"})
        )
        .cell_height(common_models.TableCellHeight.SM)
        .no_value(none)
    )
    # The first column has the names of the rows, and is called by both labels. What is not there has no
    # colour.
    nothing = {
        "type": "special",
        "options": {"match": "null", "result": {"text": none, "color": "transparent"}},
    }
    built: table.Panel = override(
        panel,
        f"/^(?!{row})/",
        custom__cellOptions={"type": "color-background", "mode": "basic"},
        custom__minWidth=70,
        mappings=[nothing],
    )
    return built


def _kept(field: str, sparks: tuple[str, ...]) -> str:
    """Return how a group's values are reduced: all for sparklines, else the only one."""
    return "allValues" if field in sparks else "last"
