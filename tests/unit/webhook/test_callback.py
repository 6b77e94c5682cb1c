"""From a job to octets."""

from heliograph.adapters.webhook.callback import request
from heliograph.app.webhook_job import WebhookJob
from heliograph.domain.security.signature import sign
from heliograph.http_client.request import OriginAddress, standing_lines


def job(*secrets: bytes) -> WebhookJob:
    return WebhookJob(1, "dlr_1", "http://example.com/", b"id=1", "application/x-www-form-urlencoded", secrets)


def test_a_request_in_full() -> None:
    octets = request(job(b"k" * 32), "/dlr?x=1", standing_lines(OriginAddress(False, "example.com", 80)), 1_700_000_000)
    head, _, body = octets.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ") for line in lines)
    agent = headers.pop("User-Agent")
    assert first == "POST /dlr?x=1 HTTP/1.1"
    assert agent.startswith("Heliograph/")
    assert headers == {
        "Host": "example.com",
        "Accept": "*/*",
        "Content-Type": "application/x-www-form-urlencoded",
        "Content-Length": "4",
        "webhook-id": "dlr_1",
        "webhook-timestamp": "1700000000",
        "webhook-signature": sign(b"k" * 32, "dlr_1", 1_700_000_000, b"id=1"),
    }
    assert body == b"id=1"


def test_each_secret_signs() -> None:
    octets = request(job(b"a" * 32, b"b" * 32), "/", standing_lines(OriginAddress(False, "h", 80)), 5)
    old, new = (sign(secret, "dlr_1", 5, b"id=1") for secret in (b"a" * 32, b"b" * 32))
    assert f"webhook-signature: {old} {new}\r\n".encode() in octets


def test_the_operators_own_code_is_a_header() -> None:
    told = job(b"s" * 32)
    told.operator_code = "0x22"
    head = request(told, "/", standing_lines(OriginAddress(False, "example.com", 80)), 1).partition(b"\r\n\r\n")[0]
    assert head.split(b"\r\n")[-1] == b"heliograph-operator-code: 0x22"
    told.operator_code = ""
    head = request(told, "/", standing_lines(OriginAddress(False, "example.com", 80)), 1).partition(b"\r\n\r\n")[0]
    assert b"operator-code" not in head


def test_a_traced_callback_carries_its_context_beside_the_signature() -> None:
    traced = job(b"s" * 32)
    traced.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    head = request(traced, "/", standing_lines(OriginAddress(False, "example.com", 80)), 1).partition(b"\r\n\r\n")[0]
    assert head.split(b"\r\n")[-1] == b"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    traced.traceparent = ""
    assert b"traceparent" not in request(traced, "/", standing_lines(OriginAddress(False, "example.com", 80)), 1)
