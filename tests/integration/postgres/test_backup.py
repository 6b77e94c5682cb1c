"""A dump that was made under load is put back on another server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.load import Load
from tests.support.postgres import Server
from tests.support.process import Admin, GatewayProcess, SimulatorProcess
from tests.support.restore_check import CREDIT, compare_restored

pytestmark = pytest.mark.slow


@pytest.fixture
def other_server() -> Iterator[Server]:
    server = Server()
    server.start()
    yield server
    server.remove()


@pytest.mark.extended
def test_a_dump_made_under_load_is_put_back(own_server: Server, other_server: Server, tmp_path: Path) -> None:
    settings = {"HELIOGRAPH_DATABASE_URL": own_server.url()}
    admin = Admin(tmp_path / "one", settings)
    account = admin.account("acme", str(CREDIT))
    with (
        BackgroundSink() as sink,
        SimulatorProcess(tmp_path, magic=False, receipt_delay_ms=300, latency_ms=20) as simulator,
    ):
        admin.operator(simulator.port, "operator", "", "--window", "10")
        with (
            GatewayProcess(tmp_path / "one", settings=settings) as gateway,
            Load(gateway.url, "acme", account["api_key"], connections=8, dlr_url=sink.url()) as load,
        ):
            load.wait_for(200)
            before = dict(load.accepted)
            own_server.dump(tmp_path / "dump")
            load.wait_for(len(load.accepted) + 200)
            load.stop()
            gateway.kill()
        other_server.restore(tmp_path / "dump")
        elsewhere = {"HELIOGRAPH_DATABASE_URL": other_server.url()}
        compare_restored(tmp_path / "two", elsewhere, account, before, dict(load.accepted), simulator, sink)
