"""Sending: every row of the requests' table, in both body formats and both versions."""

import json
from typing import Any

import pytest

from heliograph.app.configuration import MessageTemplate
from heliograph.app.connector_kind import LanePolicy
from heliograph.app.sending.compose import SendRules
from heliograph.domain.message.extras import Extras, read_extras
from heliograph.domain.message.state import Kind
from heliograph.domain.message.tlv_rules import TlvForm, TlvRule
from heliograph.domain.message.way import Way
from heliograph.domain.text.repertoire import Repertoire
from tests.support.gateway import START, Gateway, open_gateway, set_price

GOOD = {"to": "447700900123", "from": "Helio", "content": "Hello"}

V2 = "/api/v2/messages"
JSON = {"Content-Type": "application/json"}


def but(**changes: Any) -> dict[str, Any]:
    """A good request with some fields changed; `from_` is `from`, `dlr_url` is `dlr-url`; ... leaves one out."""
    names = {"from_": "from", "dlr_url": "dlr-url"}
    fields: dict[str, Any] = GOOD | {names.get(name, name): value for name, value in changes.items()}
    return {name: value for name, value in fields.items() if value is not ...}


async def test_a_sent_message_is_answered_with_exactly_the_five_fields(gateway: Gateway) -> None:
    reply = await gateway.send(GOOD)
    assert reply.status == 200
    identifier = reply.json.pop("Id")
    assert reply.body == (
        b'{"Status":"00","Id":"%b","Rate":1,"Reference":null,"MessageStatus":"Sent"}' % identifier.encode()
    )
    assert len(identifier) == 32
    assert identifier == identifier.lower()
    assert await gateway.balance() == "999"


async def test_what_is_stored_is_what_was_asked_for(gateway: Gateway) -> None:
    await gateway.send(but(dlr="yes", dlr_url="https://example.com/x?a=1", type="flash", reference="r-1"))
    (accept,) = gateway.intake.accepted
    (message,) = accept.messages
    assert (message.destination, message.sender, message.content) == ("447700900123", "Helio", "Hello")
    assert (message.kind, message.segments, message.price) == (Kind.FLASH, 1, 1_000_000)
    assert (message.time, message.expires, message.connector) == (START, START + 48 * 3_600_000, 1)
    assert (message.wants_receipt, message.callback_url) == (True, "https://example.com/x?a=1")
    assert (message.reference, accept.reference, accept.total) == ("r-1", "r-1", 1_000_000)


@pytest.mark.parametrize("path", ["/api/v1/messages", V2, "/api/v1/messages/", "/api/v2/messages/"])
async def test_both_formats_and_versions_send(gateway: Gateway, path: str) -> None:
    assert (await gateway.send(GOOD, path)).json["MessageStatus"] == "Sent"
    assert (await gateway.send_form(GOOD, path)).json["MessageStatus"] == "Sent"


