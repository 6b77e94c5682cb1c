"""Customers who listen to their notices as they are made."""

import asyncio
from typing import Any

import msgspec
import pytest

from heliograph.app.facts import Facts, InboundMessage, MessageEnd, PartReceipt
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way
from heliograph.domain.security.signature import sign
from heliograph.runtime import listening
from tests.support.gateway import START, Gateway, Reply

NOTICES = "/account/v1/notices"


async def listen(gateway: Gateway, query: str = "", *, stays: bool = False, **more: Any) -> Reply:
    return await gateway.call("GET", NOTICES, query=query, stays=stays, **more)


async def begin(gateway: Gateway) -> str:
    reply = await listen(gateway)
    assert reply.json == {"count": 0, "notices": [], "cursor": "7f-0", "missed": 0}
    return str(reply.json["cursor"])


async def send(gateway: Gateway, **fields: str) -> tuple[int, int]:
    """Sends a message; returns its account and key."""
    body = {"to": "491701234567", "from": "Helio", "content": "Hello", **fields}
    json = msgspec.json.encode(body)
    assert (await gateway.call("POST", "/api/v1/messages", json)).status == 200
    message = gateway.intake.accepted[-1].messages[0]
    return message.account, message.key


def commit(gateway: Gateway, **facts: Any) -> None:
    gateway.app.services.listening.committed(Facts(**facts), START, 0.0)


async def until_waiting(gateway: Gateway) -> None:
    while not any(ear.waiting for ear in gateway.app.services.listening._listeners.values()):  # noqa: ASYNC110 - another task's doing
        await asyncio.sleep(0)


def phone_message(account: int, key: int = 64) -> InboundMessage:
    return InboundMessage(
        account, 1, "491701234567", "3388", "PIZZA", b"PIZZA", 0, START, key=key, tail=1, way=Way.WEBHOOK
    )


async def test_a_receipt_comes_as_a_webhook_has_it(gateway: Gateway) -> None:
    cursor = await begin(gateway)
    account, key = await send(gateway, **{"dlr": "yes", "dlr-url": "https://example.com/r"})
    commit(gateway, finals=[MessageEnd(account, key, Delivery.UNDELIV, "0x22", START, owed=True)])
    page = (await listen(gateway, f"after={cursor}&wait=5", stays=True)).json
    (notice,) = page["notices"]
    assert (notice["Kind"], notice["Url"], page["count"], page["missed"]) == ("receipt", "https://example.com/r", 1, 0)
    assert "message_status=UNDELIV" in notice["Body"]
    headers = notice["Headers"]
    assert headers["heliograph-operator-code"] == "0x22"
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    signed = sign(bytes(32), headers["webhook-id"], int(headers["webhook-timestamp"]), notice["Body"].encode())
    assert headers["webhook-signature"] == signed
    assert (await listen(gateway, f"after={page['cursor']}")).json["notices"] == []
    assert len((await listen(gateway, "after=00-0")).json["notices"]) == 1, "the place of another run"


async def test_who_has_no_receiver_hears_what_it_would_get(gateway: Gateway) -> None:
    cursor = await begin(gateway)
    account, key = await send(gateway, dlr="yes")
    unasked = await send(gateway)
    commit(
        gateway,
        finals=[
            MessageEnd(account, key, Delivery.DELIVRD, "000", START, owed=False),
            MessageEnd(*unasked, Delivery.DELIVRD, "000", START, owed=False),
        ],
        progress=[
            PartReceipt(account, key, 1, Delivery.ENROUTE, "", START, owed=True),
            PartReceipt(account, key, 1, Delivery.ACCEPTD, "", START),
        ],
        inbound=[phone_message(account)],
    )
    await asyncio.sleep(0)
    found: list[dict[str, Any]] = []
    while len(found) < 3:
        page = (await listen(gateway, f"after={cursor}&wait=5&limit=1", stays=True)).json
        cursor = page["cursor"]
        found += page["notices"]
    assert [(each["Kind"], each["Url"]) for each in found] == [("inbound", ""), ("receipt", ""), ("receipt", "")]
    assert "content=PIZZA" in found[0]["Body"]
    assert [each["Headers"]["webhook-id"].rpartition("_")[0] == "dlr" for each in found[1:]] == [True, False]


async def test_nobody_hears_others_and_nothing_is_kept_of_whom_nobody_listens_to(gateway: Gateway) -> None:
    account, _ = await send(gateway)
    commit(gateway, inbound=[phone_message(account)])
    cursor = await begin(gateway)
    commit(gateway, inbound=[phone_message(account + 1)])
    assert (await listen(gateway, f"after={cursor}")).json["notices"] == []
    gateway.clock.forward(listening.STAYS_MS / 1000 + 1)
    assert (await listen(gateway, auth="other")).json["count"] == 0
    commit(gateway, inbound=[phone_message(account)])
    assert (await listen(gateway, f"after={cursor}")).json == {
        "count": 0, "notices": [], "cursor": cursor, "missed": 0,
    }  # fmt: skip


async def test_states_of_a_busy_account_push_out_none_of_another(gateway: Gateway) -> None:
    cursor = await begin(gateway)
    busy = await listen(gateway, auth="other")
    account, key = await send(gateway, dlr="yes")
    commit(
        gateway,
        finals=[
            MessageEnd(account, key, Delivery.DELIVRD, "000", START, owed=False),
            *[MessageEnd(account + 1, 64, Delivery.DELIVRD, "000", START, owed=False)] * (2 * listening.KEPT),
        ],
    )
    page = (await listen(gateway, f"after={cursor}&wait=5", stays=True)).json
    assert (busy.status, page["count"]) == (200, 1)


async def test_what_is_not_kept_any_more_is_counted(gateway: Gateway) -> None:
    account, _ = await send(gateway)
    cursor = await begin(gateway)
    commit(gateway, inbound=[phone_message(account, 64 + 32 * number) for number in range(listening.KEPT + 3)])
    page = (await listen(gateway, f"after={cursor}&limit=2")).json
    assert (page["count"], page["missed"], page["cursor"]) == (2, 3, "7f-5")


@pytest.mark.parametrize(
    ("query", "field"), [("after=x", "after"), ("limit=0", "limit"), ("wait=31", "wait"), ("x=1", "x")]
)
async def test_what_cannot_be_meant_is_refused(gateway: Gateway, query: str, field: str) -> None:
    assert (await listen(gateway, query)).fault == (400, "03", field)


async def test_few_may_listen(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_WAITING", 0)
    assert (await listen(gateway, "wait=5", stays=True)).fault[:2] == (429, "12")
    monkeypatch.setattr(listening, "MOST_ACCOUNTS", 1)
    assert (await listen(gateway)).status == 200
    assert (await listen(gateway, auth="other")).fault[:2] == (429, "12")


async def test_who_may_not_any_more_is_told_nothing(gateway: Gateway) -> None:
    account, _ = await send(gateway)
    await begin(gateway)
    waiting = asyncio.create_task(listen(gateway, "wait=30", stays=True))
    await until_waiting(gateway)
    await gateway.change_account(suspended=True)
    commit(gateway, inbound=[phone_message(account)])
    assert (await waiting).fault == (403, "06", None)


async def test_the_end_of_the_gateway_answers_all(gateway: Gateway) -> None:
    await begin(gateway)
    waiting = asyncio.create_task(listen(gateway, "wait=30", stays=True))
    await until_waiting(gateway)
    await gateway.app.services.listening.close()
    assert (await waiting).json["count"] == 0
