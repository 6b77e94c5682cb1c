"""Notices of an account reach a program on another machine, through the installed programs."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.process import (
    PROGRAM,
    Admin,
    GatewayProcess,
    Process,
    SimulatorProcess,
    clean_environment,
    eventually,
)
from tests.support.timeouts import COMMAND_S

pytestmark = pytest.mark.slow


def test_receipts_are_forwarded_and_the_receiver_has_them_all_the_same(
    tmp_path: Path, data: Path, admin: Admin, sink: BackgroundSink
) -> None:
    account = admin.account("acme", "100")
    with (
        BackgroundSink() as local,
        SimulatorProcess(tmp_path, name="one") as one,
        GatewayProcess(data) as gateway,
        Customer(gateway.url, "acme", account["api_key"]) as customer,
    ):
        admin.operator(one.port, "one", "")
        body = {"to": "491700000001", "from": "Helio", "content": "Hi", "dlr": "yes"}
        eventually(lambda: customer.form("/api/v1/messages/quote", body).status == 200, "a route")
        command = [
            str(PROGRAM), "listen", "--user", "acme", "--key", account["api_key"], "--server", gateway.url,
            "--forward", local.url("/local"), "--count", "2",
        ]  # fmt: skip
        with Process(tmp_path, "listen", command) as listener:
            listener.until(lambda: "ANSWER" in listener.out, "it listens")
            # it has its place once it has asked: what comes before is not its own
            sent = []
            while not local.requests:
                sent.append(customer.form("/api/v1/messages", body | {"dlr-url": sink.url()}).json["Id"])
                sink.receipt(sent[-1])
            unposted = customer.form("/api/v1/messages", body).json["Id"]
            # it may have been told of more than one by the time that it has forwarded the first
            heard = local.requests[0]
            message = heard.form["id"].replace("-", "")
            assert message in sent
            assert heard.target == "/local"
            assert heard.body == sink.receipt(message).body
            assert {"webhook-id", "webhook-signature"} <= set(heard.headers)
            assert listener.wait(COMMAND_S) == 0
            lines = listener.out.splitlines()
            assert "DELIVRD 000" in lines[2]
            assert "200 in " in lines[2]
        assert sink.receipts(unposted) == []


def test_what_cannot_be_listened_to_is_said(tmp_path: Path, data: Path, admin: Admin) -> None:
    admin.account("acme", "100")
    with GatewayProcess(data) as gateway:
        for arguments, problem in (
            (("--key", "wrong", "--server", gateway.url), "The credentials are wrong"),
            (("--key", "x", "--server", "http://127.0.0.1:1"), "no answer from 127.0.0.1:1: Connection refused"),
            (("--key", "x", "--server", "nowhere"), "is not the URL"),
            (("--key", "x", "--server", gateway.url, "--forward", "8081"), "is not a URL"),
        ):
            done = subprocess.run(
                [str(PROGRAM), "listen", "--user", "acme", *arguments, "--json"], cwd=tmp_path, env=clean_environment(),
                capture_output=True, text=True, timeout=COMMAND_S, check=False,
            )  # fmt: skip
            assert done.returncode == 1
            assert problem in done.stderr
            assert json.dumps(done.stdout) == '""'