GOOD_REQUESTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (but(to=447700900123), {"destination": "447700900123"}),
    (but(to=["447700900123"]), {"destination": "447700900123"}),
    (but(to=447700900123.0), {"destination": "447700900123"}),
    (but(type=1.0), {"kind": Kind.FLASH}),
    (but(to="1234567"), {"destination": "1234567"}),
    (but(to="123456789012345"), {"destination": "123456789012345"}),
    (but(from_="abc"), {"sender": "abc"}),
    (but(from_="ABCdef12345"), {"sender": "ABCdef12345"}),
    (but(from_="447700900999"), {"sender": "447700900999"}),
    (but(from_="123456789012345"), {"sender": "123456789012345"}),
    (but(type="sms"), {"kind": Kind.TEXT}),
    (but(type="LongSMS"), {"kind": Kind.TEXT}),
    (but(type=0), {"kind": Kind.TEXT}),
    (but(type=1), {"kind": Kind.FLASH}),
    (but(type="2"), {"kind": Kind.UNICODE}),
    (but(type=None), {"kind": Kind.TEXT}),
    (but(type="binary", content="0a0B"), {"kind": Kind.BINARY, "content": "0a0B"}),
    (but(content="Hello%20World"), {"content": "Hello World"}),
    (but(content="Hello+World"), {"content": "Hello World"}),
    (but(content="1 + 1"), {"content": "1 + 1"}),
    (but(content="50% off"), {"content": "50% off"}),
    (but(content=" "), {"content": " "}),
    (but(content="\U0001f600"), {"content": "\U0001f600", "segments": 1}),
    (but(content="a" * 161), {"segments": 2, "price": 2_000_000}),
    (but(dlr=None), {"wants_receipt": False}),
    (but(dlr=""), {"wants_receipt": False}),
    (but(dlr=False), {"wants_receipt": False}),
    (but(dlr="OFF"), {"wants_receipt": False}),
    (but(dlr=True), {"wants_receipt": True, "callback_url": ""}),
    (but(dlr=1), {"wants_receipt": True}),
    (but(dlr="3"), {"wants_receipt": True}),
    (but(dlr_url="http://example.com"), {"wants_receipt": True, "callback_url": "http://example.com"}),
    (but(dlr="no", dlr_url="http://example.com"), {"wants_receipt": False, "callback_url": ""}),
    (but(dlr_url="https://[2001:db8::1]:8443/a?b=c"), {"callback_url": "https://[2001:db8::1]:8443/a?b=c"}),
    (but(reference=42), {"reference": "42"}),
    (but(reference="r" * 64), {"reference": "r" * 64}),
    (but(unheard="of", nested={"a": [1, {"b": None}]}), {"content": "Hello"}),
    (but(time=None), {"time": START}),
    (but(time="2027-01-15 08:00:01"), {"time": START + 1000}),
    (but(time="2027-01-15T08:00:01.5"), {"time": START + 1500}),
    (but(time="2027-01-15T09:00:01+01:00"), {"time": START + 1000}),
    (but(time=START // 1000 + 60), {"time": START + 60_000}),
    (but(time=str(START // 1000 + 60) + ".25"), {"time": START + 60_250}),
]


@pytest.mark.parametrize(("fields", "stored"), GOOD_REQUESTS)
async def test_a_good_request(gateway: Gateway, fields: dict[str, Any], stored: dict[str, Any]) -> None:
    reply = await gateway.send(fields)
    assert reply.status == 200, reply.body
    (message,) = gateway.intake.accepted[0].messages
    assert {name: getattr(message, name) for name in stored} == stored


BAD_REQUESTS: list[tuple[dict[str, Any], str, str]] = [
    (but(to=...), "02", "to"),
    (but(to=None), "02", "to"),
    (but(to=""), "03", "to"),
    (but(to=[]), "03", "to"),
    (but(to=[None]), "03", "to"),
    (but(to={}), "03", "to"),
    (but(to=True), "03", "to"),
    (but(to="+447700900123"), "03", "to"),
    (but(to=" 447700900123"), "03", "to"),
    (but(to="4477-00900123"), "03", "to"),
    (but(to="0447700900123"), "03", "to"),
    (but(to="123456"), "03", "to"),
    (but(to="1234567890123456"), "03", "to"),
    (but(to="44770090012³"), "03", "to"),
    (but(to="447700900123\n"), "03", "to"),
    (but(to="447700900123,"), "03", "to"),
    (but(to=4477009.5), "03", "to"),
    (but(to=-447700900123), "03", "to"),
    (but(from_=...), "02", "from"),
    (but(from_=""), "03", "from"),
    (but(from_="ab"), "03", "from"),
    (but(from_="abcdefghijkl"), "03", "from"),
    (but(from_="a b c"), "03", "from"),
    (but(from_="+447700900"), "03", "from"),
    (but(from_="1234567890123456"), "03", "from"),
    (but(from_=12345), "03", "from"),
    (but(from_="Hélio"), "03", "from"),
    (but(content=...), "02", "content"),
    (but(content=""), "03", "content"),
    (but(content=5), "03", "content"),
    (but(content="a\x00b"), "03", "content"),
    (but(content="a" * 1531), "03", "content"),
    (but(content="zz", type="binary"), "03", "content"),
    (but(content="abc", type="binary"), "03", "content"),
    (but(time=""), "03", "time"),
    (but(time="tomorrow"), "03", "time"),
    (but(time=True), "03", "time"),
    (but(time="2027-02-30 08:00:00"), "03", "time"),
    (but(time="2027-01-15 08:00:00"), "03", "time"),
    (but(time="2026-01-15 08:00:00"), "03", "time"),
    (but(time="2029-01-15 08:00:00"), "03", "time"),
    (but(time=0), "03", "time"),
    (but(time=10**30), "03", "time"),
    (but(time="9" * 100), "03", "time"),
    (but(type=""), "03", "type"),
    (but(type="voice"), "03", "type"),
    (but(type=[1]), "03", "type"),
    (but(type=True), "03", "type"),
    (but(dlr="maybe"), "03", "dlr"),
    (but(dlr=4), "03", "dlr"),
    (but(dlr=[True]), "03", "dlr"),
    (but(dlr_url=""), "03", "dlr-url"),
    (but(dlr_url=7), "03", "dlr-url"),
    (but(dlr_url="example.com/x"), "03", "dlr-url"),
    (but(dlr_url="ftp://example.com/"), "03", "dlr-url"),
    (but(dlr_url="http://user:secret@example.com/"), "03", "dlr-url"),
    (but(dlr_url="http://example.com/#part"), "03", "dlr-url"),
    (but(dlr_url="http://example.com/a b"), "03", "dlr-url"),
    (but(dlr_url="http://exämple.com/"), "03", "dlr-url"),
    (but(dlr_url="http:///path"), "03", "dlr-url"),
    (but(dlr_url="http://example.com:99999/"), "03", "dlr-url"),
    (but(dlr_url="http://example.com:0/"), "03", "dlr-url"),
    (but(dlr_url="http://[::1"), "03", "dlr-url"),
    (but(dlr_url="http://example.com/" + "a" * 2048), "03", "dlr-url"),
    (but(dlr_url="http://127.0.0.1:8000/"), "03", "dlr-url"),
    (but(dlr_url="http://[::1]/"), "03", "dlr-url"),
    (but(reference=""), "03", "reference"),
    (but(reference="r" * 65), "03", "reference"),
    (but(reference="smpp:order-17"), "03", "reference"),
    (but(reference="sending-list-3-7"), "03", "reference"),
    (but(reference="reply:019e2b1c-5f3a-7000-8c1d-e1f5a0b7c3d2"), "03", "reference"),
    (but(reference="a\tb"), "03", "reference"),
    (but(reference=True), "03", "reference"),
    (but(reference=["r"]), "03", "reference"),
]


@pytest.mark.parametrize(("fields", "status", "field"), BAD_REQUESTS)
async def test_a_bad_request(gateway: Gateway, fields: dict[str, Any], status: str, field: str) -> None:
    assert (await gateway.send(fields)).fault == (400, status, field)
    assert gateway.intake.accepted == []
    assert await gateway.balance() == "1000"


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("17", "17"), ("17.0", "17"), ("1.7e1", "17"), ("1E+3", "1000"), ("-0.0", "0"), ("1.50", "1.50"),
        ("1.50e1", "15"), ("1.55e1", "1.55e1"), ("1e-3", "1e-3"), ("1e17", "1" + 17 * "0"), ("1e18", "1e18"),
    ],
)  # fmt: skip
async def test_a_reference_may_be_any_number(gateway: Gateway, number: str, shown: str) -> None:
    body = json.dumps(GOOD)[:-1] + f',"reference":{number}}}'
    replies = [await gateway.call("POST", "/api/v1/messages", body.encode(), headers=JSON) for _ in range(2)]
    assert [(reply.status, reply.json["Reference"]) for reply in replies] == [(200, shown)] * 2
    assert replies[0].body == replies[1].body
    assert await gateway.balance() == "999"


@pytest.mark.parametrize("to", ["4.477009e11", "447700900000.0", "4477009000.00E+2", "[4.477009e11, 447700900000]"])
async def test_a_destination_may_be_written_as_any_number_that_is_whole(gateway: Gateway, to: str) -> None:
    body = json.dumps(but(to=...))[:-1] + f',"to":{to},"dlr":1e0}}'
    reply = await gateway.call("POST", "/api/v1/messages", body.encode(), headers=JSON)
    assert reply.status == 200, reply.body
    (message,) = gateway.intake.accepted[0].messages
    assert (message.destination, message.wants_receipt) == ("447700900000", True)


@pytest.mark.parametrize("number", ["1e99999999999999999999", "-1e99999999999999999999", "1e-99999999999999999999"])
async def test_a_time_beyond_all_bounds(gateway: Gateway, number: str) -> None:
    body = json.dumps(GOOD)[:-1] + f',"time":{number}}}'
    reply = await gateway.call("POST", "/api/v1/messages", body.encode(), headers=JSON)
    assert reply.fault == (400, "03", "time")


@pytest.mark.parametrize("field", ["time", "type", "reference", "dlr-url", "dlr"])
async def test_an_empty_optional_field_of_a_form_is_absent(gateway: Gateway, field: str) -> None:
    reply = await gateway.send_form(GOOD | {field: ""})
    assert (reply.status, reply.json["MessageStatus"], reply.json["Reference"]) == (200, "Sent", None)


async def test_fields_are_checked_in_their_order(gateway: Gateway) -> None:
    bad = {
        "to": "x", "from": "", "content": "", "time": "x", "type": "x", "dlr": "x", "dlr-url": "x", "reference": "\t",
    }  # fmt: skip
    good = GOOD | {
        "time": "2027-01-16 00:00:00", "type": "text", "dlr": "yes", "dlr-url": "http://example.com", "reference": "r",
    }  # fmt: skip
    seen = []
    for field in bad:
        seen.append((await gateway.send(bad)).fault[2])
        bad[field] = good[field]
    assert seen == list(bad)


async def test_the_message_says_what_is_wrong(gateway: Gateway) -> None:
    assert "+" in (await gateway.send(but(to="+447700900123"))).json["Message"]
    assert "11 segments" in (await gateway.send(but(content="a" * 1531))).json["Message"]
    listed = (await gateway.send(but(type="voice"))).json["Message"]
    assert all(word in listed for word in ("text", "unicode", "flash", "binary", "longsms"))
    assert "loopback" in (await gateway.send(but(dlr_url="http://127.0.0.1/"))).json["Message"]


# --- several destinations


@pytest.mark.parametrize(
    "to",
    [
        ["447700900123", "33612345678"],
        [447700900123, "33612345678", "447700900123"],
        "447700900123,33612345678",
        "447700900123 , 33612345678,447700900123",
    ],
)
async def test_several_destinations(gateway: Gateway, to: Any) -> None:
    await set_price(gateway, "33", "0.035")
    reply = await gateway.send(but(to=to, content="a" * 161))
    assert b'"Rate":2.07,' in reply.body
    first, second = reply.json["Messages"]
    assert first == {
        "Status": "00", "Id": first["Id"], "To": "447700900123", "Rate": 2, "MessageStatus": "Sent",
    }  # fmt: skip
    assert (second["To"], second["Rate"]) == ("33612345678", "0.07")
    assert reply.json["Id"] < first["Id"] < second["Id"]
    assert await gateway.balance() == "997.93"


async def test_a_form_repeats_to(gateway: Gateway) -> None:
    reply = await gateway.send_form(but(to=["447700900123", "33612345678, 33612345679"]))
    assert [each["To"] for each in reply.json["Messages"]] == ["447700900123", "33612345678", "33612345679"]


async def test_a_batch_is_all_or_nothing_and_names_the_bad_ones(gateway: Gateway) -> None:
    reply = await gateway.send(but(to=["447700900123", "+1", "abc"]))
    assert reply.fault == (400, "03", "to")
    assert "'+1'" in reply.json["Message"]
    assert "'abc'" in reply.json["Message"]
    assert "447700900123'" not in reply.json["Message"]


async def test_a_request_may_name_so_many_destinations() -> None:
    gateway = await open_gateway(rules=SendRules(max_destinations=3))
    numbers = [str(447700900000 + n) for n in range(4)]
    assert (await gateway.send(but(to=numbers))).fault == (400, "03", "to")
    assert (await gateway.send(but(to=numbers[:3] * 2))).status == 200


async def test_a_thousand_destinations(gateway: Gateway) -> None:
    numbers = [str(447700900000 + n) for n in range(1000)]
    assert len((await gateway.send(but(to=numbers))).json["Messages"]) == 1000
    assert await gateway.balance() == "0"
    assert (await gateway.send(GOOD)).fault == (402, "05", None)


# --- routes and prices


async def test_a_destination_without_a_route_is_named() -> None:
    gateway = await open_gateway(routes=("44",))
    reply = await gateway.send(but(to="447700900123,33612345678"))
    assert reply.fault == (400, "03", "to")
    assert "33612345678" in reply.json["Message"]


async def test_an_own_plan_goes_first_and_the_default_plan_after_it(gateway: Gateway) -> None:
    await set_price(gateway, "44", "0.5", plan="bulk")
    await set_price(gateway, "33", "0.25")
    await gateway.change_account(plan="bulk")
    assert (await gateway.send(but(to="447700900123"))).json["Rate"] == "0.5"
    assert (await gateway.send(but(to="33612345678"))).json["Rate"] == "0.25"
    assert (await gateway.send(but(to="49301234567"))).fault == (400, "03", "to")
    await gateway.change_account(plan="default")
    assert (await gateway.send(but(to="49301234567"))).json["Rate"] == 1


# --- the account


async def test_a_sender_that_is_not_allowed(gateway: Gateway) -> None:
    await gateway.change_account(senders=("Other",))
    assert (await gateway.send(GOOD)).fault == (403, "06", "from")
    assert (await gateway.send(but(from_="Other"))).status == 200


async def test_the_account_decides_how_content_is_decoded(gateway: Gateway) -> None:
    await gateway.change_account(content_decoding="never")
    await gateway.send(but(content="a%20b"))
    await gateway.change_account(content_decoding="always")
    await gateway.send(but(content="a%20b c"))
    assert [accept.messages[0].content for accept in gateway.intake.accepted] == ["a%20b", "a b c"]
    assert (await gateway.send(but(content="%ff"))).fault == (400, "03", "content")


async def test_a_form_is_decoded_once_whatever_the_account_says(gateway: Gateway) -> None:
    await gateway.change_account(content_decoding="always")
    await gateway.send_form(but(content="100%25 + 1"))
    assert gateway.intake.accepted[0].messages[0].content == "100%25 + 1"


async def test_a_receipt_goes_to_the_accounts_own_url_on_v1(gateway: Gateway) -> None:
    await gateway.change_account(callback_url="https://acme.example/dlr")
    await gateway.send(but(dlr="yes"))
    await gateway.send(but(dlr="no"))
    urls = [accept.messages[0].callback_url for accept in gateway.intake.accepted]
    assert urls == ["https://acme.example/dlr", ""]


async def test_time_is_in_the_accounts_zone(gateway: Gateway) -> None:
    await gateway.change_account(timezone="Europe/Berlin")
    reply = await gateway.send(but(time="2027-01-15 09:30:00"))
    assert reply.json["MessageStatus"] == "Scheduled"
    assert gateway.intake.accepted[0].messages[0].time == START + 1_800_000
    assert (await gateway.send(but(time="2027-03-28 02:30:00"))).fault == (400, "03", "time")


async def test_an_account_is_held_to_its_rate(gateway: Gateway) -> None:
    await gateway.change_account(rate=2.0)
    assert [(await gateway.send(GOOD)).status for _ in range(3)] == [200, 200, 429]
    reply = await gateway.send(GOOD)
    assert reply.fault == (429, "12", None)
    assert int(reply.headers["retry-after"]) == 1
    gateway.clock.forward(1)
    assert (await gateway.send(but(to="4477009001,4477009002,4477009003,4477009004"))).status == 200
    gateway.clock.forward(0.9)
    assert (await gateway.send(GOOD)).status == 429
    gateway.clock.forward(1.1)
    assert (await gateway.send(GOOD)).status == 200


async def test_a_suspended_account(gateway: Gateway) -> None:
    await gateway.send(GOOD)
    await gateway.change_account(suspended=True)
    assert (await gateway.send(GOOD)).fault == (403, "06", None)
    await gateway.change_account(suspended=False)
    assert (await gateway.send(GOOD)).status == 200


async def test_credit_is_checked_last(gateway: Gateway) -> None:
    await gateway.change_account(credit_limit=-1_000_000_000)
    assert (await gateway.send(GOOD)).fault == (402, "05", None)
    assert (await gateway.send(but(reference="\t"))).fault == (400, "03", "reference")
    assert await gateway.balance() == "1000"


# --- v2


async def test_v2_does_not_schedule(gateway: Gateway) -> None:
    assert (await gateway.send(but(time="2027-01-16 00:00:00"), V2)).fault == (400, "03", "time")
    assert (await gateway.send_form(but(time=""), V2)).status == 200


async def test_v2_wants_a_url_for_a_receipt(gateway: Gateway) -> None:
    await gateway.change_account(callback_url="https://acme.example/dlr")
    assert (await gateway.send(but(dlr="yes"), V2)).fault == (400, "02", "dlr-url")
    assert (await gateway.send(but(dlr="no"), V2)).status == 200
    assert (await gateway.send(but(dlr="yes", dlr_url="http://example.com"), V2)).status == 200


async def test_v2_takes_no_number_as_a_sender(gateway: Gateway) -> None:
    assert (await gateway.send(but(from_="447700900999"), V2)).fault == (400, "03", "from")
    assert (await gateway.send(but(from_="44770090099"), V2)).status == 200


# --- the store


async def test_a_store_that_cannot_write(gateway: Gateway) -> None:
    await gateway.send(GOOD)
    gateway.store.broken = True
    reply = await gateway.send(GOOD)
    assert reply.fault == (503, "13", None)
    assert int(reply.headers["retry-after"]) >= 1
    gateway.store.broken = False
    assert await gateway.balance() == "999"


async def test_a_full_intake(gateway: Gateway) -> None:
    gateway.intake.full = True
    reply = await gateway.send(GOOD)
    assert reply.fault == (503, "13", None)
    assert reply.headers["retry-after"] == "1"


# --- again


async def test_the_answer_to_a_repeated_request_says_that_it_is_one(gateway: Gateway) -> None:
    named = but(reference="r-1")
    first = await gateway.send(named)
    assert "idempotency-replayed" not in first.headers
    again = await gateway.send(named)
    assert (again.body, again.headers["idempotency-replayed"]) == (first.body, "true")
    await gateway.change_account(credit_limit=-1_000_000_000)
    assert (await gateway.send(named)).headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in (await gateway.send(but(reference="r-2"))).headers


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        (but(time=START // 1000 + 60), "03", "time"),
        (but(from_="447700900999"), "03", "from"),
        (but(dlr="yes"), "02", "dlr-url"),
    ],
)
async def test_v2_refuses_what_it_never_takes_though_v1_took_it_under_its_reference(
    gateway: Gateway, fields: dict[str, Any], status: str, field: str
) -> None:
    named = fields | {"reference": "r-1"}
    assert (await gateway.send(named)).status == 200
    assert (await gateway.send(named, V2)).fault == (400, status, field)
    assert (await gateway.send(named)).headers["idempotency-replayed"] == "true"


# --- quotes


@pytest.mark.parametrize("kind", ["text", "flash"])
@pytest.mark.parametrize(
    ("alphabet", "content", "encoding", "segments"),
    [
        ("gsm", "€" + "x" * 80, "GSM-7", 1),
        ("latin1", "ü" + "x" * 80, "GSM-7", 1),
        ("latin1", "€" + "x" * 80, "UCS-2", 2),
        ("latin1", "€" + "x" * 69, "UCS-2", 1),
        ("ascii", "ü" + "x" * 80, "UCS-2", 2),
        ("ascii", "{[~" + "x" * 80, "GSM-7", 1),
        ("ascii", "ü" + "x" * 200, "UCS-2", 3),
    ],
)
async def test_what_the_operators_alphabet_lacks_goes_as_ucs2_and_costs_so(
    alphabet: str, content: str, encoding: str, segments: int, kind: str
) -> None:
    gateway = await open_gateway(policy=LanePolicy(repertoire=Repertoire(alphabet)))
    quote = (await gateway.send(but(content=content, type=kind), "/api/v1/messages/quote")).json
    assert (quote["Encoding"], quote["Segments"], quote["Rate"]) == (encoding, segments, segments)
    assert [each["Segments"] for each in quote["Messages"]] == [segments]
    assert (await gateway.send(but(content=content, type=kind))).json["Rate"] == segments
    assert gateway.intake.accepted[0].messages[0].segments == segments


async def test_what_would_take_too_many_segments_in_the_operators_alphabet_is_refused_before_it_is_charged() -> None:
    gateway = await open_gateway(policy=LanePolicy(repertoire=Repertoire("latin1")), rules=SendRules(max_segments=2))
    reply = await gateway.send(but(content="€" + "x" * 160))
    assert reply.status == 400
    assert (
        "The operator's alphabet lacks letters of the content, which takes 3 segments as UCS-2" in reply.body.decode()
    )
    assert gateway.intake.accepted == []


async def test_a_quote_costs_nothing_and_sends_nothing(gateway: Gateway) -> None:
    await set_price(gateway, "44", "0.7")
    reply = await gateway.send(but(content="a" * 161), "/api/v1/messages/quote")
    assert reply.body == (
        b'{"Status":"00","Rate":1.4,"Encoding":"GSM-7","Segments":2,'
        b'"Messages":[{"To":"447700900123","Rate":1.4,"Segments":2}]}'
    )
    assert (await gateway.balance(), gateway.intake.accepted) == ("1000", [])
    unicode = await gateway.send_form(but(content="ж"), "/api/v1/messages/quote")
    assert unicode.json["Encoding"] == "UCS-2"
    binary = await gateway.send(but(content="00", type="binary"), "/api/v1/messages/quote")
    assert binary.json["Encoding"] == "binary"


@pytest.mark.parametrize(("fields", "status", "field"), BAD_REQUESTS[::7])
async def test_a_quote_is_validated_as_a_send(
    gateway: Gateway, fields: dict[str, Any], status: str, field: str
) -> None:
    assert (await gateway.send(fields, "/api/v1/messages/quote")).fault == (400, status, field)


@pytest.mark.parametrize("path", ["/api/v1/messages", "/api/v1/messages/quote"])
async def test_a_price_that_nobody_can_mean_is_told_before_the_store_meets_it(gateway: Gateway, path: str) -> None:
    await gateway.change_account(credit_limit=10**18)
    await set_price(gateway, "44", "1000000000")
    assert (await gateway.send(but(to="447700900123"), path)).status == 200
    for much in (but(to=["447700900123", "447700900124"]), but(content="a" * 161)):
        reply = await gateway.send(much, path)
        assert reply.fault == (400, "03", "to")
        assert "This costs 2000000000," in reply.json["Message"]


@pytest.mark.parametrize(
    ("repertoire", "content", "encoding", "language", "segments"),
    [
        (Repertoire(latin1=True), "ë" * 140, "Latin-1", None, 1),
        (Repertoire(latin1=True), "ë" * 70, "UCS-2", None, 1),
        (Repertoire(tables=((0, 1), (1, 1))), "ğ" * 145, "GSM-7", "Turkish", 1),
        (Repertoire(tables=((0, 6), (6, 6))), "नमस्ते " * 20, "GSM-7", "Hindi", 1),
        (Repertoire(latin1=True, tables=((0, 2),)), "ж" * 71, "UCS-2", None, 2),
    ],
)
async def test_a_quote_tells_the_alphabet_that_takes_the_fewest_segments(
    repertoire: Repertoire, content: str, encoding: str, language: str | None, segments: int
) -> None:
    gateway = await open_gateway(policy=LanePolicy(repertoire=repertoire))
    quote = (await gateway.send(but(content=content), "/api/v1/messages/quote")).json
    assert (quote["Encoding"], quote.get("Language"), quote["Segments"]) == (encoding, language, segments)
    assert (await gateway.send(but(content=content))).json["Rate"] == segments


CURLY = "\u201cIt\u2019s" + "x" * 100 + "\u201d"


async def test_signs_are_replaced_where_the_account_wants_it_and_the_quote_tells(gateway: Gateway) -> None:
    assert (await gateway.send(but(content=CURLY))).json["Rate"] == 2
    await gateway.change_account(smart="on")
    quote = (await gateway.send(but(content=CURLY), "/api/v1/messages/quote")).json
    plainer = "\"It's" + "x" * 100 + '"'
    assert (quote["Encoding"], quote["Segments"], quote["Content"]) == ("GSM-7", 1, plainer)
    assert (await gateway.send(but(content=CURLY))).json["Rate"] == 1
    assert gateway.intake.accepted[-1].messages[0].content == plainer
    for same in (CURLY + "ж", "\u201cshort\u201d ж", "plain"):
        quote = (await gateway.send(but(content=same), "/api/v1/messages/quote")).json
        assert "Content" not in quote
    unicode = (await gateway.send(but(content=CURLY, type="unicode"), "/api/v1/messages/quote")).json
    assert unicode["Segments"] == 2


# --- other spellings

SPELLED = {"To": "+49 170-1234567", "FROM": "Heliograph", "Content": "hi", "dlrUrl": "https://example.com/r"}


async def test_a_relaxed_account_spells_as_its_client_does(gateway: Gateway) -> None:
    refused = await gateway.send(SPELLED)
    assert refused.status == 400
    await gateway.change_account(relaxed="on")
    for answer in (await gateway.send(SPELLED), await gateway.send_form(SPELLED)):
        assert answer.status == 200, answer.json
        [message] = gateway.intake.accepted[-1].messages
        assert (message.destination, message.sender, message.content) == ("491701234567", "Heliograph", "hi")
        assert message.callback_url == "https://example.com/r"
    # spellings of a number are a single destination
    several = but(to=["+491701234567", "0049 (0)170 1234567", "491701234568"])
    assert [each["To"] for each in (await gateway.send(several)).json["Messages"]] == ["491701234567", "491701234568"]
    assert (await gateway.send(but(**{"from": "+49 170 99"}))).status == 200
    assert gateway.intake.accepted[-1].messages[0].sender == "4917099"
    # text stays text, and other fields are ignored as before
    assert (await gateway.send(but(content="+49 170", color="blue"))).status == 200
    assert gateway.intake.accepted[-1].messages[0].content == "+49 170"


async def test_a_relaxed_account_gives_each_field_once(gateway: Gateway) -> None:
    await gateway.change_account(relaxed="on")
    for send in (gateway.send, gateway.send_form):
        refused = await send(but(To="491701234568"))
        assert (refused.status, refused.json["Field"]) == (400, "To")
    assert gateway.intake.accepted == []
    refused = await gateway.send({**SPELLED, "To": "+49 170 x"})
    assert (refused.status, refused.json["Field"]) == (400, "to")


# --- wishes

TLVS = (TlvRule(0x1400, 0x1400, "entity", TlvForm.TEXT), TlvRule(0x1500, 0x15FF))
WISHING = but(type="binary", content="0106")


@pytest.mark.parametrize("path", ["/api/v1/messages", V2])
async def test_wishes_are_stored_with_the_message(path: str) -> None:
    gateway = await open_gateway(policy=LanePolicy(tlvs=TLVS))
    elements = bytes.fromhex("05040b8423f0")
    expected = Extras(2, 0xF5, elements, {"entity": "110", "0x1501": {"hex": "0102"}}, progress=True)
    url = {"dlr-url": "https://example.com/r"}
    wishes = {"priority": 2, "udh": "0605040B8423F0", "coding": "0xF5", "validity": 600, "progress": True} | url
    tlvs = {"entity": "110", "0x1501": {"hex": "0102"}}
    assert (await gateway.send(WISHING | wishes | {"tlvs": tlvs}, path)).status == 200
    [message] = gateway.intake.accepted[-1].messages
    assert read_extras(message.extras) == expected
    assert gateway.directory.tlvs_over(message.connector, message) == ((0x1400, b"110\0"), (0x1501, b"\1\2"))
    assert message.expires == message.time + 600_000
    assert (await gateway.send(but(validity=90.5))).status == 200
    assert gateway.intake.accepted[-1].messages[0].expires == message.time + 90_500
    form = {name: str(value) for name, value in wishes.items()} | {"tlv_entity": "110", "tlv_5377": "x"}
    assert (await gateway.send_form(WISHING | form, path)).status == 200
    [message] = gateway.intake.accepted[-1].messages
    assert gateway.directory.tlvs_over(message.connector, message) == ((0x1400, b"110\0"), (0x1501, b"x"))


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"validity": 59}, "validity"),
        ({"validity": 172_801}, "validity"),
        ({"validity": "2027-01-15 07:59:59"}, "validity"),
        ({"validity": "soon"}, "validity"),
        ({"validity": True}, "validity"),
        ({"priority": 4}, "priority"),
        ({"priority": -1}, "priority"),
        ({"priority": "high"}, "priority"),
        ({"udh": "0605040B8423"}, "udh"),
        ({"udh": "06 05040B8423F0"}, "udh"),
        ({"udh": "zz"}, "udh"),
        ({"udh": 5}, "udh"),
        ({"coding": 256, "type": "binary", "content": "00"}, "coding"),
        ({"coding": 8}, "coding"),
        ({"tlvs": "x"}, "tlvs"),
        ({"tlvs": {"0x1600": "x"}}, "tlvs"),
        ({"progress": "maybe"}, "progress"),
        ({"progress": "yes"}, "progress"),
        ({"udh": "0500030A0201", "content": "x" * 154}, "content"),
        ({"udh": "0605040B8423F0", "content": "x" * 1500}, "content"),
    ],
)
async def test_a_wish_that_cannot_be_met_is_refused(wish: dict[str, Any], field: str) -> None:
    gateway = await open_gateway(policy=LanePolicy(tlvs=TLVS))
    assert (await gateway.send(GOOD | wish)).fault == (400, "03", field)
    assert gateway.intake.accepted == []


