"""The programs of docs/samples, against a gateway: each language where its interpreter is."""

import base64
import hashlib
import hmac
import json
import re
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from heliograph.composition.dev import DEMO_API_KEY, DEMO_NAME, DEMO_SIGNING_SECRET
from tests.support.customer import Customer
from tests.support.peers import foreign_program
from tests.support.ports import free_port, listens
from tests.support.process import GatewayProcess, Process, eventually
from tests.support.timeouts import COMMAND_S, PATIENCE_S

SAMPLES = Path(__file__).parents[3] / "docs" / "samples"
SECRET = "whsec_" + base64.b64encode(DEMO_SIGNING_SECRET).decode()

pytestmark = pytest.mark.slow

FORM, JSON = "application/x-www-form-urlencoded", "application/json"


class Language(NamedTuple):
    program: str
    ending: str
    receiver: list[str]
    """The arguments that make its receiver listen; {} is the port."""

    def command(self) -> str:
        return foreign_program(self.program)


LANGUAGES = [
    pytest.param(Language("python3", "py", ["receiver.py", "{}"]), id="python"),
    pytest.param(Language("node", "mjs", ["receiver.mjs", "{}"]), id="javascript", marks=pytest.mark.peer),
    pytest.param(Language("php", "php", ["-S", "127.0.0.1:{}", "receiver.php"]), id="php", marks=pytest.mark.peer),
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with GatewayProcess(tmp_path_factory.mktemp("gateway") / "data", dev=True) as running:
        yield running


def signed_in(gateway: GatewayProcess, api_key: str = DEMO_API_KEY) -> dict[str, str]:
    return {
        "HELIOGRAPH_URL": gateway.url,
        "HELIOGRAPH_USER": DEMO_NAME,
        "HELIOGRAPH_API_KEY": api_key,
    }


def start_receiver(language: Language, folder: Path, port: int) -> Process:
    for name in SAMPLES.glob("receiver.*"):
        shutil.copy(name, folder)
    arguments = [each.format(port) for each in language.receiver]
    environment = {"HELIOGRAPH_SIGNING_SECRET": SECRET, "TMPDIR": str(folder)}
    return Process(folder, "receiver", [language.command(), *arguments], environment)


def start_client(language: Language, folder: Path, environment: dict[str, str], *arguments: str) -> Process:
    sample = SAMPLES / f"client.{language.ending}"
    return Process(folder, "client", [language.command(), str(sample), *arguments], environment)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_client_sends_and_its_receiver_is_told(language: Language, gateway: GatewayProcess, tmp_path: Path) -> None:
    port = free_port()
    with start_receiver(language, tmp_path, port) as receiver:
        receiver.until(lambda: listens(port), "the receiver listens")
        arguments = ("491701239003", "Grüße, 50% + 1", f"http://127.0.0.1:{port}/receipts")
        with start_client(language, tmp_path, signed_in(gateway), *arguments) as client:
            assert client.wait() == 0, client.err
            printed = dict(line.split(maxsplit=1) for line in client.out.splitlines())
        assert printed["costs"] == "1 in 1 GSM-7"
        assert printed["status"] == "Sent"
        dashed = re.sub(r"(.{8})(.{4})(.{4})(.{4})(.{12})", r"\1-\2-\3-\4-\5", printed["sent"])
        receiver.until(lambda: f"receipt {dashed} REJECTD 003\n" in receiver.out, "the receipt")
        with Customer(gateway.url, DEMO_NAME, DEMO_API_KEY) as customer:
            assert customer.get(f"/api/v1/messages/{printed['sent']}").json["Content"] == "Grüße, 50% + 1"
            assert customer.get(f"/api/v1/messages/{printed['cancelled']}").json["Status"] == "Cancelled"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_client_sends_again_what_may_be_stored(language: Language, tmp_path: Path) -> None:
    references: list[str] = []

    class Doubtful(BaseHTTPRequestHandler):
        """Answers the first request to send with 504."""

        def do_POST(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
            references.extend([given["reference"]] if "reference" in given else [])
            self._answer(504 if len(references) == 1 else 200)

        def do_GET(self) -> None:
            self._answer(200)

        def do_DELETE(self) -> None:
            self._answer(200)

        def _answer(self, status: int) -> None:
            fields = ("Status", "Message", "Id", "Rate", "Segments", "Encoding")
            body = json.dumps(dict.fromkeys(fields, "x")).encode()
            self.send_response_only(status)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Doubtful) as server:
        threading.Thread(target=server.serve_forever).start()
        environment = {
            "HELIOGRAPH_URL": f"http://127.0.0.1:{server.server_port}",
            "HELIOGRAPH_USER": "acme",
            "HELIOGRAPH_API_KEY": "key",
        }
        try:
            with start_client(language, tmp_path, environment, "491701234567", "Hello") as client:
                assert client.wait() == 0, client.err
        finally:
            server.shutdown()
    first, again, later = references
    assert first == again != later


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_client_says_why_it_was_refused(language: Language, gateway: GatewayProcess, tmp_path: Path) -> None:
    environment = signed_in(gateway, f"wrong-{language.program}")
    with start_client(language, tmp_path, environment, "491701234567", "Hello") as client:
        assert client.wait() == 1
        assert client.out == ""
        assert "401 04: " in client.err


def post_callback(
    port: int, identity: str, moment: int, key: bytes, content: bytes, media_type: str = FORM, signed: bytes = b""
) -> int:
    """Returns the receiver's status. `signed`: the body of the signature, if it differs from the content."""
    text = f"{identity}.{moment}.".encode() + (signed or content)
    signature = base64.b64encode(hmac.digest(key, text, hashlib.sha256)).decode()
    headers = {
        "webhook-id": identity,
        "webhook-timestamp": str(moment),
        "webhook-signature": f"v1,AAAA v1,{signature}",
        "Content-Type": media_type,
    }
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", content, headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_receiver_takes_a_receipt_once_and_no_forgery(language: Language, tmp_path: Path) -> None:
    port = free_port()
    body = b"id=0195d3a4-0000-7000-8000-000000000001&message_status=DELIVRD&err=000&text=Hi"

    def post(identity: str, moment: int, key: bytes, content: bytes = body) -> int:
        return post_callback(port, identity, moment, key, content, signed=body)

    with start_receiver(language, tmp_path, port) as receiver:
        receiver.until(lambda: listens(port), "the receiver listens")
        now = int(time.time())
        assert post("forged", now, b"another secret") == 401
        assert post("altered", now, DEMO_SIGNING_SECRET, body.replace(b"DELIVRD", b"UNDELIV")) == 401
        assert post("stale", now - 3600, DEMO_SIGNING_SECRET) == 401
        assert post("first", now, DEMO_SIGNING_SECRET) == 204
        assert post("first", now + 1, DEMO_SIGNING_SECRET) == 204
        assert post("second", now, DEMO_SIGNING_SECRET) == 204
        expected = "receipt 0195d3a4-0000-7000-8000-000000000001 DELIVRD 000"
        eventually(lambda: receiver.out.count(expected) >= 2, "two receipts")
        assert receiver.out.splitlines() == [expected, expected]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_receiver_takes_everything_that_an_account_is_told(language: Language, tmp_path: Path) -> None:
    """`callback_url` gets notices as well as receipts, and `inbound_url` may be the same. Both may be JSON."""
    port, now = free_port(), int(time.time())
    low = b'{"type":"account.low_balance","account":"acme","balance":"24.93","threshold":"25"}'
    posted = [
        (low, JSON, "low balance acme 24.93"),
        (b'{"id":"0195d3a4","message_status":"DELIVRD","err":"000","text":"Hi"}', JSON, "receipt 0195d3a4 DELIVRD 000"),
        (
            b"id=0195d3a5&from=447700900123&to=3388&content=Yes%2C+please.",
            FORM,
            "inbound 447700900123 3388 Yes, please.",
        ),
        (b'{"type":"of a later version"}', JSON, ""),
    ]
    with start_receiver(language, tmp_path, port) as receiver:
        receiver.until(lambda: listens(port), "the receiver listens")
        for index, (body, media_type, _) in enumerate(posted):
            assert post_callback(port, f"msg_{index}", now, DEMO_SIGNING_SECRET, body, media_type) == 204
        lines = [line for _, _, line in posted if line]
        receiver.until(lambda: receiver.out.splitlines() == lines, "a line for each")


CALLED = [
    ("python3", "client.py"),
    ("python3", "receiver.py"),
    pytest.param("node", "client.mjs", marks=pytest.mark.peer),
    pytest.param("node", "receiver.mjs", marks=pytest.mark.peer),
    pytest.param("php", "client.php", marks=pytest.mark.peer),
    pytest.param("php", "receiver.php", marks=pytest.mark.peer),
]


@pytest.mark.parametrize(("language", "name"), CALLED)
def test_without_arguments_a_sample_says_how_it_is_called(language: str, name: str) -> None:
    command = [foreign_program(language), str(SAMPLES / name)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMMAND_S)
    assert ran.returncode in (1, 2)
    assert "HELIOGRAPH_" in ran.stderr
    assert ran.stdout == ""
    for word in ("Error", "Warning", "Traceback"):
        assert word not in ran.stderr
