"""Clients that know nothing of this gateway: PyPI's apprise and curl."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.peers import foreign_program
from tests.support.process import PROGRAM, GatewayProcess
from tests.support.timeouts import COMMAND_S, PATIENCE_S

pytestmark = pytest.mark.slow

TEXT = "Disk is 90% full & grows by 1+1 GiB: Grüße {€}?"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with GatewayProcess(tmp_path_factory.mktemp("clients") / "data", dev=True) as process:
        yield process


def newest(gateway: GatewayProcess, to: str) -> dict[str, str]:
    """The message to the number that was sent last."""
    with Customer(gateway.url, "demo", "demo-api-key") as customer:
        # the demo account may list once a second
        while (reply := customer.get("/api/v1/messages?order=desc")).status == 429:
            time.sleep(0.05)
        messages: list[dict[str, str]] = reply.json["messages"]
    return next(message for message in messages if message["To"] == to)


def target(gateway: GatewayProcess, form: str, version: int, to: str, *more: str) -> str:
    """What an operator of apprise writes down: each name and value of the request after a colon."""
    secret = {1: "demo-api-key", 2: "demo-password"}[version]
    host = gateway.url.removeprefix("http://")
    # by itself apprise waits four seconds
    patience = [f"cto={PATIENCE_S:g}", f"rto={PATIENCE_S:g}"]
    fields = [":message=content", ":type=", f":to={to}", ":from=Heliograph", *more, *patience]
    return f"{form}://demo:{secret}@{host}/api/v{version}/messages?{'&'.join(fields)}"


def apprise(target: str, text: str, *options: str) -> bool:
    """Whether it says that it was sent."""
    command = [str(PROGRAM.with_name("apprise")), "-b", text, *options, target]
    return subprocess.run(command, capture_output=True, timeout=COMMAND_S, check=False).returncode == 0


@pytest.mark.parametrize("form", ["json", "form"])
def test_apprise_as_it_is(gateway: GatewayProcess, sink: BackgroundSink, form: str) -> None:
    to = {"json": "491700000011", "form": "491700000012"}[form]
    assert apprise(target(gateway, form, 1, to), TEXT, "-t", "Alarm")
    assert newest(gateway, to)["Content"] == TEXT

    assert apprise(target(gateway, form, 2, to, ":dlr=yes", f":dlr-url={sink.url()}"), TEXT)
    message = newest(gateway, to)["MessageId"]
    assert sink.receipt(message).form["text"] == TEXT[:20]

    # and it hears of a refusal
    assert not apprise(target(gateway, form, 1, "+4917"), TEXT)


@pytest.mark.parametrize("form", ["json", "form"])
def test_apprise_to_several(gateway: GatewayProcess, form: str) -> None:
    several = {"json": ["491700000021", "491700000022"], "form": ["491700000023", "491700000024"]}[form]
    assert apprise(target(gateway, form, 1, ",".join(several)), "Both of you")
    for to in several:
        assert newest(gateway, to)["Content"] == "Both of you"


def curl(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = foreign_program("curl")
    return subprocess.run([program, "-sS", *arguments], capture_output=True, text=True, timeout=COMMAND_S, check=False)


@pytest.mark.peer
@pytest.mark.parametrize("version", [["--http1.0"], ["--http1.1"], ["--http2"]])
def test_curl(gateway: GatewayProcess, version: list[str], tmp_path: Path) -> None:
    url = f"{gateway.url}/api/v1/messages"
    who = ["-u", "demo:demo-api-key", *version]
    sent = curl(*who, url, "-d", "to=491700000031", "-d", "from=Heliograph", "--data-urlencode", f"content={TEXT}")
    message = json.loads(sent.stdout)
    assert message["Status"] == "00"
    assert json.loads(curl(*who, f"{url}/{message['Id']}").stdout)["Content"] == TEXT

    # a body from a file, which curl announces first and sends when it is told to go on
    body = tmp_path / "body.json"
    body.write_text(json.dumps({"to": "491700000031", "from": "Heliograph", "content": "x" * 1000, "more": "y" * 5000}))
    sent = curl(*who, url, "-H", "Content-Type: application/json", "-H", "Expect: 100-continue", "-d", f"@{body}")
    assert json.loads(sent.stdout)["Rate"] == 7

    chunked = curl(
        *who, url, "-H", "Transfer-Encoding: chunked", "-H", "Content-Type: application/json", "-d", f"@{body}"
    )
    # HTTP/1.0 knows no chunks, and curl says so itself
    assert (chunked.returncode == 0 and json.loads(chunked.stdout)["Status"] == "00") or version == ["--http1.0"]

    head = curl(*who, "--head", f"{url}/{message['Id']}")
    assert " 200" in head.stdout.splitlines()[0]
    wrong = curl("-u", "demo:wrong", "-o", "/dev/null", "-w", "%{http_code} %header{www-authenticate}", url)
    assert wrong.stdout.startswith("401 Basic")
