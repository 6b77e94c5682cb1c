"""References: a safe retry is answered as the first time, whatever has happened since."""

import asyncio
from typing import Any

import pytest

from tests.support.gateway import Gateway

FIELDS: dict[str, Any] = {"to": "447700900123", "from": "Helio", "content": "Hello World", "reference": "r"}
LATER = "2027-01-15 09:00:00"


async def test_a_retry_is_answered_alike_and_charged_once(gateway: Gateway) -> None:
    first = await gateway.send(FIELDS)
    again = await gateway.send(FIELDS)
    assert (again.status, again.body) == (200, first.body)
    assert await gateway.balance() == "999"


async def test_a_retry_in_the_other_format_and_version_is_the_same_request(gateway: Gateway) -> None:
    first = await gateway.send(FIELDS | {"content": "Hello+World", "type": "sms"})
    assert (await gateway.send_form(FIELDS)).body == first.body
    assert (await gateway.send(FIELDS, "/api/v2/messages")).body == first.body
    assert (await gateway.send(FIELDS | {"to": ["447700900123", "447700900123"], "dlr": "off"})).body == first.body


@pytest.mark.parametrize(
    "change",
    [
        {"to": "447700900124"},
        {"to": "447700900123,447700900124"},
        {"from": "Other"},
        {"content": "Hello"},
        {"type": "flash"},
        {"dlr": "yes"},
        {"dlr-url": "http://example.com"},
        {"time": LATER},
    ],
)
async def test_a_different_request_is_a_conflict(gateway: Gateway, change: dict[str, Any]) -> None:
    await gateway.send(FIELDS)
    assert (await gateway.send(FIELDS | change)).fault == (409, "09", "reference")
    assert await gateway.balance() == "999"


async def test_a_reference_belongs_to_its_account(gateway: Gateway) -> None:
    first = await gateway.send(FIELDS)
    other = await gateway.send(FIELDS, auth="other")
    assert other.status == 200
    assert other.json["Id"] != first.json["Id"]


async def test_a_refused_request_uses_up_no_reference(gateway: Gateway) -> None:
    await gateway.change_account(credit_limit=-1_000_000_000)
    assert (await gateway.send(FIELDS)).status == 402
    assert (await gateway.send(FIELDS | {"to": "x"})).status == 400
    await gateway.change_account(credit_limit=0)
    assert (await gateway.send(FIELDS | {"content": "Another"})).status == 200


async def test_two_at_the_same_moment_are_one(gateway: Gateway) -> None:
    replies = await asyncio.gather(*(gateway.send(FIELDS) for _ in range(5)))
    assert {reply.body for reply in replies} == {replies[0].body}
    assert await gateway.balance() == "999"


async def test_a_batch_is_answered_again_whole(gateway: Gateway) -> None:
    fields = FIELDS | {"to": ["447700900123", "447700900124"], "time": LATER}
    first = await gateway.send(fields)
    assert (await gateway.send(fields)).body == first.body


async def test_a_retry_whose_time_has_passed(gateway: Gateway) -> None:
    fields = FIELDS | {"time": LATER}
    first = await gateway.send(fields)
    gateway.clock.forward(86_400)
    assert (await gateway.send(fields)).body == first.body
    assert (await gateway.send(FIELDS | {"time": "2027-01-15 09:00:01"})).fault == (400, "03", "time")


async def test_a_retry_without_credit_route_or_allowance(gateway: Gateway) -> None:
    first = await gateway.send(FIELDS)
    await gateway.change_account(credit_limit=-1_000_000_000, senders=("Other",), rate=0.001)
    await gateway.store.network.remove_connector("operator")
    await gateway.directory.refresh()
    assert (await gateway.send(FIELDS)).body == first.body
    assert (await gateway.send(FIELDS | {"content": "x"})).fault == (400, "03", "to")


async def test_a_retry_over_the_rate(gateway: Gateway) -> None:
    await gateway.change_account(rate=1.0)
    first = await gateway.send(FIELDS)
    assert [(await gateway.send(FIELDS)).body for _ in range(3)] == [first.body] * 3
    assert (await gateway.send(FIELDS | {"reference": "other"})).status == 429


async def test_a_retry_of_what_was_cancelled_or_moved(gateway: Gateway) -> None:
    fields = FIELDS | {"time": LATER}
    first = await gateway.send(fields)
    path = "/api/v1/messages/" + first.json["Id"]
    await gateway.call("PUT", path, b"time=2027-01-15+10:00:00")
    assert (await gateway.send(fields)).body == first.body
    await gateway.call("DELETE", path)
    assert (await gateway.send(fields)).body == first.body
    assert await gateway.balance() == "1000"
