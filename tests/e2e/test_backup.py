"""A copy of the store that was made under load is put back: it starts, goes on, and says what it cannot know."""

import shutil
import stat
from pathlib import Path

import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.load import Load
from tests.support.process import Admin, GatewayProcess, SimulatorProcess
from tests.support.restore_check import CREDIT, compare_restored

pytestmark = pytest.mark.slow


def test_a_backup_made_under_load_is_put_back(tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink) -> None:
    account = admin.account("acme", str(CREDIT))
    copy = tmp_path / "copy.db"
    with SimulatorProcess(tmp_path, magic=False, receipt_delay_ms=300, latency_ms=20) as simulator:
        admin.operator(simulator.port, "operator", "", "--window", "10")
        with (
            GatewayProcess(data) as gateway,
            Load(gateway.url, "acme", account["api_key"], connections=8, dlr_url=sink.url()) as load,
        ):
            load.wait_for(200)
            before = dict(load.accepted)
            assert admin("backup", str(copy))["octets"] == copy.stat().st_size
            load.wait_for(len(load.accepted) + 200)
            load.stop()
            gateway.kill()
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert not list(tmp_path.glob("copy.db?*"))
        data = tmp_path / "restored"
        data.mkdir()
        shutil.copy(copy, data / "heliograph.db")
        compare_restored(data, {}, account, before, dict(load.accepted), simulator, sink)


def test_a_backup_overwrites_nothing(tmp_path: Path, admin: Admin) -> None:
    result = admin.run("backup", str(tmp_path / "copy.db"))
    assert result.returncode == 1
    assert "there is no store" in result.stderr
    admin.account()
    (tmp_path / "there").write_text("precious")
    result = admin.run("backup", str(tmp_path / "there"))
    assert result.returncode == 1
    assert "is there already" in result.stderr
    assert (tmp_path / "there").read_text() == "precious"
    result = admin.run("backup", str(tmp_path / "nowhere" / "copy.db"))
    assert result.returncode == 1
    assert "Traceback" not in result.stderr


def test_the_store_is_written_anew_while_no_gateway_runs(tmp_path: Path, admin: Admin, data: Path) -> None:
    refused = admin.run("compact")
    assert refused.returncode == 1
    assert "there is no store" in refused.stderr
    account = admin.account()
    with SimulatorProcess(tmp_path) as simulator:
        admin.operator(simulator.port)
        with GatewayProcess(data) as gateway:
            with Customer(gateway.url, "acme", account["api_key"]) as customer:
                customer.send(to="491700000001", content="Hello")
            refused = admin.run("compact")
            assert refused.returncode == 1
            assert "another gateway runs" in refused.stderr
            assert "Stop the gateway" in refused.stderr
            assert gateway.stop() == 0
    sizes = admin("compact")
    assert sizes["after"] == (data / "heliograph.db").stat().st_size <= sizes["before"]
    assert {file.name for file in data.iterdir()} <= {"heliograph.db", "engine.lock", "database.json"}
    assert admin.balance() == "999"
    admin.assert_books_right()


def test_what_an_empty_store_cannot_know(admin: Admin, data: Path) -> None:
    with GatewayProcess(data):
        pass  # its first start made the store
    assert admin("restored") == {
        "ends": None, "unsent": 0, "scheduled": 0, "awaiting": 0, "pending": 0, "unknown": [], "loss": "",
    }  # fmt: skip
    result = admin.run("restored")
    assert result.stdout.startswith("The store has no messages.\n")


def test_a_database_has_its_own_tools(admin: Admin, tmp_path: Path) -> None:
    url = "postgresql://u:secret@127.0.0.1:1/x"
    result = admin.run("backup", str(tmp_path / "copy.db"), "--database-url", url)
    assert result.returncode == 1
    assert "pg_dump" in result.stderr
    assert "secret" not in result.stderr
