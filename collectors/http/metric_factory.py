"""Makes metrics from the catalogue, which alone knows their names, types, labels and help.

There are three forms of one, by who keeps its values:

* `counter`, `gauge` and `histogram` make objects of prometheus-client: the program counts with them.
* A `MetricSource` reads, at each scrape, what is kept for another purpose.
* `head`, `line_form` and `histogram_lines` make text where prometheus-client is too slow (tests/bench).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from collectors.contract.metrics import CATALOGUE, MetricValue

# Without it each counter has a second series, in no catalogue and read by nobody.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the package's own lack


def counter(name: str, registry: CollectorRegistry) -> Counter:
    metric = CATALOGUE[name]
    return Counter(metric.full_name, metric.help, metric.labels, registry=registry)


def gauge(name: str, registry: CollectorRegistry) -> Gauge:
    metric = CATALOGUE[name]
    return Gauge(metric.full_name, metric.help, metric.labels, registry=registry)


def histogram(name: str, registry: CollectorRegistry, bounds: Sequence[float]) -> Histogram:
    metric = CATALOGUE[name]
    return Histogram(metric.full_name, metric.help, metric.labels, registry=registry, buckets=bounds)


class Buckets(NamedTuple):
    """The value of a histogram: counts of what lies between two bounds, each count in one bucket."""

    bounds: Sequence[float]
    counts: Sequence[int]  # one more than bounds: the last is of what is above all
    sum: float

    def cumulative(self) -> Iterator[tuple[str, int]]:
        """Yields `le` and the cumulative count of each bucket, as Prometheus has them."""
        total = 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            total += count
            yield bound, total


HistogramValue = tuple[str, tuple[str, ...], Buckets]  # as MetricValue


class MetricSource(Collector):
    """Something whose values a registry reads at each scrape."""

    always: tuple[str, ...] = ()  # metrics that are told while they have no value, too

    @abstractmethod
    def values(self) -> Iterable[MetricValue | HistogramValue]:
        """Returns all values of now; is called from several threads at once."""

    def describe(self) -> Iterable[Family]:
        return []  # registering must not collect

    def collect(self) -> Iterable[Family]:
        families = {name: _family(name) for name in self.always}
        for name, labels, value in self.values():
            if name not in families:
                families[name] = _family(name)
            _add(families[name], name, labels, value)
        return families.values()


def _family(name: str) -> Family:
    metric = CATALOGUE[name]
    base = metric.full_name.removesuffix("_total") if metric.kind == "counter" else metric.full_name
    return Family(base, metric.help, _text_kind(name))


def _add(family: Family, name: str, labels: tuple[str, ...], value: float | Buckets) -> None:
    metric = CATALOGUE[name]
    named = dict(zip(metric.labels, labels, strict=True))
    if not isinstance(value, Buckets):
        family.add_sample(metric.full_name, named, value)
        return
    total = 0
    for bound, total in value.cumulative():
        family.add_sample(f"{metric.full_name}_bucket", {**named, "le": bound}, total)
    family.add_sample(f"{metric.full_name}_count", named, total)
    family.add_sample(f"{metric.full_name}_sum", named, value.sum)


@cache  # of the catalogue's names
def head(name: str) -> str:
    """Returns the two lines before a metric's values in the text format."""
    metric = CATALOGUE[name]
    text = metric.help.replace("\\", "\\\\").replace("\n", "\\n")
    return f"# HELP {metric.full_name} {text}\n# TYPE {metric.full_name} {_text_kind(name)}\n"


def line_form(name: str) -> str:
    """Returns a line of the text format, for `%` with the labels' quoted values and the value."""
    metric = CATALOGUE[name]
    labels = ",".join(f'{label}="%s"' for label in metric.labels)
    return f"{metric.full_name}{{{labels}}} %r\n"


def label_text(name: str, values: Sequence[str], first: int = 0) -> str:
    """Returns the metric's labels, from the one of number `first` on, as they stand between braces."""
    named = zip(CATALOGUE[name].labels[first:], values, strict=True)
    return ",".join(f'{label}="{quote(value)}"' for label, value in named)


def histogram_lines(name: str, labels: str, cumulative: Iterable[tuple[str, int]], sum_: float) -> str:
    """Returns a histogram in the text format; `labels` is a `label_text`, `cumulative` as of `Buckets`."""
    start = CATALOGUE[name].full_name
    count = 0
    lines = []
    for bound, count in cumulative:
        lines.append(f'{start}_bucket{{{labels},le="{bound}"}} {count}\n')
    lines.append(f"{start}_sum{{{labels}}} {sum_!r}\n{start}_count{{{labels}}} {count}\n")
    return "".join(lines)


def quote(value: str) -> str:
    """Returns a label's value for the text format: one value on one line, whatever it holds."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _text_kind(name: str) -> str:
    """Returns the type in the text format, which has no `info`."""
    kind = CATALOGUE[name].kind
    return "gauge" if kind == "info" else kind
