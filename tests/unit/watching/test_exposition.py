"""The text that scrapers read, as Prometheus' own parsers read it."""

import subprocess
from math import inf

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from heliograph.adapters.metrics.exposition import Sample, render
from heliograph.app.observing.catalogue import METRICS, MetricKind
from heliograph.app.observing.counters import Histogram
from tests.support.cases import for_each
from tests.support.peers import foreign_program
from tests.support.timeouts import COMMAND_S

HARD = 'a "name"\\ with\nall'


def samples() -> list[Sample]:
    """One of every metric."""
    found = []
    for metric in METRICS.values():
        labels = (HARD,) * len(metric.labels)
        if metric.kind is MetricKind.HISTOGRAM:
            histogram = Histogram(metric.bounds)
            for value in (metric.bounds[0], metric.bounds[1], metric.bounds[-1] + 1):
                histogram.observe(value)
            found.append(Sample(metric.name, labels, histogram))
        else:
            found.append(Sample(metric.name, labels, 3))
    return found


@pytest.mark.parametrize("openmetrics", [False, True])
def test_every_metric_is_read_back(openmetrics: bool) -> None:
    read = read_openmetrics if openmetrics else read_text
    families = {family.name: family for family in read(render(samples(), openmetrics=openmetrics).decode())}
    assert len(families) == len(METRICS)
    for name, metric in METRICS.items():
        family = families[name.removesuffix("_total")]
        assert family.type == metric.kind.value
        assert family.documentation == metric.help
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(metric.labels)
            assert {value for label, value in sample.labels.items() if label != "le"} <= {HARD}
        if openmetrics:
            assert family.unit == metric.unit
        if metric.kind is MetricKind.HISTOGRAM:
            counts = {sample.labels.get("le"): sample.value for sample in family.samples if "_bucket" in sample.name}
            assert len(counts) == len(metric.bounds) + 1
            assert counts["+Inf"] == 3
            assert list(counts.values()) == sorted(counts.values())
            total = next(sample.value for sample in family.samples if sample.name.endswith("_sum"))
            expected = (metric.bounds[0] + metric.bounds[1] + metric.bounds[-1] + 1) * metric.scale
            assert total == pytest.approx(expected)


@pytest.mark.peer
def test_prometheus_finds_no_fault_in_the_metrics() -> None:
    promtool = foreign_program("promtool")
    checked = subprocess.run(
        [promtool, "check", "metrics"], input=render(samples()), capture_output=True, timeout=COMMAND_S, check=False
    )
    assert (checked.returncode, checked.stderr.decode()) == (0, "")


def test_metrics_without_samples_are_declared_all_the_same() -> None:
    text = render([]).decode()
    for name in METRICS:
        assert f"# TYPE {name} " in text


def test_numbers_stay_what_they_are() -> None:
    text = render(
        [
            Sample("heliograph_charged_credits_total", (), "12345678901.000001"),
            Sample("heliograph_connector_rate", ("op",), inf),
            Sample("heliograph_connector_rate_limit", ("op",), 0.5),
        ]
    ).decode()
    assert "\nheliograph_charged_credits_total 12345678901.000001\n" in text
    assert '\nheliograph_connector_rate{connector="op"} +Inf\n' in text
    assert '\nheliograph_connector_rate_limit{connector="op"} 0.5\n' in text


def test_what_the_catalogue_does_not_know_is_a_fault() -> None:
    with pytest.raises(KeyError):
        render([Sample("heliograph_unheard_of", (), 1)])
    with pytest.raises(ValueError, match="labels"):
        render([Sample("heliograph_connector_rate", (), 1)])


@for_each("metric", METRICS.values())
def test_names_keep_the_conventions(metric: object) -> None:
    from heliograph.app.observing.catalogue import Metric

    assert isinstance(metric, Metric)
    assert metric.name.startswith(("heliograph_", "process_", "python_"))
    assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER)
    assert not metric.name.endswith(("_ms", "_millis", "_count", "_sum", "_bucket"))
    assert metric.help.endswith(".")
    assert bool(metric.bounds) == (metric.kind is MetricKind.HISTOGRAM)
    assert list(metric.bounds) == sorted(set(metric.bounds))
    assert not {"le", "number", "to", "from", "account", "message", "url"} & set(metric.labels)
