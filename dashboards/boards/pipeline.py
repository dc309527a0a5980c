"""Pipeline: is the monitor itself well?"""

from __future__ import annotations

from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.builders.dashboard import Row

from dashboards import style
from dashboards.boards.shell import dashboard_frame, mesh_variable
from dashboards.queries import pipeline as q
from dashboards.style import colour, instant_query, override, range_query, table_query

UID: Final = "inflight-pipeline"


def _figures() -> list[Any]:
    size = (3, 4)
    return [
        style.stat_panel(
            "Books balance",
            "Windows whose classes do not add up to what was sent, in the shown time."
            " Anything but 0 is a fault of Inflight.",
            "short",
            [instant_query(q.ERRORS)],
            size=size,
            steps=style.NONE_IS_GOOD,
        ),
        style.stat_panel(
            "Freshness",
            "From received to visible here, in the last five minutes.",
            "s",
            [instant_query(q.FRESHNESS)],
            size=size,
            steps=((None, style.GREEN), (5, style.YELLOW), (30, style.RED)),
        ),
        style.stat_panel(
            "Job behind by",
            "How long ago Kafka took the newest record processed, while more wait.",
            "s",
            [range_query(q.LAG)],
            size=size,
            steps=style.AGE,
            sparkline=True,
            none="no job",
        ),
        style.stat_panel(
            "Last batch",
            "Since the Spark job last finished a batch.",
            "s",
            [instant_query(q.PROGRESS)],
            size=size,
            steps=style.AGE,
            none="no job",
        ),
        style.stat_panel(
            "Probe ends up",
            "Share of ends connected, attached and, senders, with credit.",
            "percentunit",
            [instant_query(q.ENDS_UP)],
            size=size,
            steps=style.ALL_IS_GOOD,
            none="no probe",
        ),
        style.stat_panel(
            "Unobserved",
            "Share of messages in the shown time of which nobody can say what became: a"
            " receiver was not watching.",
            "percentunit",
            [instant_query(q.UNOBSERVED)],
            size=size,
            steps=((None, style.GREEN), (0.0001, style.YELLOW), (0.01, style.RED)),
        ),
        style.stat_panel(
            "Fullest spool",
            "Share of the room for records that wait for Kafka.",
            "percentunit",
            [instant_query(q.SPOOL_WORST)],
            size=size,
            steps=((None, style.GREEN), (0.25, style.YELLOW), (0.5, style.RED)),
            none="no spool",
        ),
        style.stat_panel(
            "Configs in use",
            "Different configs among the running parts: should be 1.",
            "short",
            [instant_query(q.CONFIGS)],
            size=size,
            steps=((None, style.GREEN), (2, style.RED)),
        ),
    ]


def _job() -> list[Any]:
    freshness = style.time_series_panel(
        "Freshness",
        "From received to visible at the exporter, over five minutes.",
        "s",
        [range_query(q.FRESHNESS_P50, "p50", ref="A"), range_query(q.FRESHNESS, "p99", ref="B")],
        size=(8, 8),
    )
    override(freshness, "p50", color=colour(style.GREEN))
    return [
        freshness,
        style.time_series_panel(
            "Behind by",
            "Of each query of the job, by append time.",
            "s",
            [range_query(q.LAG, "{{query}}")],
            size=(8, 8),
        ),
        style.time_series_panel(
            "Batches by phase",
            "How long a batch of the job takes, and for what. The whole is triggerExecution.",
            "s",
            [range_query(q.PHASES, "{{phase}}")],
            size=(8, 8),
        ),
        style.time_series_panel(
            "Records and samples",
            "Read from Kafka a second; a record holds many samples.",
            "suffix:/s",
            [
                range_query(q.RECORDS, "{{query}} records", ref="A"),
                range_query(q.SAMPLES, "{{query}} samples", ref="B"),
            ],
            size=(8, 8),
        ),
        style.time_series_panel(
            "State",
            "Memory of the state store: flat at a steady number of paths.",
            "bytes",
            [range_query(q.STATE, "{{query}}")],
            size=(8, 8),
        ),
        style.time_series_panel(
            "Put aside",
            "Records in the dead-letter topic by reason, samples and records ignored, records that"
            " Kafka had dropped before they were read, new starts of the job, and what spools gave up."
            " All are 0 on a good day.",
            "short",
            [
                range_query(q.DEAD_ALL, "dead letters", ref="A"),
                range_query(q.IGNORED_ALL, "ignored", ref="B"),
                range_query(q.LOST_RECORDS, "dropped by Kafka", ref="C"),
                range_query(q.RESTARTS, "restarts", ref="D"),
                range_query(q.DROPPED, "given up by {{part}}", ref="G"),
                range_query(q.DEAD, "dead letters: {{reason}}", ref="E"),
                range_query(q.IGNORED, "ignored: {{reason}}", ref="F"),
            ],
            size=(8, 8),
            bars=True,
            stacked=True,
        ),
    ]


def _probes() -> list[Any]:
    return [
        style.state_timeline_panel(
            "Probe ends",
            "Connected, attached and, a sender, with credit.",
            [range_query(q.ENDS, "{{path}} {{end}}")],
            style.UP,
            size=(12, 9),
        ),
        style.time_series_panel(
            "Late by, p99",
            "How long after its due time a message is sent: the probe's own delay, or the want of credit.",
            "s",
            [range_query(q.SCHEDULE_LAG, "p99")],
            size=(6, 9),
        ),
        style.time_series_panel(
            "Waiting for Kafka",
            "Age of the oldest record in each spool.",
            "s",
            [range_query(q.OLDEST, "{{part}} at {{site}}")],
            size=(6, 9),
        ),
    ]


def _collectors() -> list[Any]:
    omitted = style.table_panel(
        "Left out",
        "Series that a filter or the cap leaves out.",
        [table_query(q.OMITTED)],
        {"target": "Target", "entity": "What", "Value": "Series"},
        size=(6, 8),
        none="nothing is left out",
    )
    polls = style.time_series_panel(
        "Polls by result",
        "Polls a second of routers and brokers.",
        "suffix:polls/s",
        [range_query(q.POLLS, "{{collector}} {{result}}")],
        size=(6, 8),
    )
    override(polls, "/ ok$/", color=colour(style.GREEN))
    return [
        polls,
        style.time_series_panel(
            "Polls, p99",
            "How long polls take, over five minutes.",
            "s",
            [range_query(q.POLL_P99, "{{collector}} {{target}}")],
            size=(6, 8),
        ),
        style.time_series_panel(
            "Rows read by the exporter",
            "Rows of each topic a second: used, read again, of windows not counted here; left out: bad,"
            " of the future, too many to keep.",
            "suffix:rows/s",
            [range_query(q.ROWS, "{{topic}} {{result}}")],
            size=(6, 8),
        ),
        omitted,
    ]


def build() -> dashboard.Dashboard:
    board = dashboard_frame(
        UID, "Pipeline", "Is the monitor itself well? Probes, collectors, Kafka, Spark, exporter."
    )
    board = board.with_variable(mesh_variable("path_info"))
    for panel in _figures():
        board = board.with_panel(panel)
    sections = {"The job": _job, "Probes": _probes, "Collectors and exporter": _collectors}
    for title, panels in sections.items():
        board = board.with_row(Row(title))
        for panel in panels():
            board = board.with_panel(panel)
    return board
