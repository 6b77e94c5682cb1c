"""Customers read and change the list of phones that opted out."""

import pytest

from heliograph.domain.message.ids import first_key_at
from tests.support.gateway import START, Gateway, basic

SUPPRESSIONS = "/account/v1/suppressions"
PHONE, OTHER = "491701234567", "447700900123"
GOOD = {"to": PHONE, "from": "Heliograph", "content": "Hello, world"}


async def listed(gateway: Gateway, query: str = "") -> list[str]:
    reply = await gateway.call("GET", SUPPRESSIONS, query=query)
    assert reply.status == 200, reply.body
    assert reply.json["count"] == len(reply.json["suppressions"])
    return [each["Number"] for each in reply.json["suppressions"]]


async def test_a_suppression_has_exactly_these_fields(gateway: Gateway) -> None:
    await gateway.change_account(timezone="Asia/Tokyo")
    await gateway.store.suppressions.suppress(1, [PHONE], "message", START)
    one = f'{{"Number":"{PHONE}","Since":"2027-01-15 17:00:00","Source":"message"}}'
    reply = await gateway.call("GET", SUPPRESSIONS)
    assert reply.body.decode() == f'{{"count":1,"suppressions":[{one}]}}'
    for form in (PHONE, f"+{PHONE}", f"{PHONE}/"):
        assert (await gateway.call("GET", f"{SUPPRESSIONS}/{form}")).body.decode() == one


async def test_nothing_is_sent_to_a_number_from_then_on(gateway: Gateway) -> None:
    reply = await gateway.call("PUT", f"{SUPPRESSIONS}/+{PHONE}")
    one = f'{{"Number":"{PHONE}","Since":"2027-01-15 08:00:00","Source":"api"}}'
    assert (reply.status, reply.body.decode()) == (200, one)
    assert (await gateway.send(GOOD)).fault == (403, "06", "to")
    assert (await gateway.send(GOOD, auth="other")).status == 200
    both = (await gateway.send(GOOD | {"to": [PHONE, OTHER]})).json
    assert [(each["Status"], each["MessageStatus"]) for each in both["Messages"]] == [("06", "Failed"), ("00", "Sent")]
    assert await gateway.balance() == "999"
    reply = await gateway.call("DELETE", f"{SUPPRESSIONS}/{PHONE}")
    assert (reply.status, reply.body) == (200, b'{"Status":"00"}')
    assert (await gateway.send(GOOD)).status == 200


async def test_what_is_scheduled_is_cancelled_and_refunded(gateway: Gateway) -> None:
    sent = await gateway.send(GOOD | {"time": "2027-01-15 09:00:00"})
    assert await gateway.balance() == "999"
    await gateway.call("PUT", f"{SUPPRESSIONS}/{PHONE}")
    assert await gateway.balance() == "1000"
    assert (await gateway.call("GET", f"/api/v1/messages/{sent.json['Id']}")).json["Status"] == "Cancelled"


async def test_what_waits_in_this_process_is_withdrawn_at_once(gateway: Gateway) -> None:
    await gateway.call("PUT", f"{SUPPRESSIONS}/{PHONE}")
    assert gateway.withdrawn == [(1, PHONE, first_key_at(START + 1))]


async def test_the_first_suppression_stays(gateway: Gateway) -> None:
    await gateway.store.suppressions.suppress(1, [PHONE], "message", START - 3_600_000)
    reply = await gateway.call("PUT", f"{SUPPRESSIONS}/{PHONE}")
    assert reply.json == {"Number": PHONE, "Since": "2027-01-15 07:00:00", "Source": "message"}
    assert gateway.withdrawn == []
    assert await listed(gateway) == [PHONE]


async def test_pages_follow_each_other(gateway: Gateway) -> None:
    numbers = [f"49170000000{n}" for n in range(5)]
    for number in reversed(numbers):
        await gateway.call("PUT", f"{SUPPRESSIONS}/{number}")
    await gateway.call("PUT", f"{SUPPRESSIONS}/{PHONE}", auth="other")
    assert await listed(gateway) == numbers
    assert await listed(gateway, "limit=2") == numbers[:2]
    assert await listed(gateway, f"after={numbers[1]}&limit=2") == numbers[2:4]
    assert await listed(gateway, "after=49170000000&limit=") == numbers
    assert await listed(gateway, f"after={numbers[4]}") == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("after=x", "after"),
        ("after=%2B49170", "after"),
        (f"after={'4' * 16}", "after"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("wait=1", "wait"),
    ],
)
async def test_what_cannot_be_meant_is_refused(gateway: Gateway, query: str, field: str) -> None:
    assert (await gateway.call("GET", SUPPRESSIONS, query=query)).fault == (400, "03", field)


@pytest.mark.parametrize(
    "text", ["x", "123456", "0" * 9, "4" * 16, "++491701234567", "49 1701234567", "\u0664917012345"]
)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_what_is_no_number_is_refused(gateway: Gateway, method: str, text: str) -> None:
    reply = await gateway.call(method, f"{SUPPRESSIONS}/{text}")
    assert reply.fault == (400, "03", "number")
    assert reply.json["Message"].startswith("The number ")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_the_number_is_not_suppressed(gateway: Gateway, method: str) -> None:
    await gateway.call("PUT", f"{SUPPRESSIONS}/{PHONE}", auth="other")
    reply = await gateway.call(method, f"{SUPPRESSIONS}/{PHONE}")
    assert reply.fault == (404, "07", None)
    assert reply.json["Message"] == "The number is not suppressed in this account."


async def test_nobody_else_may_ask(gateway: Gateway) -> None:
    assert (await gateway.call("GET", SUPPRESSIONS, auth=None)).fault == (401, "04", None)
    assert (await gateway.call("PUT", f"{SUPPRESSIONS}/{PHONE}", auth=basic("acme", "no"))).fault == (401, "04", None)
    assert (await gateway.call("POST", SUPPRESSIONS)).fault == (405, "08", None)
    assert (await gateway.call("POST", f"{SUPPRESSIONS}/{PHONE}")).fault == (405, "08", None)
    await gateway.change_account(suspended=True)
    assert (await gateway.call("PUT", f"{SUPPRESSIONS}/{PHONE}")).fault == (403, "06", None)


async def test_a_store_that_is_away_is_told(gateway: Gateway) -> None:
    gateway.store.broken = True
    for method, path in (("GET", SUPPRESSIONS), ("PUT", f"{SUPPRESSIONS}/{PHONE}")):
        assert (await gateway.call(method, path)).fault == (503, "13", None)
