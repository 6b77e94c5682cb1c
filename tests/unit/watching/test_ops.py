"""The alerts and the dashboard use metrics and labels that there are."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from heliograph.adapters.smpp.options import OPTIONS
from heliograph.app.observing.catalogue import METRICS, Metric, MetricKind
from heliograph.app.resources.account_settings import SETTING
from heliograph.composition.connectors import KINDS
from tests.support.cases import for_each
from tests.unit.docs.test_log import events

OPS = Path(__file__).parents[3] / "ops"
ALERTS: list[dict[str, Any]] = yaml.safe_load((OPS / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
DASHBOARD: dict[str, Any] = json.loads((OPS / "grafana-dashboard.json").read_text(encoding="utf-8"))

NAME = re.compile(r"\b(heliograph_\w+|process_\w+|python_\w+)(\{[^}]*\})?")
SELECTED = re.compile(r"(\w+)(?:=~|!=|!~|=)\"")
GROUPED = re.compile(r"\b(?:by|on) \(([^)]*)\)")
EVERYWHERE = {"instance", "job", "le"}


def expressions() -> Iterator[tuple[str, str]]:
    for alert in ALERTS:
        yield alert["alert"], alert["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield f"{panel['title']} {target['refId']}", target["expr"]
    for annotation in DASHBOARD["annotations"]["list"]:
        yield annotation["name"], annotation["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"]["query"]


EXPRESSIONS = list(expressions())


def metric_of(name: str) -> Metric:
    """The metric that a series belongs to; a histogram has three names more."""
    for suffix in ("_bucket", "_sum", "_count"):
        stem = METRICS.get(name.removesuffix(suffix))
        if name.endswith(suffix) and stem is not None and stem.kind is MetricKind.HISTOGRAM:
            return stem
    metric = METRICS[name]
    assert metric.kind is not MetricKind.HISTOGRAM, f"{name} has no series of that name"
    return metric


@for_each(("where", "expression"), EXPRESSIONS)
def test_expressions_name_what_there_is(where: str, expression: str) -> None:
    used = NAME.findall(expression)
    assert used or expression.startswith("up{")
    known: set[str] = set(EVERYWHERE)
    for name, selector in used:
        metric = metric_of(name)
        known |= set(metric.labels)
        assert set(SELECTED.findall(selector)) <= EVERYWHERE | set(metric.labels), name
        if metric.kind is MetricKind.COUNTER:
            before = expression[: expression.index(name)]
            assert re.search(r"(rate|increase)\($", before), f"{name} only ever grows: its rate is what matters"
    for labels in GROUPED.findall(expression):
        assert {label.strip() for label in labels.split(",")} <= known
    for opened, closed in ("()", "{}", "[]"):
        assert expression.count(opened) == expression.count(closed)


def test_every_alert_says_what_it_means_and_what_to_do() -> None:
    names = [alert["alert"] for alert in ALERTS]
    assert len(set(names)) == len(names)
    for alert in ALERTS:
        assert alert["alert"].startswith("Heliograph")
        assert alert["labels"]["severity"] in ("page", "warn")
        assert set(alert["annotations"]) == {"summary", "action"}
        assert all(text.endswith((".", "`", "?")) for text in alert["annotations"].values())
        used = set(re.findall(r"\$labels\.(\w+)", json.dumps(alert["annotations"])))
        for name, _ in NAME.findall(alert["expr"]):
            assert used <= EVERYWHERE | set(metric_of(name).labels)


def test_names_in_alerts_exist() -> None:
    """Options of connectors, settings of accounts, metrics, lines of the log and entries of the audit log."""
    texts = " ".join(text for alert in ALERTS for text in alert["annotations"].values())
    named = set(re.findall(r"\b[a-z][a-z0-9]*(?:[_.][a-z0-9]+)+\b", re.sub(r"{{.*?}}", "", texts)))
    assert {"max_day", "smpp_window", "smpp.put_off"} <= named
    assert named - METRICS.keys() - OPTIONS.keys() - KINDS["smpp"].settings.keys() - SETTING.keys() - events() == {
        "session.refuse"  # of the audit log
    }


@pytest.mark.parametrize(
    "wanted",
    [
        "binds_up", "queue_oldest", "callbacks_pending", "store_up", "commit_seconds", "throttled",
        "unmatched_receipts", "operator", "http_responses",
    ],
)  # fmt: skip
def test_what_goes_wrong_has_an_alert(wanted: str) -> None:
    assert any(wanted in alert["expr"] for alert in ALERTS) or any(wanted in alert["alert"].lower() for alert in ALERTS)


def test_the_dashboard_shows_every_metric_of_ours_and_its_panels_do_not_overlap() -> None:
    shown = {metric_of(name).name for _, expression in EXPRESSIONS for name, _ in NAME.findall(expression)}
    assert {name for name in METRICS if name.startswith("heliograph_")} - shown == {"heliograph_build_info"}
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