async def test_wishes_are_checked_last_and_empty_ones_of_a_form_are_none(gateway: Gateway) -> None:
    bad = but(priority=9, reference="")
    assert (await gateway.send(bad)).fault == (400, "03", "reference")
    empty = dict.fromkeys(("validity", "priority", "udh", "coding", "progress"), "")
    assert (await gateway.send_form(GOOD | empty)).status == 200
    assert gateway.intake.accepted[-1].messages[0].extras == ""


async def test_a_header_takes_room_in_each_segment(gateway: Gateway) -> None:
    for length, segments in ((152, 1), (153, 2), (292, 2), (293, 3)):
        reply = await gateway.send(but(udh="0605040B8423F0", content="x" * length), "/api/v1/messages/quote")
        assert reply.json["Segments"] == segments, length


async def test_wishes_are_part_of_what_a_reference_stands_for(gateway: Gateway) -> None:
    named = but(reference="r-9")
    assert (await gateway.send(named | {"priority": 1})).status == 200
    assert (await gateway.send(named | {"priority": 1})).headers["idempotency-replayed"] == "true"
    assert (await gateway.send(named | {"priority": 2})).fault == (409, "09", "reference")
    assert (await gateway.send(named)).fault == (409, "09", "reference")


async def test_a_rescheduled_message_is_valid_for_as_long(gateway: Gateway) -> None:
    reply = await gateway.send(but(time=str(START // 1000 + 60), validity=600))
    sent = gateway.intake.accepted[-1].messages[0]
    path, moved = f"/api/v1/messages/{reply.json['Id']}", f"time={START // 1000 + 120}".encode()
    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert (await gateway.call("PUT", path, moved, headers=kind)).status == 200
    message = await gateway.store.customers.message(sent.account, sent.key, sent.tail)
    assert message is not None
    assert (message.time, message.expires) == (START + 120_000, START + 720_000)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("dlr_url", "dlr-url"), ("dlrUrl", "dlr-url"), ("From", "from"), ("Dlr URL", "dlr-url"), ("UDH", "udh")],
)
async def test_a_name_that_is_nearly_a_fields_is_refused(gateway: Gateway, name: str, meant: str) -> None:
    for reply in (await gateway.send(GOOD | {name: "x"}), await gateway.send_form(GOOD | {name: "x"}, V2)):
        assert reply.fault == (400, "03", name)
        assert f"did you mean {meant}?" in reply.json["Message"]
    assert gateway.intake.accepted == []
    bad = await gateway.send(but(to="x") | {name: "x"})
    assert bad.fault == (400, "03", "to")


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("content", "text"), ("content", "Message"), ("content", "body"), ("from", "sender"), ("from", "sender_id"),
        ("from", "source"), ("to", "recipient"), ("to", "phone-number"), ("to", "msisdn"),
    ],
)  # fmt: skip
async def test_a_missing_field_that_other_gateways_call_otherwise_is_named(
    gateway: Gateway, field: str, other: str
) -> None:
    named = {other if name == field else name: value for name, value in GOOD.items()}
    for reply in (await gateway.send(named), await gateway.send_form(named, V2)):
        assert reply.fault == (400, "02", field)
        assert reply.json["Message"] == (
            f"The field {field} is missing; it is required here. There is no field {other}; did you mean {field}?"
        )
    alone = await gateway.send({other: "x"})
    assert alone.fault == (400, "02", "to"), "the order of checks stays"
    unreadable = await gateway.send(named | {field: True})
    assert (unreadable.fault, "did you mean" in unreadable.json["Message"]) == ((400, "03", field), False)
    assert (await gateway.send(GOOD | {other: "x"})).status == 200
    assert (await gateway.send(named | {field: None})).json["Message"].endswith(f"did you mean {field}?")
    assert (await gateway.send(named | {"to": "1"})).fault == (400, "03", "to")


