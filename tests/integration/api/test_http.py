"""What holds for every operation: paths, methods, credentials, bodies, errors, ids of requests."""

import asyncio
import gzip
import json
from typing import Any

import pytest

from heliograph.api.doors import HealthDoor
from heliograph.app.sending.directory import Directory
from heliograph.domain.message.ids import to_hex
from tests.support.cases import for_each
from tests.support.gateway import API_KEY, PASSWORD, Gateway, basic, open_gateway

SEND = "/api/v1/messages"
ONE = f"{SEND}/{to_hex(1, 1)}"
GOOD = {"to": "447700900123", "from": "Helio", "content": "Hello"}
BODY = json.dumps(GOOD).encode()
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}

OPERATIONS = [
    ("POST", SEND), ("GET", SEND), ("GET", ONE), ("PUT", ONE), ("DELETE", ONE), ("GET", f"{ONE}/events"),
    ("POST", f"{SEND}/quote"), ("POST", "/api/v1/account/balance"),
    ("POST", "/api/v2/messages"), ("POST", "/api/v2/account/balance"),
]  # fmt: skip


# --- paths and methods


@for_each(
    "path",
    [
        "/", "", "/api", "/api/v1", "/api/v3/messages", "/api/v1/message", "/api/v1/messages//", "//api/v1/messages",
        "/api/v2/messages/" + to_hex(1, 1), "/api/v2/messages/quote", f"{ONE}/other", f"{ONE}/events/x", "/health",
        "/API/v1/messages", "/api/v1/account/balance/x", "/api/v1/messages\n",
    ],
)  # fmt: skip
@for_each("auth", [None, "acme"])
async def test_an_unknown_path(gateway: Gateway, path: str, auth: str | None) -> None:
    assert (await gateway.call("GET", path, auth=auth)).fault == (404, "07", None)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", SEND, "GET, HEAD, POST"),
        ("DELETE", f"{SEND}/", "GET, HEAD, POST"),
        ("OPTIONS", SEND, "GET, HEAD, POST"),
        ("POST", ONE, "DELETE, GET, HEAD, PUT"),
        ("POST", f"{ONE}/events", "GET, HEAD"),
        ("GET", f"{SEND}/quote", "POST"),
        ("GET", "/api/v2/messages", "POST"),
        ("GET", "/api/v1/account/balance", "POST"),
        ("PUT", "/api/v2/account/balance/", "POST"),
        ("POST", "/health/live", "GET, HEAD"),
        ("BREW", "/health/ready", "GET, HEAD"),
    ],
)
async def test_a_wrong_method(gateway: Gateway, method: str, path: str, allowed: str) -> None:
    reply = await gateway.call(method, path, auth=None)
    assert reply.fault == (405, "08", None)
    assert reply.headers["allow"] == allowed


@pytest.mark.parametrize("path", [SEND, ONE, f"{ONE}/events", "/health/live", "/health/ready"])
async def test_head_is_get_without_its_body(gateway: Gateway, path: str) -> None:
    get = await gateway.call("GET", path)
    gateway.clock.forward(10)
    head = await gateway.call("HEAD", path)
    assert (head.status, head.body) == (get.status, b"")
    assert head.headers["content-length"] == get.headers["content-length"] == str(len(get.body))


async def test_a_path_of_an_application_that_is_mounted() -> None:
    gateway = await open_gateway()

    async def console(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"2"), (b"x-request-id", b"console")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})

    gateway.app.mount("/console", console)
    assert (await gateway.call("GET", "/console/x")).headers["x-request-id"] == "console"
    assert (await gateway.call("GET", "/consoles")).status == 404


# --- the id of a request


async def test_every_request_has_an_id_of_its_own(gateway: Gateway) -> None:
    replies = [await gateway.call("GET", path, auth=None) for path in ("/x", SEND, "/health/live")]
    assert len({reply.headers["x-request-id"] for reply in replies}) == 3


@pytest.mark.parametrize(
    ("given", "kept"), [("abc-1.2_3", True), ("x" * 129, False), ("a b", False), ("a\nb", False), ("é", False)]
)
async def test_a_clients_own_request_id_is_kept_if_it_is_harmless(gateway: Gateway, given: str, kept: bool) -> None:
    reply = await gateway.call("GET", "/health/live", headers={"X-Request-Id": given})
    assert (reply.headers["x-request-id"] == given) is kept


