"""The manifests for Kubernetes: what they set exists, and Kubernetes' own schemas take them."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from heliograph.config import load
from tests.support.peers import foreign_program
from tests.support.timeouts import COMMAND_S

MANIFESTS = Path(__file__).parents[3] / "ops" / "kubernetes.yaml"
OLDEST = "1.29"


def documents() -> dict[str, dict[str, Any]]:
    """The manifests by kind and name, such as `Service/heliograph`."""
    found = yaml.safe_load_all(MANIFESTS.read_text(encoding="utf-8"))
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in found}


@pytest.fixture
def pod() -> dict[str, Any]:
    template: dict[str, Any] = documents()["StatefulSet/heliograph"]["spec"]["template"]
    return template


def test_its_settings_are_settings(pod: dict[str, Any], tmp_path: Path) -> None:
    [container] = pod["spec"]["containers"]
    environ = {each["name"]: each["value"] for each in container["env"]}
    secret = tmp_path / "database-url"
    secret.write_text("postgresql://u:w@db/heliograph")
    settings = load(tmp_path, environ=environ | {"HELIOGRAPH_DATABASE_URL_FILE": str(secret)})
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert settings.http.listen == f"0.0.0.0:{ports['http']}"
    assert settings.http.health_listen == f"0.0.0.0:{ports['health']}"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert ports[asked["port"]] == ports["health"]
        assert asked["path"] in ("/health/live", "/health/ready")
    mounts = {each["mountPath"] for each in container["volumeMounts"]}
    assert str(Path(environ["HELIOGRAPH_DATABASE_URL_FILE"]).parent) in mounts
    assert pod["spec"]["terminationGracePeriodSeconds"] > settings.shutdown.drain_s


def test_it_is_locked_down(pod: dict[str, Any]) -> None:
    [container] = pod["spec"]["containers"]
    assert pod["spec"]["securityContext"]["runAsUser"] == 10001
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_its_services_lead_to_its_pods(pod: dict[str, Any]) -> None:
    names = {each["name"] for each in pod["spec"]["containers"][0]["ports"]}
    for name in ("Service/heliograph", "Service/heliograph-nodes"):
        service = documents()[name]["spec"]
        assert service["selector"].items() <= pod["metadata"]["labels"].items()
        assert {each["targetPort"] for each in service["ports"]} <= names
    assert "health" not in {each["targetPort"] for each in documents()["Service/heliograph"]["spec"]["ports"]}


@pytest.mark.peer
def test_kubernetes_takes_them() -> None:
    command = [foreign_program("kubernetes-validate"), "--strict", "--kubernetes-version", OLDEST, str(MANIFESTS)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=COMMAND_S)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
