"""A module for each sub-command; their summaries stand here, so that `inflight --help` imports none."""

from typing import Final

SUMMARIES: Final = {
    "archive": "Read final windows of the past back from the archive.",
    "baseline": "Keep results of an experiment to compare later ones with.",
    "check": "Tell every mistake in a config file.",
    "collect": "Watch the routers and brokers of the config; serves /metrics.",
    "compare": "Tell whether results became better or worse.",
    "dashboards": "Put the dashboards and alert rules into a Grafana.",
    "demo": "Watch a whole network started on this machine.",
    "event": "Tell of maintenance, a deployment or a fault made on purpose.",
    "experiment": "Measure by a plan: runs, faults, and what must hold.",
    "export": "Serve results from Kafka: /metrics and a live page.",
    "fault": "Break a part or a link on purpose, marked and undone.",
    "lab": "Run a network on this machine, to break it and to measure on it.",
    "ping": "Measure one path, with no config and no Kafka.",
    "probe": "Send and receive probe messages; records go to Kafka.",
    "report": "Tell what a fault or a deployment cost.",
    "run": "Everything in one process: probes to /metrics; no Kafka, no JVM.",
    "size": "Tell how many cores and partitions a deployment needs.",
    "status": "Show routers, links, brokers and queues as they are now.",
    "stream": "Compute windows from samples: the Spark job on this machine.",
    "submit": "Run the Spark job on a cluster, by spark-submit.",
    "top": "Watch paths, routers and queues in a terminal.",
    "topology": "Draw up a network: configuration, monitor and picture from one file.",
    "trace": "Show the way of messages, and how fast each router on it answers.",
    "why": "Tell which hop loses or delays the messages of a path.",
}
