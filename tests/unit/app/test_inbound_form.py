"""Inbound messages as webhooks carry them."""

from dataclasses import replace
from urllib.parse import parse_qs
from zoneinfo import ZoneInfo

import msgspec

from heliograph.app.configuration import Account
from heliograph.app.facts import InboundMessage
from heliograph.app.notice import Notice
from heliograph.app.notices.inbound_form import InboundRenderer
from heliograph.domain.message.ids import first_key_at
from tests.support.store import START

ACCOUNT = Account(1, "acme", "", b"secret", inbound_url="https://customer.example/mo")
MESSAGE = InboundMessage(
    1, 2, "4917012345678", "3388", "Grüße & 🦊", b"\x00\xff", 8, START, "pizza", 3, complete=False,
    key=first_key_at(START), tail=7,
)  # fmt: skip
FIELDS = {
    "id": "018bcfe5-6800-7000-8000-000000000007",
    "from": "4917012345678",
    "to": "3388",
    "content": "Grüße & 🦊",
    "binary": "00ff",
    "coding": "8",
    "time": "2023-11-15 07:13:20",
    "parts": "3",
    "complete": "no",
    "keyword": "pizza",
}
TOKYO = ZoneInfo("Asia/Tokyo")


def notice(body: bytes = b"") -> Notice:
    return Notice(1, MESSAGE.key, MESSAGE, START, body=body)


def test_a_form_has_the_fields_of_the_contract() -> None:
    owed = notice()
    job = InboundRenderer(msgspec.json.encode).job(owed, ACCOUNT, TOKYO)
    assert (job.key, job.url, job.secrets) == (MESSAGE.key, "https://customer.example/mo", (b"secret",))
    assert job.webhook_id == f"mo_{FIELDS['id']}"
    assert job.content_type == "application/x-www-form-urlencoded"
    assert {name: value for name, (value,) in parse_qs(job.body.decode()).items()} == FIELDS
    assert list(parse_qs(job.body.decode())) == list(FIELDS)
    assert owed.body == job.body


def test_json_has_the_same() -> None:
    job = InboundRenderer(msgspec.json.encode).job(notice(), replace(ACCOUNT, callback_format="json"), TOKYO)
    assert (job.content_type, msgspec.json.decode(job.body)) == ("application/json", FIELDS)


def test_a_later_try_sends_the_same_octets() -> None:
    form = InboundRenderer(msgspec.json.encode).job(notice(b"id=1"), replace(ACCOUNT, callback_format="json"), TOKYO)
    assert (form.body, form.content_type) == (b"id=1", "application/x-www-form-urlencoded")
