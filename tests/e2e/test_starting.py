"""Starting and stopping: what cannot start says why, what is told to stop stops."""

import json
import socket
import stat
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.customer import Customer
from tests.support.ports import free_port
from tests.support.process import PROGRAM, Admin, GatewayProcess, SimulatorProcess, clean_environment, eventually
from tests.support.slowness import Slowness
from tests.support.timeouts import COMMAND_S

pytestmark = pytest.mark.slow


def serve(data: Path, *options: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """A gateway that is expected to give up."""
    return subprocess.run(
        [str(PROGRAM), "serve", "--data", str(data), "--listen", "127.0.0.1:0", "--json", *options],
        env=clean_environment(settings),
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )


def test_ready_is_one_json_line(data: Path) -> None:
    with GatewayProcess(data, dev=True) as gateway:
        assert gateway.out.count("\n") == 1
        assert json.loads(gateway.out)["pid"] == gateway.pid
        with Customer(gateway.url, "demo", "demo-api-key") as customer:
            for path in ("/health/live", "/health/ready"):
                assert customer.get(path).json["Status"] == "00"
        assert gateway.stop() == 0
        eventually(lambda: gateway.family() == [], "no process of it is left over")
        assert gateway.out.count("\n") == 1


def test_a_second_gateway_on_the_same_data_is_refused(data: Path) -> None:
    with GatewayProcess(data) as gateway:
        second = serve(data)
        assert second.returncode == 1
        assert second.stdout == ""
        assert "another gateway runs on" in second.stderr
        assert str(data) in second.stderr
        assert "Traceback" not in second.stderr
        with Customer(gateway.url, "nobody", "nothing") as customer:
            assert customer.get("/health/ready").status == 200
        assert gateway.stop() == 0
    with GatewayProcess(data):
        pass
    # nor does one that was killed leave a lock behind
    with GatewayProcess(data) as gateway:
        assert gateway.stop() == 0


def test_what_others_may_read_is_closed_to_them(data: Path) -> None:
    with GatewayProcess(data) as gateway:
        assert gateway.stop() == 0
    store = data / "heliograph.db"
    store.chmod(0o644)
    data.chmod(0o755)
    with GatewayProcess(data) as gateway:
        said = [line for line in gateway.log() if line["event"] == "data.open_to_others"]
        assert [(line["path"], line["mode"]) for line in said] == [(str(data), "755"), (str(store), "644")]
        assert {line["problem"] for line in said} == {"others may read; closed to them now"}
        assert gateway.stop() == 0
    assert [stat.S_IMODE(path.stat().st_mode) for path in (data, store)] == [0o750, 0o640]


def test_a_port_in_use_is_said(data: Path, admin: Admin) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = serve(data, "--listen", f"127.0.0.1:{port}")
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert f"127.0.0.1:{port} is in use" in refused.stderr
    assert "--listen" in refused.stderr
    assert "Errno" not in refused.stderr
    assert "Traceback" not in refused.stderr
    # it ended like a gateway that is stopped: messages that it sent meanwhile are not sent again by the next start
    assert '"event": "stopped"' in refused.stderr
    assert json.loads(admin.run("node", "list", "--json").stdout) == {"nodes": []}


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"HELIOGRAPH_HTTP_LISTN": "127.0.0.1:1"}, "HELIOGRAPH_HTTP_LISTN"),
        ({"HELIOGRAPH_MESSAGES_MAX_SEGMENTS": "many"}, "HELIOGRAPH_MESSAGES_MAX_SEGMENTS"),
        ({"HELIOGRAPH_CALLBACKS_ALLOWED_NETWORKS": "home"}, "HELIOGRAPH_CALLBACKS_ALLOWED_NETWORKS"),
    ],
)
def test_a_bad_setting_is_named(data: Path, settings: dict[str, str], named: str) -> None:
    refused = serve(data, **settings)
    assert refused.returncode == 1
    assert named in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_development_run_does_not_listen_to_the_world(data: Path) -> None:
    refused = serve(data, "--dev", "--listen", "0.0.0.0:0")
    assert refused.returncode == 1
    assert "--dev-anywhere" in refused.stderr


def test_the_demo_account_exists_in_development_runs_only(data: Path) -> None:
    with GatewayProcess(data, dev=True) as gateway, Customer(gateway.url, "demo", "demo-api-key") as customer:
        assert customer.balance() == "1000000"
        assert gateway.stop() == 0
    with GatewayProcess(data) as gateway, Customer(gateway.url, "demo", "demo-api-key") as customer:
        assert customer.request("POST", "/api/v1/account/balance").status in (401, 403)
        assert gateway.stop() == 0
    with GatewayProcess(data, dev=True) as gateway, Customer(gateway.url, "demo", "demo-api-key") as customer:
        assert customer.balance() == "1000000"


def test_an_operator_who_never_answers_does_not_hold_up_a_stop(tmp_path: Path, admin: Admin, data: Path) -> None:
    account = admin.account()
    port = free_port()
    with SimulatorProcess(tmp_path, port=port, withhold_share=1, receipt_missing_share=1) as simulator:
        admin.operator(port)
        settings = {"HELIOGRAPH_SHUTDOWN_DRAIN_S": "4"}
        with GatewayProcess(data, settings=settings) as gateway:
            with Customer(gateway.url, "acme", account["api_key"]) as customer:
                sent = customer.send(1, to="491700000001", content="Hello")
                eventually(lambda: simulator.destinations(), "the message")
            began = time.monotonic()
            with Slowness() as slowness:
                assert gateway.stop() == 0
            assert time.monotonic() - began < slowness.within(10)
    # its outcome is unknown: it goes again, to an operator who answers
    with SimulatorProcess(tmp_path, port=port, name="again") as simulator, GatewayProcess(data) as gateway:
        with Customer(gateway.url, "acme", account["api_key"]) as customer:
            eventually(lambda: simulator.destinations() == ["491700000001"], "the message again")
            eventually(lambda: "Submitted" in customer.events(sent["Id"]), "its outcome")
            assert customer.balance() == "999"
        assert gateway.stop() == 0


def test_the_doctor_finds_the_gateway_wherever_it_listens(data: Path, admin: Admin) -> None:
    def told() -> str:
        checks = json.loads(admin.run("doctor", "--no-binds", "--json").stdout)["checks"]
        return str(next(each["detail"] for each in checks if each["check"] == "listen"))

    with GatewayProcess(data) as gateway:  # on a free port, not on that of the settings
        assert told() == f"a gateway runs on 127.0.0.1:{gateway.port} and is ready"
        assert gateway.stop() == 0
    assert f":{gateway.port}" not in told()
