"""One phone's data by admin API and console: found, handed out, erased; and who may."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from heliograph.app.facts import CallbackDone, CallbackEnd, Facts, InboundMessage
from heliograph.app.records import TOKEN_SCOPES
from heliograph.app.resources import messages
from heliograph.domain.message.way import Way
from tests.integration.console.test_console import text_of
from tests.support.admin import AdminHouse, Browser, open_house
from tests.support.store import START

PHONE, OTHER = "491701234567", "447700900123"
TEXT = "Your code is 8812"


@pytest.fixture
async def house() -> AdminHouse:
    return await open_house()


@pytest.fixture
async def token(house: AdminHouse) -> str:
    return await house.token(*(scope.value for scope in TOKEN_SCOPES))


@pytest.fixture
async def ada(house: AdminHouse) -> Browser:
    return await house.visitor()


async def sent(house: AdminHouse, **fields: Any) -> str:
    reply = await house.gateway.send({"to": PHONE, "from": "Test", "content": TEXT, **fields})
    assert reply.status == 200
    found: str = reply.json["Id"]
    return found


async def lived_in(house: AdminHouse) -> None:
    """Leaves a scheduled message, one in flight, one from the phone that was told, and an opt-out."""
    await sent(house, time="2027-01-16 10:00:00")
    await sent(house)
    await sent(house, to=OTHER)
    store = house.gateway.store
    account = await store.accounts.find("acme")
    assert account is not None
    inbound = InboundMessage(
        account[0].id, 1, PHONE, "3388", "STOP", b"STOP", 0, START, way=Way.WEBHOOK, key=77, tail=5
    )
    done = CallbackDone(account[0].id, 77, CallbackEnd.DELIVERED, 200, 1, START)
    await store.commits.record(Facts(inbound=[inbound], callbacks=[done]))
    await store.suppressions.suppress(account[0].id, [OTHER], "api", START)


def lines(answered: Any) -> dict[str, tuple[int, int, int, int]]:
    return {
        each["what"]: (each["found"], each["erased"], each["cancelled"], each["left"])
        for each in answered.json["lines"]
        if each["found"]
    }


FOUND = {"messages to it": (2, 1, 1, 1), "messages from it": (1, 1, 0, 0)}


async def test_a_phone_is_erased_with_a_report(house: AdminHouse, token: str) -> None:
    await lived_in(house)
    planned = await house.ask(token, "POST", "/recipients/erase", {"number": f"+{PHONE}", "dry_run": True})
    assert planned.status == 200
    assert (planned.json["number"], planned.json["dry_run"], lines(planned)) == ("491*******67", True, FOUND)
    done = await house.ask(token, "POST", "/recipients/erase", {"number": PHONE})
    assert (done.json["dry_run"], lines(done)) == (False, FOUND)
    assert {each["what"] for each in done.json["kept"]} >= {"ledger", "suppressions", "backups"}
    left = await house.ask(token, "POST", "/recipients/erase", {"number": PHONE, "dry_run": True})
    assert lines(left) == {"messages to it": (1, 0, 0, 1)}
    # the audit log tells of it, without the number
    told = [each for each in await house.entries() if each.action == "recipient.erase"]
    assert [(each.target, each.details) for each in told] == [
        ("all accounts", {"number": "491*******67", "messages": "2", "inbound": "1"})
    ]


async def test_everything_of_a_phone_is_handed_out(house: AdminHouse, token: str) -> None:
    await lived_in(house)
    answered = await house.ask(token, "POST", "/recipients/export", {"number": PHONE, "account": "acme"})
    assert answered.status == 200
    found = answered.json
    assert (found["number"], found["complete"], found["waiting_parts"]) == (PHONE, True, 0)
    assert [(each["to"], each["content"], each["account"]) for each in found["messages"]] == [(PHONE, TEXT, "acme")] * 2
    assert all(each["history"] for each in found["messages"])
    assert [(each["from"], each["content"]) for each in found["inbound"]] == [(PHONE, "STOP")]
    assert found["suppressions"] == []
    other = await house.ask(token, "POST", "/recipients/export", {"number": OTHER})
    assert [each["account"] for each in other.json["suppressions"]] == ["acme"]
    assert [each.action for each in await house.entries()][-2:] == ["recipient.export"] * 2


async def test_an_export_lets_others_work_between_two_messages(
    house: AdminHouse, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lived_in(house)
    steps: list[str] = []
    store, full_row = house.gateway.store.messages, messages.full_row
    trace = store.trace

    async def read(key: int) -> Any:
        steps.append("read")
        return await trace(key)

    def make(*of: Any) -> dict[str, Any]:
        steps.append("make")
        return full_row(*of)

    async def in_thread(work: Callable[[], Any]) -> Any:
        steps.append("show in a thread")
        return await asyncio.to_thread(work)

    house.admin.desk.in_thread = in_thread
    monkeypatch.setattr(store, "trace", read)
    monkeypatch.setattr(messages, "full_row", make)
    assert (await house.ask(token, "POST", "/recipients/export", {"number": PHONE})).status == 200
    assert steps == ["read", "make"] * 2 + ["show in a thread"]


async def test_an_export_of_a_phone_is_one_of_few(house: AdminHouse, token: str, ada: Browser) -> None:
    house.admin.exports.running = house.admin.exports.most
    assert (await house.ask(token, "POST", "/recipients/export", {"number": PHONE})).status == 503
    assert (await ada.post("/recipients/export", {"number": PHONE, "account": ""})).status == 503


@pytest.mark.parametrize("path", ["/recipients/erase", "/recipients/export"])
async def test_mistakes_are_told(house: AdminHouse, token: str, path: str) -> None:
    assert (await house.ask(token, "POST", path, {"number": "12"})).status == 400
    assert (await house.ask(token, "POST", path, {"number": PHONE, "account": "nobody"})).status == 404
    assert (await house.ask(token, "POST", path, {"number": PHONE, "nonsense": 1})).status == 400


async def test_a_page_finds_and_erases(house: AdminHouse, ada: Browser) -> None:
    await lived_in(house)
    assert "One phone" in (await ada.get("/recipients")).text
    form = {"number": "+49 170 1234567", "account": ""}
    page = await ada.post("/recipients/find", form)
    assert "Data of 491*******67" in text_of(page)
    assert "Would be erased" in text_of(page)
    exported = await ada.post("/recipients/export", form)
    assert TEXT in exported.text
    page = await ada.post("/recipients/erase", form)
    assert "Erased data of 491*******67" in text_of(page)
    assert (await ada.post("/recipients/find", {"number": "12"})).status == 400