# --- credentials


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
async def test_every_operation_asks_for_credentials_before_it_reads(gateway: Gateway, method: str, path: str) -> None:
    huge = {"content-length": str(1 << 40), "content-type": "image/png"}
    for auth in (None, b"", b"Bearer x", b"Basic", b"Basic !!!", b"Basic YWNtZQ==", basic("acme", "wrong")):
        reply = await gateway.call(method, path, b"{", headers=huge, auth=auth)
        assert reply.fault == (401, "04", None)
        assert reply.headers["www-authenticate"].startswith("Basic ")
        gateway.clock.forward(60)


async def test_each_version_takes_its_own_secret(gateway: Gateway) -> None:
    for path, right, wrong in ((SEND, API_KEY, PASSWORD), ("/api/v2/messages", PASSWORD, API_KEY)):
        assert (await gateway.send(GOOD, path, auth=basic("acme", right))).status == 200
        assert (await gateway.send(GOOD, path, auth=basic("acme", wrong))).fault == (401, "04", None)
        lower = basic("acme", right).replace(b"Basic", b"basic")
        assert (await gateway.send(GOOD, path, auth=lower)).status == 200


async def test_an_account_may_be_bound_to_networks(gateway: Gateway) -> None:
    await gateway.change_account(networks=("198.51.100.0/24", "2001:db8::/32"))
    for address, status in (
        ("192.0.2.7", 403),
        ("198.51.100.9", 200),
        ("::ffff:198.51.100.9", 200),
        ("2001:db8::1", 200),
    ):
        gateway.addresses[0] = address
        assert (await gateway.send(GOOD)).status == status
    gateway.addresses[0] = "192.0.2.7"
    assert (await gateway.send(GOOD)).fault == (403, "06", None)


# --- bodies


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/xml",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
        "json",
        "é/é",
    ],
)
async def test_a_media_type_that_is_not_supported(gateway: Gateway, kind: str) -> None:
    reply = await gateway.call("POST", SEND, BODY, headers={"Content-Type": kind})
    assert reply.fault == (415, "11", None)


@pytest.mark.parametrize(
    "kind",
    ["application/json", "APPLICATION/JSON", "application/json;charset=UTF-8", 'application/json; charset="utf-8"', ""],
)
async def test_a_media_type_that_is(gateway: Gateway, kind: str) -> None:
    assert (await gateway.call("POST", SEND, BODY, headers={"Content-Type": kind})).status == 200


async def test_without_a_media_type_the_body_tells(gateway: Gateway) -> None:
    assert (await gateway.call("POST", SEND, BODY)).status == 200
    assert (await gateway.call("POST", SEND, b"to=447700900123&from=Helio&content=Hello")).status == 200
    assert (await gateway.call("POST", SEND, b"[]")).fault == (400, "02", "to")
    assert (await gateway.call("POST", SEND, b"")).fault == (400, "02", "to")


async def test_a_compressed_body(gateway: Gateway) -> None:
    headers = JSON | {"Content-Encoding": "gzip"}
    assert (await gateway.call("POST", SEND, gzip.compress(BODY), headers=headers)).fault == (415, "11", None)
    headers = JSON | {"Content-Encoding": "identity"}
    assert (await gateway.call("POST", SEND, BODY, headers=headers)).status == 200


@for_each(
    "body",
    [
        b"", b"{", b"[]", b"null", b"1", b'"x"', b"{} {}", b"{}x", b"{'a':1}", b'{"a":1,}', b'{"a":01}', b'{"a":NaN}',
        b'{"a":"\xff"}', b'{"\xff":1}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\xc0\x80"}', b'{"a":"\n"}', b'{"a":"\\x"}',
        b'{"a":"\\ud800"}', b'{"a":"\\udc00"}', b'{"a":"\\ud800\\u0041"}', b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00",
        b'{"a":1,"a":1}', b'{"a":"x","\\u0061":"x"}', b'{"x":{"a":1,"a":2}}', b'{"x":[{"a":"\\"","a":"\\\\"}]}',
        b'{"to":"1","to":["1"]}', b'{"":1,"":2}', b'{"a":' + b"9" * 5000 + b"}",
        b"[" * 100_000, b'{"a":' * 100_000, b'{"a":' + b"[" * 900 + b"]" * 900 + b',"a":1}',
    ],
)  # fmt: skip
async def test_a_malformed_json_body(gateway: Gateway, body: bytes) -> None:
    assert (await gateway.call("POST", SEND, body, headers=JSON)).fault == (400, "01", None)


