"""Whatever is sent to the gateway, it answers without a fault of its own, and its log tells no secrets and no texts."""

import base64
import json
import os
import random
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer, Reply
from tests.support.ports import free_port
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.timeouts import PATIENCE_S

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("TEST_SEED", "1"))
REQUESTS = 600

TEXT = "Confidential-words"
NUMBER = "491705550123"

VALUES = [
    NUMBER,
    "",
    "0",
    "-1",
    "+" + NUMBER,
    "４９１７０５５５",
    "9" * 400,
    TEXT,
    TEXT * 200,
    "\x00",
    "\ud7ff\U0010ffff",
    "%",
    "%zz",
    "%FF%FE",
    "{}",
    "[]",
    "null",
    "true",
    "1e309",
    "NaN",
    "2030-02-30 10:00:00",
    "9999-12-31 23:59:59",
    "1" * 30,
    "0.1",
    "-0001-01-01T00:00:00Z",
    "2030-01-01T00:00:00+99:99",
    "http://",
    "http://[::1",
    "http://user:x@example.net/",
    "http://169.254.169.254/",
    "http://example.net:99999/",
    "javascript:1",
    "yes",
    "binary",
    "flash",
    "6",
    "abc",
    "🦊" * 71,
]
FIELDS = ["to", "from", "content", "time", "type", "dlr", "dlr-url", "reference", "limit", "index", "start", "more"]
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "BREW"]
IDS = ["0" * 32, "f" * 32, "x", "01a1f7d0-67cb-7000-9316-a8b2eab3de41", "../..", "%2e%2e", "%00", "٣" * 32]
TYPES = [
    "application/json",
    "application/x-www-form-urlencoded",
    "application/json; charset=latin-1",
    "text/plain",
    "",
    "multipart/form-data; boundary=x",
    "application/json;" * 50,
    "\xff",
]


def random_path(chance: random.Random) -> str:
    message = quote(chance.choice(IDS), safe="%./")
    paths = [
        "/api/v1/messages",
        "/api/v2/messages",
        "/api/v1/messages/",
        "/api/v1/messages/quote",
        "/api/v1/account/balance",
        f"/api/v1/messages/{message}",
        f"/api/v1/messages/{message}/events",
        f"/api/v2/messages/{message}",
        "/",
        "//",
        "/api",
        "/api/v3/messages",
        "/health/ready",
        "/health",
        "/admin",
        "/dev/receipts",
        "/%00",
        "/api/v1/messages/%ff",
    ]
    path = chance.choice(paths)
    if chance.random() < 0.4:
        pairs = [f"{chance.choice(FIELDS)}={quote(chance.choice(VALUES))}" for _ in range(chance.randint(1, 4))]
        path += "?" + "&".join(pairs)
    return path


def random_body(chance: random.Random) -> bytes:
    kind = chance.random()
    fields: dict[str, object] = {"to": NUMBER, "from": "Heliograph", "content": TEXT}
    for _ in range(chance.randint(0, 4)):
        fields[chance.choice(FIELDS)] = chance.choice(VALUES)
    if kind < 0.4:
        wild = [None, True, -1, 0.5, 1e300, 10**40, [], {}, [NUMBER, None], [[NUMBER]], {"a": 1}, [NUMBER] * 1001]
        if chance.random() < 0.5:
            fields[chance.choice(FIELDS)] = chance.choice(wild)
        return json.dumps(fields).encode()
    if kind < 0.75:
        return "&".join(f"{name}={quote(str(value))}" for name, value in fields.items()).encode()
    broken = [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"to":' * 5000,
        b'"\\ud800"',
        b'{"to":"\\ud800"}',
        b"\xff\xfe",
        b"=&=&==",
        b"to=%ff&to",
        b'{"to":1,"to":2}',
        b"\x00" * 100,
        b"a=" + b"b" * (1 << 20),
        chance.randbytes(500),
    ]
    return chance.choice(broken)


