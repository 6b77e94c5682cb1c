"""`ops/watching`: Prometheus and Grafana beside a gateway, checked by reading, because an engine is on few machines."""

from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from heliograph.adapters.metrics import page
from heliograph.config import load
from tests.unit.ops.test_promtool import promtool
from tests.unit.watching.test_ops import DASHBOARD

WATCHING = Path(__file__).parents[3] / "ops" / "watching"


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((WATCHING / name).read_text(encoding="utf-8"))
    return found


SERVICES: dict[str, dict[str, Any]] = read("compose.yaml")["services"]


def mounts(service: str) -> dict[str, str]:
    """The files of this repository by their path in the container."""
    parts = [volume.split(":") for volume in SERVICES[service]["volumes"]]
    return {inside: outside for outside, inside, *_ in parts if outside.startswith(".")}


@pytest.mark.parametrize("service", SERVICES)
def test_each_file_and_volume_is_there(service: str) -> None:
    for path in mounts(service).values():
        assert (WATCHING / path).is_file(), path
    named = [volume.partition(":")[0] for volume in SERVICES[service]["volumes"] if not volume.startswith(".")]
    assert set(named) <= set(read("compose.yaml")["volumes"])


@pytest.mark.parametrize("service", SERVICES)
def test_images_have_a_version_and_listen_on_loopback_only(service: str) -> None:
    described = SERVICES[service]
    assert described["image"].partition(":")[2][:1] in "v0123456789"
    assert described["network_mode"] == "host"
    assert "127.0.0.1" in str(described.get("environment", {}).get("GF_SERVER_HTTP_ADDR", described.get("command")))


def test_grafana_has_no_password_of_ours() -> None:
    assert SERVICES["grafana"]["environment"]["GF_SECURITY_ADMIN_PASSWORD"].startswith("${GRAFANA_PASSWORD:?")


def test_prometheus_reads_our_alerts_and_scrapes_a_gateway_where_it_listens(tmp_path: Path) -> None:
    config, files = read("prometheus.yml"), mounts("prometheus")
    started = next(each for each in SERVICES["prometheus"]["command"] if each.startswith("--config.file="))
    place = started.partition("=")[2]
    assert files[place] == "./prometheus.yml"
    for rules in config["rule_files"]:
        assert files[str(Path(place).parent / rules)] == "../alerts.yml"
    (job,) = config["scrape_configs"]
    assert job["job_name"] == "heliograph"  # as the alert HeliographDown says
    assert job.get("metrics_path", "/metrics") == page.PATH
    port = load(environ={"HELIOGRAPH_DATA": str(tmp_path)}).http.listen.rpartition(":")[2]
    assert job["static_configs"] == [{"targets": [f"127.0.0.1:{port}"]}]


def test_grafana_finds_its_prometheus_and_our_dashboard() -> None:
    (source,) = read("datasource.yaml")["datasources"]
    listens = next(each for each in SERVICES["prometheus"]["command"] if each.startswith("--web.listen-address="))
    assert source["url"] == f"http://{listens.partition('=')[2]}"
    assert source["type"] == next(
        each["query"] for each in DASHBOARD["templating"]["list"] if each["type"] == "datasource"
    )
    (provider,) = read("dashboards.yaml")["providers"]
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert mounts("grafana")[home] == "../grafana-dashboard.json"
    assert str(Path(home).parent) == provider["options"]["path"]
    assert {"/etc/grafana/provisioning/datasources/heliograph.yaml"} <= mounts("grafana").keys()


@pytest.mark.peer
def test_prometheus_understands_the_file(tmp_path: Path) -> None:
    for inside, outside in mounts("prometheus").items():
        (tmp_path / Path(inside).name).write_bytes((WATCHING / outside).read_bytes())
    checked = promtool("check", "config", str(tmp_path / "prometheus.yml"))
    assert checked.returncode == 0, checked.stdout + checked.stderr