@pytest.mark.parametrize(
    "extra",
    [
        rb'"a":"\"","b":"\\","c":"\\\"","\"":"\\\\"', rb'"a":[["a","\"a"],{"a":{"a":"a"}},{"a":[]}]', b'"a":1e999',
        b'"a":' + b"[" * 500 + b"]" * 500, rb'"a":"\u0022\u0022","\u0022":1', b'"a":-0.0,"b":1E-5',
        rb'"\u0000":"\u0000"',
    ],
)  # fmt: skip
async def test_quotes_and_nesting_are_no_repeated_keys(gateway: Gateway, extra: bytes) -> None:
    reply = await gateway.call("POST", SEND, BODY[:-1] + b"," + extra + b"}", headers=JSON)
    assert reply.status == 200, reply.body


@pytest.mark.parametrize(
    "body",
    [b"to=%ff", b"\xff=1", b"to=1&content=%c3", b"content=a&content=b", b"x=1&x=2", b"dlr-url=a&dlr%2Durl=b", b"=1&=2"],
)
async def test_a_malformed_form_body(gateway: Gateway, body: bytes) -> None:
    assert (await gateway.call("POST", SEND, body, headers=FORM)).fault == (400, "01", None)


async def test_forms_are_decoded_as_forms_are(gateway: Gateway) -> None:
    body = "to=447700900123&&from=Helio&content=100%25%20a+b%zz é%26&x".encode()
    assert (await gateway.call("POST", SEND, body, headers=FORM)).status == 200
    assert gateway.intake.accepted[0].messages[0].content == "100% a b%zz é&"


# --- the size of a body


async def test_a_body_may_have_so_many_octets() -> None:
    gateway = await open_gateway(max_body=1000)
    body = b'{"to":"447700900123","from":"Helio","content":"Hello"}'.ljust(1000)
    assert (await gateway.call("POST", SEND, body, headers=JSON)).status == 200
    assert (await gateway.call("POST", SEND, [body[:500], body[500:]], headers=JSON)).status == 200
    assert (await gateway.call("POST", SEND, body + b" ", headers=JSON)).fault == (413, "10", None)
    assert (await gateway.call("POST", SEND, [body, b" ", b"{}"], headers=JSON)).fault == (413, "10", None)
    endless = JSON | {"content-length": "9" * 40}
    assert (await gateway.call("POST", SEND, b"", headers=endless)).fault == (413, "10", None)


async def test_the_size_is_checked_before_the_media_type_and_after_the_credentials() -> None:
    gateway = await open_gateway(max_body=10)
    headers = {"Content-Type": "image/png"}
    assert (await gateway.call("POST", SEND, b"x" * 11, headers=headers)).status == 413
    assert (await gateway.call("POST", SEND, b"x" * 11, headers=headers, auth=None)).status == 401
    assert (await gateway.call("POST", SEND, b"x", headers=headers)).status == 415


async def test_a_client_that_expects_to_be_asked_for_its_body_is_hung_up_on_when_it_is_not(gateway: Gateway) -> None:
    expect = JSON | {"Expect": "100-continue"}
    assert (await gateway.call("POST", SEND, BODY, headers=expect, auth=None)).headers["connection"] == "close"
    assert "connection" not in (await gateway.call("POST", SEND, BODY, headers=expect)).headers


async def test_a_client_that_hangs_up_is_not_answered(gateway: Gateway) -> None:
    with pytest.raises(ValueError, match="unpack"):
        await gateway.call("POST", SEND, [], headers=JSON)
    assert gateway.intake.accepted == []


# --- health, and faults of ours


