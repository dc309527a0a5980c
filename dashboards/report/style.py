"""How plots look: colours that the colour-blind tell apart, on white, on a dark page and on paper."""

from __future__ import annotations

from typing import Any, Final

from bokeh.models import (
    BasicTickFormatter,
    BoxZoomTool,
    CategoricalAxis,
    HoverTool,
    PanTool,
    ResetTool,
    SaveTool,
    WheelZoomTool,
)
from bokeh.plotting import figure

from collectors.contract.untrusted_text import shown

# Okabe and Ito's, shaded so that each stands out by 3 : 1 from white and from a dark page: one plot does for
# both. What a line is never stands in its colour alone: it has a name.
BLUE, RED, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#BC6C99", "#B8860B", "#3F95C6"
COLOURS: Final = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY)
GREY: Final = "#767D8A"
LOG_FROM: Final = 20  # the most over the least, from which an axis of decades tells more
_FONT: Final = "system-ui, sans-serif"
_NAME_LETTERS: Final = 40


def plot(title: str, unit: str, height: int, *, log: bool = False, about: str = "", **more: Any) -> Any:
    """Return an empty plot; `about` names its lower axis."""
    made = figure(
        title=title,
        height=height,
        sizing_mode="stretch_width",
        y_axis_type="log" if log else "auto",
        y_axis_label=unit,
        x_axis_label=about,
        tools=[],
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        min_border_right=12,
        **more,
    )
    made.add_tools(PanTool(), BoxZoomTool(), WheelZoomTool(dimensions="width"), SaveTool(), ResetTool())
    made.toolbar.logo = None
    made.toolbar.autohide = True
    made.title.text_color, made.title.text_font, made.title.text_font_size = GREY, _FONT, "13px"
    for axis in made.axis:
        axis.axis_label_text_color = axis.major_label_text_color = GREY
        axis.axis_line_color = axis.major_tick_line_color = GREY
        axis.minor_tick_line_color = None
        axis.axis_label_text_font = axis.major_label_text_font = _FONT
        axis.axis_label_text_font_style = "normal"
        axis.major_label_text_font_size = axis.axis_label_text_font_size = "12px"
    for axis in made.yaxis:
        if not isinstance(axis, CategoricalAxis):
            axis.formatter = BasicTickFormatter(use_scientific=False)
    made.grid.grid_line_color, made.grid.grid_line_alpha = GREY, 0.25
    made.xgrid.grid_line_color = None
    return made


def hover(made: Any, tooltips: list[tuple[str, str]], **more: Any) -> None:
    """Tell figures where the mouse is; what columns hold is shown as text."""
    made.add_tools(HoverTool(tooltips=tooltips, **more))


def name_lines(made: Any) -> None:
    """Place the legend above the plot; a click on a name hides its line."""
    legend = made.legend[0]
    made.add_layout(legend, "above")
    legend.orientation, legend.click_policy = "horizontal", "hide"
    legend.label_text_color, legend.label_text_font, legend.label_text_font_size = GREY, _FONT, "12px"
    legend.background_fill_color = legend.border_line_color = None
    legend.inactive_fill_alpha = 0
    legend.padding = legend.margin = 2


def plain(name: str) -> str:
    """Return a name as plots write it: short, and never a formula, for which Bokeh would load a program."""
    text = shown(name)
    text = text if len(text) <= _NAME_LETTERS else text[: _NAME_LETTERS - 1] + "…"
    return text.replace("$", "＄").replace("\\", "＼")
