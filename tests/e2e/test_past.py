"""A store that went back in time is refused, until a person accepts that."""

import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
import smpplib.exceptions

from tests.support.customer import Customer
from tests.support.ports import free_port, listens
from tests.support.process import PROGRAM, Admin, GatewayProcess, Process, SimulatorProcess, eventually
from tests.support.smpplib_client import SmpplibClient

pytestmark = pytest.mark.slow


def put_back(copy: Path, data: Path) -> None:
    for suffix in ("-wal", "-shm"):
        (data / f"heliograph.db{suffix}").unlink(missing_ok=True)
    shutil.copy(copy, data / "heliograph.db")


def test_an_older_copy_is_refused_until_a_person_accepts_it(tmp_path: Path, admin: Admin, data: Path) -> None:
    account = admin.account()
    copy = tmp_path / "copy.db"
    with SimulatorProcess(tmp_path) as simulator:
        admin.operator(simulator.port)
        with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
            customer.send(to="491700000001", content="before")
            eventually(lambda: (data / "database.json").exists(), "the data directory has seen a mark")
            admin("backup", str(copy))
            lost = customer.send(to="491700000002", content="after")["Id"]
            assert gateway.stop() == 0
        assert stat.S_IMODE((data / "database.json").stat().st_mode) == 0o600
        with GatewayProcess(data, name="restarted") as gateway:
            assert gateway.stop() == 0
        simulator.until_left()
        sent = len(simulator.destinations())

        put_back(copy, data)
        before = (data / "heliograph.db").read_bytes()
        port = free_port()
        command = [str(PROGRAM), "serve", "--data", str(data), "--listen", f"127.0.0.1:{port}", "--json"]
        with (
            Process(tmp_path, "refusing", command) as program,
            Customer(f"http://127.0.0.1:{port}", "acme", account["api_key"]) as customer,
        ):
            eventually(lambda: "past.lost" in program.err and listens(port), "it refuses the store")
            for path in ("/health/ready", f"/api/v1/messages/{lost}"):
                reply = customer.get(path)
                assert (reply.status, reply.json["Status"]) == (503, "13")
                assert int(reply.headers["retry-after"]) >= 1
            assert b"heliograph_past_lost 1" in customer.get("/metrics").body
            assert customer.get("/health/live").status == 200
            assert (data / "heliograph.db").read_bytes() == before
            found = admin.run("doctor", "--json").stdout
            assert "heliograph restored" in found
            assert "the store lost confirmed commits: its newest mark of this data directory is of 2" in found

            told = admin("restored")
            assert told["loss"].startswith("its newest mark of this data directory is of 2")
            assert told["unknown"]
            eventually(lambda: program.out, "ready")
            assert customer.get(f"/api/v1/messages/{lost}").status == 404
            customer.send(to="491700000003", content="go on")
            assert program.err.count("past.lost") == 1
            assert "past.accepted" in program.err
            assert program.stop() == 0
        with GatewayProcess(data, name="again") as gateway:
            assert gateway.stop() == 0
        simulator.until_left()
        assert len(simulator.destinations()) - sent >= 1
    assert admin.run("doctor", "--json").stdout.count("lost confirmed commits") == 0
    admin.assert_books_right()


def test_a_store_that_vanished_is_refused_too(admin: Admin, data: Path, tmp_path: Path) -> None:
    admin.account()
    with GatewayProcess(data) as gateway:
        assert gateway.stop() == 0
    for file in data.glob("heliograph.db*"):
        file.unlink()
    command = [str(PROGRAM), "serve", "--data", str(data), "--listen", f"127.0.0.1:{free_port()}", "--json"]
    with Process(tmp_path, "refusing", command) as program:
        eventually(lambda: "it has no mark of this data directory" in program.err, "it refuses the store")
        assert not (data / "heliograph.db").exists()
        restored = admin.run("restored").stdout
        assert "The store lost confirmed commits: it has no mark of this data directory" in restored
        eventually(lambda: program.out, "ready")
        assert program.stop() == 0


def test_a_running_gateway_stops_at_once_where_its_file_is_set_back(tmp_path: Path, admin: Admin, data: Path) -> None:
    """As `sqlite3 heliograph.db ".restore copy.db"` does."""
    account = admin.account()
    admin.operator(free_port())
    password = admin("account", "smpp-password", "acme")["smpp_password"]
    copy = tmp_path / "copy.db"
    with (
        GatewayProcess(data, settings={"HELIOGRAPH_SMPP_SERVER_LISTEN": "127.0.0.1:0"}) as gateway,
        Customer(gateway.url, "acme", account["api_key"]) as customer,
    ):
        client = SmpplibClient(gateway.smpp, "transmitter", 0, "acme", password)
        eventually(lambda: (data / "database.json").exists(), "the data directory has seen a mark")
        admin("backup", str(copy))
        seen = (data / "database.json").read_bytes()
        customer.send(to="491700000001", content="lost")
        eventually(lambda: (data / "database.json").read_bytes() != seen, "and another")
        with (
            closing(sqlite3.connect(copy)) as source,
            closing(sqlite3.connect(data / "heliograph.db", timeout=10)) as target,
        ):
            source.backup(target)
        eventually(lambda: "past.lost" in gateway.err, "it finds that", pause=0.1)
        reply = customer.form("/api/v1/messages", {"from": "Heliograph", "to": "491700000002", "content": "no"})
        assert (reply.status, reply.json["Status"]) == (503, "13")
        assert customer.get("/health/ready").status == 503
        client.submit("no", "491700000003")
        with pytest.raises(smpplib.exceptions.PDUError, match="Queue is full"):
            client.until(lambda: bool(client.ids), "an answer")
        client.close()
        with pytest.raises(smpplib.exceptions.PDUError, match="System Error"):
            SmpplibClient(gateway.smpp, "transmitter", 0, "acme", password)
        assert b"heliograph_past_lost 1" in customer.get("/metrics").body
        assert admin.balance() == "1000"
        admin("restored")
        assert gateway.wait() == 1
        assert "node.fenced" in gateway.err
    with GatewayProcess(data, name="again") as gateway:
        assert gateway.stop() == 0
    admin.assert_books_right()