async def test_health(gateway: Gateway) -> None:
    assert (await gateway.call("GET", "/health/live", auth=None)).status == 200
    assert (await gateway.call("GET", "/health/ready", auth=None)).status == 200
    gateway.store.broken = True
    gateway.clock.forward(1)
    reply = await gateway.call("GET", "/health/ready/", auth=None)
    assert reply.fault == (503, "13", None)
    assert int(reply.headers["retry-after"]) >= 1
    assert (await gateway.call("GET", "/health/live", auth=None)).status == 200


async def test_health_before_a_stop(gateway: Gateway) -> None:
    gateway.app.services.leaving = True
    assert (await gateway.call("GET", "/health/ready", auth=None)).fault == (503, "13", None)
    assert (await gateway.call("GET", "/health/live", auth=None)).status == 200
    assert (await gateway.call("POST", SEND, BODY, headers=JSON)).status == 200


async def test_health_of_a_store_that_hangs(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load balancers wait for a second, and then take a gateway that does not answer for dead."""
    probes, there = 0, asyncio.Event()

    async def probe() -> None:
        nonlocal probes
        probes += 1
        await there.wait()

    monkeypatch.setattr(gateway.app.services, "probe", probe)
    monkeypatch.setattr("heliograph.api.doors.READY_WITHIN_S", 0.05)
    gateway.app.add(HealthDoor(gateway.app.services, gateway.app.checks))
    for _ in range(3):
        assert (await gateway.call("GET", "/health/ready", auth=None)).fault == (503, "13", None)
    assert probes == 1, "a check that hangs is not repeated"
    there.set()
    assert (await gateway.call("GET", "/health/ready", auth=None)).status == 200


@pytest.mark.parametrize(("method", "path"), [OPERATIONS[0], OPERATIONS[2], OPERATIONS[7]])
async def test_a_store_that_is_known_to_be_away_and_hangs(
    gateway: Gateway, method: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.intake.away = True
    monkeypatch.setattr("heliograph.api.app.AWAY_S", 0.05)

    async def hang(*_: object) -> None:
        await asyncio.Event().wait()

    for name in ("balance", "message"):
        monkeypatch.setattr(gateway.store.customers, name, hang)
    reply = await gateway.call(method, path, BODY if path == SEND else b"", headers=JSON)
    assert reply.fault == (503, "13", None)
    assert int(reply.headers["retry-after"]) >= 1
    assert (await gateway.call("GET", "/health/ready", auth=None)).fault == (503, "13", None)


async def test_a_store_that_comes_back_in_the_middle_of_a_request(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that its commit has taken up is answered by that commit alone, and not by the clock."""
    monkeypatch.setattr("heliograph.api.app.AWAY_S", 0.02)
    monkeypatch.setattr(gateway.app.services, "away", lambda: True)
    gateway.intake.may_commit.clear()
    sending = asyncio.create_task(gateway.send(GOOD))
    await asyncio.sleep(0.1)
    assert not sending.done()
    gateway.intake.may_commit.set()
    assert (await sending).status == 200


@pytest.mark.parametrize(("method", "path"), OPERATIONS[1:6] + OPERATIONS[7:8])
async def test_a_store_that_is_not_there(gateway: Gateway, method: str, path: str) -> None:
    await gateway.send(GOOD)
    gateway.store.broken = True
    reply = await gateway.call(method, path, b"time=2027-01-15+09:00:00" if method == "PUT" else b"")
    assert reply.fault == (503, "13", None)


async def test_a_fault_of_ours_shows_nothing_and_is_found_by_its_id(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: Directory, destination: str) -> int:
        raise RuntimeError(f"secret {destination}")

    monkeypatch.setattr(Directory, "route", fails)
    reply = await gateway.send(GOOD)
    assert reply.fault == (500, "99", None)
    assert b"secret" not in reply.body
    (line,) = gateway.journal.lines
    assert line[:2] == ("error", "http.request_failed")
    assert line[2]["request_id"] == reply.headers["x-request-id"]
    assert "fails" in line[2]["where"]
    assert "447700900123" not in repr(line)


async def test_the_root_leads_to_the_page_for_people(gateway: Gateway) -> None:
    assert (await gateway.call("GET", "/")).status == 404
    gateway.app.home = "/console/"
    for method in ("GET", "HEAD"):
        reply = await gateway.call(method, "/")
        assert (reply.status, reply.headers["location"]) == (303, "/console/")
    assert (await gateway.call("POST", "/")).status == 404