async def test_a_missing_field_in_another_spelling_is_named(gateway: Gateway) -> None:
    refused = await gateway.send({"To": GOOD["to"], "from": "Acme", "content": "x"})
    assert refused.fault == (400, "02", "to")
    assert refused.json["Message"].endswith("There is no field To; did you mean to?")


async def test_other_names_are_nobodys_business(gateway: Gateway) -> None:
    assert (await gateway.send(GOOD | {"campaign": "x", "dlr-method": "POST"})).status == 200


# --- templates

REGISTERED = (*TLVS, TlvRule(0x1401, 0x1401, "template", TlvForm.TEXT))
CODE = MessageTemplate(0, "code", "Your code is {#numeric#}.\nHelio", "Helio", 0, {"entity": "110", "template": "117"})


async def with_templates(*templates: MessageTemplate) -> Gateway:
    gateway = await open_gateway(policy=LanePolicy(tlvs=REGISTERED, needs_templates=True))
    for template in templates:
        await gateway.store.templates.add(template)
    await gateway.directory.refresh()
    return gateway


@pytest.mark.parametrize("path", ["/api/v1/messages", V2])
@pytest.mark.parametrize("kind", ["text", "unicode", "flash"])
async def test_a_text_that_fits_its_template_goes_with_its_tlvs(path: str, kind: str) -> None:
    gateway = await with_templates(CODE)
    text = but(content=" Your code is 4711.\r\nHelio", type=kind, **{"from": "Helio"})
    assert (await gateway.send(text, path)).status == 200
    [message] = gateway.intake.accepted[-1].messages
    assert message.extras == ""
    assert gateway.directory.tlvs_over(message.connector, message) == ((0x1400, b"110\0"), (0x1401, b"117\0"))
    assert message.content == text["content"]
    own = text | {"tlvs": {"template": "118", "0x1501": "x"}, "priority": 1}
    assert (await gateway.send(own, path)).status == 200
    [message] = gateway.intake.accepted[-1].messages
    assert read_extras(message.extras).priority == 1
    own_win = ((0x1400, b"110\0"), (0x1401, b"118\0"), (0x1501, b"x"))
    assert gateway.directory.tlvs_over(message.connector, message) == own_win


