"""Customers pull messages from phones."""

import asyncio
from typing import Any

import pytest

from heliograph.api.serve import serve
from heliograph.app.facts import Facts, InboundMessage
from heliograph.domain.message import ids
from heliograph.runtime import long_polls
from tests.support.gateway import API_KEY, START, Gateway, basic
from tests.support.hanging_up import reset
from tests.support.timeouts import PATIENCE_S

INBOUND = "/account/v1/inbound"
ABSENT = "01a3185c-5000-7000-9ae1-ac9cffcd3f00"


async def receive(gateway: Gateway, number: int, account: int = 1, **fields: Any) -> str:
    """Has a message committed; returns its id."""
    key = ids.first_key_at(START) + 32 * number
    values: dict[str, Any] = {
        "content": f"m{number}",
        "octets": b"\x0f",
        "coding": 8,
        "at": START,
        "key": key,
        "tail": number,
    }
    message = InboundMessage(account, 1, "491701", "3388", **(values | fields))
    facts = Facts(inbound=[message])
    await gateway.store.commits.record(facts)
    gateway.long_polls.committed(facts, START, 0.0)
    return ids.to_uuid(key, number)


async def pulled(gateway: Gateway, query: str = "", **more: Any) -> list[str]:
    reply = await gateway.call("GET", INBOUND, query=query, **more)
    assert reply.status == 200, reply.body
    assert reply.json["count"] == len(reply.json["messages"])
    return [message["Content"] for message in reply.json["messages"]]


async def test_a_message_has_exactly_these_fields(gateway: Gateway) -> None:
    await gateway.change_account(timezone="Asia/Tokyo")
    name = await receive(gateway, 1, content="Grüße 🦊", parts=3, complete=False, keyword="pizza")
    one = (
        f'{{"Id":"{name}","Time":"2027-01-15 17:00:00","From":"491701","To":"3388","Content":"Grüße 🦊","Binary":"0f",'
        '"Coding":"8","Parts":3,"Complete":false,"Keyword":"pizza"}'
    )
    reply = await gateway.call("GET", INBOUND)
    assert reply.body.decode() == f'{{"count":1,"messages":[{one}]}}'
    for form in (name, name.replace("-", ""), name.upper(), f"{name}/"):
        assert (await gateway.call("GET", f"{INBOUND}/{form}")).body.decode() == one


async def test_pages_follow_each_other(gateway: Gateway) -> None:
    names = [await receive(gateway, number) for number in range(5)]
    assert await pulled(gateway) == ["m0", "m1", "m2", "m3", "m4"]
    assert await pulled(gateway, "limit=2") == ["m0", "m1"]
    assert await pulled(gateway, f"after={names[1]}&limit=2") == ["m2", "m3"]
    assert await pulled(gateway, f"after={names[3].upper()}&limit=&wait=") == ["m4"]
    assert await pulled(gateway, f"after={names[4]}") == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("after=x", "after"),
        ("after=5", "after"),
        (f"after={'0' * 32}", "after"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=1.5", "limit"),
        ("limit=-1", "limit"),
        ("wait=31", "wait"),
        ("wait=0.5", "wait"),
        ("wait=x", "wait"),
        ("index=1", "index"),
        ("Wait=1", "Wait"),
    ],
)
async def test_what_cannot_be_meant_is_refused(gateway: Gateway, query: str, field: str) -> None:
    assert (await gateway.call("GET", INBOUND, query=query)).fault == (400, "03", field)


async def test_a_parameter_that_is_given_twice_is_refused(gateway: Gateway) -> None:
    assert (await gateway.call("GET", INBOUND, query="wait=1&wait=1")).fault == (400, "01", None)


@pytest.mark.parametrize("name", [ABSENT, "x", "0" * 32, "é"])
async def test_there_is_no_such_inbound_message(gateway: Gateway, name: str) -> None:
    theirs = await receive(gateway, 1, account=99)
    for each in (name, theirs):
        assert (await gateway.call("GET", f"{INBOUND}/{each}")).fault == (404, "07", None)


async def test_nobody_else_may_ask(gateway: Gateway) -> None:
    assert (await gateway.call("GET", INBOUND, auth=None)).fault == (401, "04", None)
    assert (await gateway.call("GET", INBOUND, auth=basic("acme", "wrong"))).fault == (401, "04", None)
    assert (await gateway.call("POST", INBOUND)).fault == (405, "08", None)
    assert (await gateway.call("GET", "/account/v1")).fault == (404, "07", None)
    await gateway.change_account(suspended=True)
    assert (await gateway.call("GET", INBOUND)).fault == (403, "06", None)


async def test_a_request_waits_for_the_next_message(gateway: Gateway) -> None:
    first = await receive(gateway, 1)
    assert await pulled(gateway, "wait=30") == ["m1"]
    waiting = asyncio.create_task(pulled(gateway, f"after={first}&wait=30", stays=True))
    await until_waiting(gateway)
    await receive(gateway, 2, account=99)
    await receive(gateway, 3)
    assert await waiting == ["m3"]


async def test_a_client_that_has_gone_waits_no_more(gateway: Gateway) -> None:
    assert await asyncio.wait_for(pulled(gateway, "wait=30"), PATIENCE_S / 3) == []
    assert gateway.long_polls.count == 0


async def test_nobody_is_told_who_may_not_know_any_more(gateway: Gateway) -> None:
    waiting = asyncio.create_task(gateway.call("GET", INBOUND, query="wait=30", stays=True))
    await until_waiting(gateway)
    await gateway.change_account(suspended=True)
    await receive(gateway, 1)
    assert (await waiting).fault == (403, "06", None)


async def test_few_requests_may_wait(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_polls, "MOST_OF_ACCOUNT", 0)
    reply = await gateway.call("GET", INBOUND, query="wait=1")
    assert reply.fault == (429, "12", None)
    assert reply.headers["retry-after"] == "1"
    assert await pulled(gateway) == []


async def until_waiting(gateway: Gateway) -> None:
    while not gateway.long_polls.count:  # noqa: ASYNC110 - another task's doing
        await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_a_client_that_hangs_up_waits_no_more(gateway: Gateway) -> None:
    server = await serve(gateway.app, "127.0.0.1", 0)
    head = b"GET %b?wait=30 HTTP/1.1\r\nHost: x\r\nAuthorization: %b\r\n\r\n" % (
        INBOUND.encode(),
        basic("acme", API_KEY),
    )
    try:
        _, leaving = await asyncio.open_connection("127.0.0.1", server.port)
        leaving.write(head)
        await until_waiting(gateway)
        began = asyncio.get_running_loop().time()
        reset(leaving)
        while gateway.long_polls.count:  # noqa: ASYNC110 - the server's doing
            await asyncio.sleep(0.01)
        assert asyncio.get_running_loop().time() - began < 20, "long before it would have been answered"
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(head)
        await until_waiting(gateway)
        await gateway.long_polls.close()
        assert b'{"count":0,"messages":[]}' in await asyncio.wait_for(reader.read(4_096), PATIENCE_S)
        writer.close()
    finally:
        await server.stop(1)
