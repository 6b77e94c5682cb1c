"""Exposition: turns samples into text, in Prometheus' text format 0.0.4, and OpenMetrics 1.0.0."""

from collections.abc import Iterable, Sequence
from math import inf, isinf
from typing import NamedTuple

from heliograph.app.observing.catalogue import METRICS, Metric, MetricKind
from heliograph.app.observing.counters import Histogram

TEXT = b"text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = b"application/openmetrics-text; version=1.0.0; charset=utf-8"


class Sample(NamedTuple):
    """A value of a metric, for example `Sample("heliograph_parts_total", ("acme", "accepted"), 17)`.

    `labels`: values in the order of the metric's labels.

    `value`: a text is an exact number and is written as it is.
    """

    name: str
    labels: tuple[str, ...]
    value: int | float | str | Histogram


def render(samples: Iterable[Sample], *, openmetrics: bool = False) -> bytes:
    """Writes every metric of the catalogue, in its order, metrics without samples included.

    Raises KeyError for a sample of an unknown metric, and ValueError for a sample with other labels than the metric's.
    """
    by_name: dict[str, list[Sample]] = {name: [] for name in METRICS}
    for sample in samples:
        if len(sample.labels) != len(METRICS[sample.name].labels):
            raise ValueError(f"{sample.name} has the labels {METRICS[sample.name].labels}")
        by_name[sample.name].append(sample)
    lines: list[str] = []
    for name, metric in METRICS.items():
        family = name.removesuffix("_total") if openmetrics else name
        lines.append(f"# HELP {family} {_escaped(metric.help)}")
        lines.append(f"# TYPE {family} {metric.kind}")
        if openmetrics and metric.unit:
            lines.append(f"# UNIT {family} {metric.unit}")
        for sample in by_name[name]:
            if isinstance(sample.value, Histogram):
                lines.extend(_histogram(metric, sample.labels, sample.value))
            else:
                number = "+Inf" if sample.value == inf else str(sample.value)
                lines.append(f"{name}{_labels(metric.labels, sample.labels)} {number}")
    if openmetrics:
        lines.append("# EOF")
    return ("\n".join(lines) + "\n").encode()


def _histogram(metric: Metric, labels: tuple[str, ...], values: Histogram) -> Iterable[str]:
    assert metric.kind is MetricKind.HISTOGRAM
    names = (*metric.labels, "le")
    count = 0
    for bound, number in zip((*values.bounds, inf), values.classes, strict=True):
        count += number
        le = "+Inf" if isinf(bound) else repr(round(float(bound * metric.scale), 9))
        yield f"{metric.name}_bucket{_labels(names, (*labels, le))} {count}"
    shown = _labels(metric.labels, labels)
    yield f"{metric.name}_sum{shown} {round(values.total * metric.scale, 6)!r}"
    yield f"{metric.name}_count{shown} {count}"


def _labels(names: Sequence[str], values: Sequence[str]) -> str:
    if not names:
        return ""
    quoted = (_escaped(value).replace('"', '\\"') for value in values)
    return "{" + ",".join(f'{name}="{value}"' for name, value in zip(names, quoted, strict=True)) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