@pytest.mark.parametrize("path", ["/api/v1/messages", V2, "/api/v1/messages/quote"])
async def test_a_text_that_fits_no_template_is_refused_before_the_charge(path: str) -> None:
    gateway = await with_templates(CODE)
    before = await gateway.balance()
    refused = await gateway.send(but(content="Your code is 47 11.\nHelio", **{"from": "Helio"}), path)
    assert refused.fault == (400, "03", "content")
    assert refused.json["Message"] == (
        "The content fits no registered template of the sender. The nearest is code: at character 14 the template has "
        '{#numeric#} (1 to 30 digits) and then ".\\nHelio", and the text "47 11.\\nHelio".'
    )
    other = await gateway.send(but(content="Your code is 4711.\nHelio", **{"from": "Other"}), path)
    assert other.fault == (400, "03", "from")
    assert gateway.intake.accepted == []
    assert await gateway.balance() == before


async def test_templates_are_asked_in_the_order_of_the_fields() -> None:
    gateway = await with_templates(CODE)
    bad = but(content="x", time="never", **{"from": "Other"})
    assert (await gateway.send(bad)).fault == (400, "03", "from")
    assert (await gateway.send(bad | {"from": "Helio"})).fault == (400, "03", "content")
    assert (await gateway.send(bad | {"from": "Helio", "reference": 5})).fault == (400, "03", "content")
    assert (await gateway.send(bad | {"from": "Helio", "to": 5})).fault == (400, "03", "to")
    fitting = bad | {"from": "Helio", "content": "Your code is 1.\nHelio"}
    assert (await gateway.send(fitting)).fault == (400, "03", "time")
    assert (await gateway.send(fitting | {"type": "other"})).fault == (400, "03", "time")


