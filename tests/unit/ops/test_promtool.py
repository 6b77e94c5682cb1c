"""What Prometheus itself says of the alerts and of the dashboard's expressions."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from tests.support.peers import foreign_program
from tests.support.timeouts import COMMAND_S

OPS = Path(__file__).parents[3] / "ops"

VARIABLES = {"$__rate_interval": "5m", "$__interval": "1m", "$__range": "1h"}
"""Grafana's own; what else begins with a dollar stands in a label's value."""


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = foreign_program("promtool")
    # it allocates much and lives for seconds: collecting garbage often would take a quarter of its time
    return subprocess.run(
        [program, *arguments],
        cwd=OPS, env=os.environ | {"GOGC": "400"}, capture_output=True, text=True, timeout=COMMAND_S, check=False,
    )  # fmt: skip


@pytest.mark.peer
def test_prometheus_understands_the_alerts() -> None:
    checked = promtool("check", "rules", "alerts.yml")
    assert checked.returncode == 0, checked.stderr


@pytest.mark.peer
def test_the_alerts_fire_when_they_should_and_only_then() -> None:
    tested = promtool("test", "rules", "alerts-test.yml")
    assert tested.returncode == 0, tested.stderr + tested.stdout


@pytest.mark.peer
@pytest.mark.extended
def test_the_tests_of_the_alerts_can_fail(tmp_path: Path) -> None:
    text = (OPS / "alerts.yml").read_text(encoding="utf-8")
    assert "< 0.7" in text
    (tmp_path / "alerts.yml").write_text(text.replace("< 0.7", "< 0.5"), encoding="utf-8")
    shutil.copy(OPS / "alerts-test.yml", tmp_path)
    tested = promtool("test", "rules", str(tmp_path / "alerts-test.yml"))
    assert tested.returncode == 1
    assert "HeliographDeliveryPoor" in tested.stderr + tested.stdout


@pytest.mark.peer
def test_prometheus_understands_the_dashboard(tmp_path: Path) -> None:
    dashboard = json.loads((OPS / "grafana-dashboard.json").read_text(encoding="utf-8"))
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    expressions += [annotation["expr"] for annotation in dashboard["annotations"]["list"]]
    rules = []
    for number, expression in enumerate(expressions):
        for variable, value in VARIABLES.items():
            expression = expression.replace(variable, value)
        rules.append({"record": f"dashboard:{number}", "expr": re.sub(r"\$\w+", "any", expression)})
    path = tmp_path / "dashboard.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}), encoding="utf-8")
    checked = promtool("check", "rules", "--lint=none", str(path))
    assert checked.returncode == 0, checked.stderr
    assert f"{len(expressions)} rules found" in checked.stdout


def test_every_alert_that_pages_is_tested() -> None:
    """Without promtool too."""
    rules = yaml.safe_load((OPS / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    tests = yaml.safe_load((OPS / "alerts-test.yml").read_text(encoding="utf-8"))["tests"]
    fired = {each["alertname"] for test in tests for each in test["alert_rule_test"] if "exp_alerts" in each}
    pages = {rule["alert"] for rule in rules if rule["labels"]["severity"] == "page"}
    assert pages <= fired