def is_no_fault(reply: Reply, method: str) -> bool:
    if reply.status >= 500:
        return False
    if method == "HEAD":
        return True
    return reply.json["Status"] != "99" if "Status" in reply.json else reply.status in (200, 303)


RAW = [
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET " + b"/" * 200_000 + b" HTTP/1.1\r\n\r\n",
    b"POST /api/v1/messages HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nto=" + NUMBER.encode(),
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000 + b"\r\n",
    b"\r\n\r\n\r\n",
    b"GET /\x00 HTTP/1.1\r\n\r\n",
]


def throw(port: int, octets: bytes) -> bytes:
    """What comes back for octets, up to the end of the connection or of our patience."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as link:
        try:
            link.sendall(octets)
            link.shutdown(socket.SHUT_WR)
            while more := link.recv(65536):
                answer += more
        except OSError:
            pass  # it has heard enough
    return answer


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[SimulatorProcess]:
    with SimulatorProcess(tmp_path, receipt_delay_ms=20) as process:
        yield process


def test_no_request_finds_a_fault_and_no_line_tells_a_secret(
    tmp_path: Path, admin: Admin, data: Path, simulator: SimulatorProcess, sink: BackgroundSink
) -> None:
    account = admin.account("acme", "100000", "--list-interval", "0")
    secrets = [account["password"], account["api_key"], account["signing_secret"], "operator-password"]
    admin.operator(simulator.port)
    # an operator who is not there, so that links that fail are in the log too
    admin(
        "connector", "add", "gone", "--host", "127.0.0.1", "--port", str(free_port()), "--system-id", "esme",
        "--password", "operator-pw",
    )  # fmt: skip
    chance = random.Random(SEED)
    credentials = [("acme", account["api_key"])] * 6 + [("acme", account["password"])] * 2
    with GatewayProcess(data, settings={"HELIOGRAPH_LOG_LEVEL": "debug"}) as gateway:
        gateway.until(lambda: gateway.bound("operator"), "bound")
        for number in range(REQUESTS):
            method, path, body = chance.choice(METHODS), random_path(chance), random_body(chance)
            headers = {"Content-Type": chance.choice(TYPES)}
            # no method at all ends the connection at once, so that a long body could not be written whole
            if method == "BREW" or (method not in ("POST", "PUT") and chance.random() < 0.7):
                body = b""
            with Customer(gateway.url, *chance.choice(credentials)) as customer:
                if chance.random() < 0.02:
                    headers["Authorization"] = "Basic " + base64.b64encode(TEXT.encode()).decode()
                reply = customer.request(method, path, body, headers)
            assert is_no_fault(reply, method), f"seed {SEED}, request {number}: {method} {path} {body[:300]!r} {reply}"
        for octets in RAW:
            answer = throw(gateway.port, octets)
            assert b" 500 " not in answer.split(b"\r\n")[0], octets[:100]

        # it still does its work, receipts to a receiver that refuses them among it
        with Customer(gateway.url, "acme", account["password"]) as customer:
            sent = customer.send(2, to=NUMBER, content=TEXT, dlr="yes", dlr_url=sink.url(f"/{TEXT}"))
            dead = f"http://127.0.0.1:{free_port()}/{TEXT}"
            customer.send(2, to=NUMBER, content=TEXT, dlr="yes", dlr_url=dead)
            customer.send(2, to=NUMBER[:-4] + "9007", content=TEXT, dlr="yes", dlr_url=dead)
            sink.receipt(sent["Id"])
            eventually(lambda: admin("callbacks", "status")["pending"] >= 2, "receipts that nobody takes", pause=0.2)
        assert gateway.stop() == 0
        log = gateway.err_path.read_text() + gateway.out_path.read_text()
        assert len(gateway.log()) > 3
    for secret in (*secrets, "operator-pw", base64.b64encode(f"acme:{account['api_key']}".encode()).decode()):
        assert secret not in log
    for private in (TEXT, quote(TEXT), NUMBER, NUMBER[2:], NUMBER[:-4] + "9007"):
        assert private not in log
    assert "Traceback" not in log
    admin.assert_books_right()
