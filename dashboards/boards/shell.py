"""What all dashboards have in common: variables, annotations, links, time."""

from __future__ import annotations

from typing import Final, NamedTuple

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models import dashboard as models

from dashboards.promql import expand
from dashboards.style import BLUE, ORANGE, PURPLE, RED, SOURCE, TAG

ALL: Final = models.VariableOption(text="All", value="$__all")


class Annotation(NamedTuple):
    """Moments marked on every panel; texts are templates over labels."""

    name: str
    expression: str
    colour: str
    title: str
    text: str


ANNOTATIONS: Final = (
    Annotation(
        "Events",
        expand('event_active{kind!="maintenance"} == 1'),
        RED,
        "{{kind}}",
        "{{text}}",
    ),
    Annotation(
        "Maintenance", expand('event_active{kind="maintenance"} == 1'), BLUE, "maintenance", "{{text}}"
    ),
    Annotation(
        "Router starts",
        expand('time() - router_start_time_seconds{mesh=~"$mesh"} < 15'),
        PURPLE,
        "router {{router}} started",
        "",
    ),
    Annotation(
        "Routers down", expand('router_up{mesh=~"$mesh"} == 0'), ORANGE, "router {{router}} is down", ""
    ),
    Annotation(
        "Routers cut off",
        expand('router_cut_off{mesh=~"$mesh"} == 1'),
        ORANGE,
        "router {{router}} is cut off from {{from}}",
        "",
    ),
)


def source_variable() -> dashboard.DatasourceVariable:
    return (
        dashboard.DatasourceVariable("datasource")
        .label("Data source")
        .description("The Prometheus that scrapes Inflight.")
        .type("prometheus")
    )


def label_variable(
    name: str, label: str, series: str, about: str, *, several: bool = True
) -> dashboard.QueryVariable:
    """Return a variable whose values are those of the label `name` in these series."""
    variable = (
        dashboard.QueryVariable(name)
        .label(label)
        .description(about)
        .datasource(SOURCE)
        .query({"query": f"label_values({expand(series)}, {name})", "refId": name})
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_CASE_INSENSITIVE_ASC)
    )
    if several:
        # Everything by `.*`: what appears while somebody watches is there at once.
        variable = variable.multi(True).include_all(True).all_value(".*").current(ALL)
    return variable


def mesh_variable(metric: str) -> dashboard.QueryVariable:
    return label_variable("mesh", "Mesh", metric, "One mesh, several, or all.")


def annotation(spec: Annotation) -> dashboard.AnnotationQuery:
    return (
        dashboard.AnnotationQuery()
        .name(spec.name)
        .datasource(SOURCE)
        .enable(True)
        .hide(False)
        .icon_color(spec.colour)
        .expr(spec.expression)
    )


def dashboard_frame(uid: str, title: str, about: str) -> dashboard.Dashboard:
    """Return a dashboard without its own variables and panels."""
    board = (
        dashboard.Dashboard(f"Inflight: {title}")
        .uid(uid)
        .description(about)
        .tags([TAG])
        .readonly()
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .time("now-30m", "now")
        .refresh("10s")
        .timezone("browser")
        .timepicker(dashboard.TimePicker().refresh_intervals(["5s", "10s", "30s", "1m", "5m", "15m"]))
        .link(
            dashboard.DashboardLink("Inflight")
            .type(models.DashboardLinkType.DASHBOARDS)
            .tags([TAG])
            .keep_time(True)
            .include_vars(True)
            .icon("external link")
            .tooltip("The other dashboards, at the same time and of the same mesh and path")
        )
        .with_variable(source_variable())
    )
    for spec in ANNOTATIONS:
        board = board.annotation(annotation(spec))
    return board
