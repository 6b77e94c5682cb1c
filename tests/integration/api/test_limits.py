"""Limits of an account as customers meet them."""

from typing import Any

import pytest

from heliograph.app.configuration import RegisteredSender
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.limits.gate import SenderState
from tests.support.gateway import START, Gateway

GOOD = {"to": "447700900123", "from": "Helio", "content": "Hello"}
QUOTE = "/api/v1/messages/quote"
DAY_LEFT_S = (DAY_MS - START % DAY_MS) // 1000
LATER = str(START // 1000 + 7200)


async def test_more_than_a_days_messages_are_told_when_the_next_day_begins(gateway: Gateway) -> None:
    await gateway.change_account(daily_messages=2)
    assert (await gateway.send({**GOOD, "to": ["447700900123", "447700900124", "447700900125"]})).status == 429
    assert [(await gateway.send(GOOD)).status for _ in range(2)] == [200, 200]
    reply = await gateway.send(GOOD)
    assert reply.fault == (429, "12", None)
    assert reply.headers["retry-after"] == str(DAY_LEFT_S)
    assert "today" in reply.json["Message"]
    assert await gateway.balance() == "998"
    gateway.clock.forward(DAY_LEFT_S)
    assert (await gateway.send(GOOD)).status == 200


async def test_the_day_is_that_of_the_accounts_time_zone(gateway: Gateway) -> None:
    await gateway.change_account(daily_messages=1, timezone="Asia/Kathmandu")
    await gateway.send(GOOD)
    away = 5 * 3600 + 45 * 60
    assert (await gateway.send(GOOD)).headers["retry-after"] == str((DAY_LEFT_S - away) % 86_400)


async def test_more_than_a_days_credits_are_answered_as_too_little_credit(gateway: Gateway) -> None:
    await gateway.change_account(daily_spend=2_000_000)
    assert [(await gateway.send(GOOD)).status for _ in range(2)] == [200, 200]
    reply = await gateway.send(GOOD)
    assert reply.fault == (402, "05", None)
    assert "today" in reply.json["Message"]


async def test_where_an_account_may_not_send_to_the_field_is_named(gateway: Gateway) -> None:
    await gateway.change_account(prefixes=("49",))
    reply = await gateway.send(GOOD)
    assert reply.fault == (403, "06", "to")
    assert "447700900123" in reply.json["Message"]
    assert (await gateway.send({**GOOD, "to": "491701234567"})).status == 200
    assert (await gateway.send({**GOOD, "to": ["491701234567", "447700900123"]})).fault == (403, "06", "to")


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"prefixes": ("49",)}, {}),
        ({"senders": ("Other",)}, {}),
        ({"daily_messages": 1}, {"to": ["447700900123", "447700900124"]}),
        ({"daily_spend": 500_000}, {}),
        ({"max_waiting": 1}, {"to": ["447700900123", "447700900124"], "time": LATER}),
    ],
)
async def test_a_quote_is_refused_as_the_send_is(
    gateway: Gateway, changes: dict[str, Any], fields: dict[str, Any]
) -> None:
    await gateway.change_account(**changes)
    quote, send = await gateway.send({**GOOD, **fields}, QUOTE), await gateway.send({**GOOD, **fields})
    assert send.status in (402, 403, 429)
    assert (quote.fault, quote.json, quote.headers.get("retry-after")) == (
        send.fault,
        send.json,
        send.headers.get("retry-after"),
    )


async def test_requests_of_any_kind_count_and_a_burst_may_come_at_once(gateway: Gateway) -> None:
    await gateway.change_account(request_rate=1.0, request_burst=5)
    asked = [gateway.send(GOOD), gateway.call("POST", "/api/v1/account/balance"), gateway.send(GOOD, QUOTE)]
    asked += [gateway.send(GOOD) for _ in range(3)]
    replies = [await each for each in asked]
    assert [reply.status for reply in replies] == [200] * 5 + [429]
    assert replies[-1].headers["retry-after"] == "1"
    assert "1 requests a second" in replies[-1].json["Message"]
    gateway.clock.forward(1)
    assert [(await gateway.send(GOOD)).status for _ in range(2)] == [200, 429]


async def test_a_limit_that_is_lifted_is_lifted(gateway: Gateway) -> None:
    await gateway.change_account(daily_messages=1)
    assert [(await gateway.send(GOOD)).status for _ in range(2)] == [200, 429]
    await gateway.change_account(daily_messages=0)
    assert (await gateway.send(GOOD)).status == 200


async def test_a_registered_sender_passes_when_it_is_approved(gateway: Gateway) -> None:
    async def put(sender: str, state: SenderState) -> None:
        await gateway.store.senders.put([RegisteredSender(1, sender, state, START)])
        await gateway.directory.refresh()

    assert (await gateway.send(GOOD)).status == 200
    await put("Helio", SenderState.PENDING)
    for path in ("/api/v1/messages", QUOTE):
        reply = await gateway.send(GOOD, path)
        assert reply.fault == (403, "06", "from")
        assert "Helio is pending" in reply.json["Message"]
    await put("Helio", SenderState.APPROVED)
    assert (await gateway.send(GOOD)).status == 200
    assert "not registered" in (await gateway.send({**GOOD, "from": "Other"})).json["Message"]
    await put("Helio", SenderState.REFUSED)
    assert "was refused" in (await gateway.send(GOOD)).json["Message"]
    await gateway.store.senders.remove(1, "Helio")
    await gateway.directory.refresh()
    assert (await gateway.send({**GOOD, "from": "Other"})).status == 200