async def test_binary_messages_need_no_template() -> None:
    gateway = await with_templates()
    assert (await gateway.send(WISHING)).status == 200
    assert gateway.intake.accepted[-1].messages[0].extras == ""
    assert (await gateway.send(GOOD)).fault == (400, "03", "from")


async def test_all_messages_of_a_batch_have_the_tlvs() -> None:
    gateway = await with_templates(CODE)
    numbers = [f"49170123456{n}" for n in range(5)]
    reply = await gateway.send(but(to=numbers, content="Your code is 1.\nHelio", **{"from": "Helio"}))
    assert reply.status == 200
    messages = gateway.intake.accepted[-1].messages
    assert {len(gateway.directory.tlvs_over(message.connector, message)) for message in messages} == {2}


async def test_tlvs_of_the_request_and_its_template_are_bounded_together() -> None:
    gateway = await with_templates(CODE)
    tlvs = {f"0x15{n:02x}": "x" for n in range(15)}
    text = but(content="Your code is 1.\nHelio", tlvs=tlvs, **{"from": "Helio"})
    assert (await gateway.send(text)).fault == (400, "03", "tlvs")
    del tlvs["0x1500"]
    assert (await gateway.send(text)).status == 200


async def test_a_typographic_sign_is_replaced_before_the_template_is_asked() -> None:
    gateway = await with_templates(MessageTemplate(0, "quote", "It's {#var#}{#var#}{#var#}"))
    curly = but(content="It\u2019s " + "x" * 70)
    assert (await gateway.send(curly)).fault == (400, "03", "content")
    await gateway.change_account(smart="on")
    assert (await gateway.send(curly)).status == 200


async def test_an_operator_is_asked_for_receipts_that_nobody_is_told_of() -> None:
    gateway = await open_gateway(policy=LanePolicy(asks_receipts=True))
    await gateway.send(GOOD)
    await gateway.send(but(dlr="yes", dlr_url="https://example.com/r"))
    messages = [accept.messages[0] for accept in gateway.intake.accepted]
    assert [message.wants_receipt for message in messages] == [True, True]
    assert [message.way for message in messages] == [Way.NONE, Way.WEBHOOK]
