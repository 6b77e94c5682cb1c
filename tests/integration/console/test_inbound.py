"""The console's pages of messages from phones: finding them, giving them an owner, numbers, and conversations."""

import csv
import io
import re
from typing import Any

import pytest

from heliograph.app.facts import CallbackDone, CallbackEnd, Facts, InboundMessage
from heliograph.app.records import InboundQuery
from heliograph.app.resources.desk import account_id
from heliograph.console import files
from heliograph.console.pages import conversation, inbound
from heliograph.domain.calendar import format_utc
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.way import Way
from heliograph.domain.numbers.phone import mask
from tests.integration.console.test_console import text_of
from tests.support.admin import AdminHouse, Browser

PHONE, OTHER = "447700900123", "491701234567"


async def written(house: AdminHouse, text: str, sender: str = PHONE, recipient: str = "3388", **more: Any) -> str:
    """A message from a phone, of the account acme unless `account` says otherwise; its id."""
    owner = more.pop("account", await account_id(house.gateway.store, "acme"))
    at = more.pop("at", house.gateway.clock.now())
    message = InboundMessage(owner, 1, sender, recipient, text, text.encode(), 0, at, **more)
    await house.gateway.intake.receive(message)
    return to_hex(message.key, message.tail)


async def test_messages_are_found_by_phone_number_account_and_id(house: AdminHouse, ada: Browser) -> None:
    assert "There are no messages from phones yet." in text_of(await ada.get("/inbound"))
    mine = await written(house, "Yes, please")
    other = await written(house, "PIZZA with olives", OTHER, keyword="pizza")
    nobodys = await written(house, "Hello?", recipient="4000", account=0)
    page = text_of(await ada.get("/inbound"))
    assert page.index("Hello?") < page.index("PIZZA with olives") < page.index("Yes, please")
    for query, found in (
        ("q=%2B44+7700+900123", {"Yes, please", "Hello?"}),
        (f"q={OTHER}", {"PIZZA"}),
        ("q=4000", {"Hello?"}),
        ("q=3388&account=acme", {"Yes, please", "PIZZA"}),
        ("account=-", {"Hello?"}),
        (f"q={other}", {"PIZZA"}),
        ("q=49999", set()),
    ):
        page = text_of(await ada.get("/inbound", query))
        assert {text for text in ("Yes, please", "PIZZA", "Hello?") if text in page} == found, query
    assert "Nothing was found." in page
    assert (await ada.get("/inbound", "account=nobody")).status == 404
    for message in (mine, nobodys):
        assert (await ada.get(f"/inbound/{message}")).status == 200
    assert (await ada.get("/inbound/0198c5f2a1b37c4d8e9f001122334455")).status == 404
    assert (await ada.get("/inbound/x")).status == 404


async def test_pages_go_on_where_the_last_one_ended(house: AdminHouse, ada: Browser) -> None:
    for number in range(inbound.PAGE + 2):
        await written(house, f"text-{number:03}")
    page = await ada.get("/inbound", f"q={PHONE}")
    assert "text-002" in page.text
    assert "text-001" not in page.text
    more = page.text.split("before=")[1].split('"')[0]
    page = await ada.get("/inbound", f"q={PHONE}&before={more}")
    assert "text-001" in page.text
    assert "text-000" in page.text
    assert "text-002" not in page.text
    assert "Older" not in page.text


async def test_an_unrouted_message_is_given_to_an_account(house: AdminHouse, ada: Browser) -> None:
    message = await written(house, "Hello?", recipient="4000", account=0)
    assert "No entry under Numbers matches 4000." in text_of(await ada.get(f"/inbound/{message}"))
    assert (await ada.post(f"/inbound/{message}/route", {"account": "nobody"})).status == 409
    page = await ada.follow(await ada.post(f"/inbound/{message}/route", {"account": "acme"}))
    assert "The message is acme's now." in text_of(page).replace("’", "'")
    assert "Assign to this account" not in page.text
    again = await ada.post(f"/inbound/{message}/route", {"account": "acme"})
    assert again.status == 409
    entry = (await house.entries())[-1]
    assert (entry.actor, entry.action, entry.target) == ("user:ada", "inbound.route", message)


async def test_a_callback_that_was_given_up_is_replayed(house: AdminHouse, ada: Browser) -> None:
    await house.gateway.change_account(inbound_url="https://acme.example/inbound")
    message = await written(house, "Hello?", way=Way.WEBHOOK)
    assert "on its way" in text_of(await ada.get(f"/inbound/{message}"))
    assert (await ada.post(f"/inbound/{message}/replay")).status == 409
    [record] = await house.gateway.store.inbound.find(InboundQuery())
    ended = CallbackDone(record.message.account, record.message.key, CallbackEnd.FAILED, 500, 3, 1)
    await house.gateway.store.commits.record(Facts(callbacks=[ended]))
    page = await ada.get(f"/inbound/{message}")
    assert "failed 3 tries, HTTP 500" in text_of(page)
    place = re.search(rf'href="/console(/[^"]+){message}"', (await ada.get("/callbacks", "tab=failed")).text)
    assert place is not None
    leads = await ada.get(*f"{place[1]}{message}".split("?"))
    assert leads.header("location") == f"/console/inbound/{message}"
    page = await ada.follow(await ada.post(f"/inbound/{message}/replay"))
    assert "The callback is retried." in text_of(page)
    entry = (await house.entries())[-1]
    assert (entry.action, entry.target, entry.details) == ("callback.replay", message, {"account": "acme"})


async def test_a_conversation_has_both_sides_in_the_order_of_time(house: AdminHouse, ada: Browser) -> None:
    nothing = await ada.get("/conversation", f"account=acme&phone={PHONE}")
    assert "There are no messages to or from this phone" in text_of(nothing)
    for number in range(3):
        await house.gateway.send({"to": PHONE, "from": "3388", "content": f"question-{number}"})
        await written(house, f"answer-{number}")
    await house.gateway.send({"to": OTHER, "from": "3388", "content": "to another"})
    await written(house, "from another", OTHER)
    page = text_of(await ada.get("/conversation", f"account=acme&phone={PHONE}"))
    places = [page.index(f"{word}-{number}") for number in (2, 1, 0) for word in ("answer", "question")]
    assert places == sorted(places)
    assert "another" not in page
    assert (await ada.get("/conversation", f"account=nobody&phone={PHONE}")).status == 404


async def test_pages_of_a_conversation_leave_nothing_out(
    house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "PAGE", 4)
    said = []
    for number in range(15):
        if number % 5 in (0, 1):
            await house.gateway.send({"to": PHONE, "from": "3388", "content": f"said-{number:02}"})
        else:
            await written(house, f"said-{number:02}")
        said.append(f"said-{number:02}")
    found: list[str] = []
    query = f"account=acme&phone={PHONE}"
    while True:
        page = (await ada.get("/conversation", query)).text
        found += [text for text in reversed(said) if text in page]
        if "before=" not in page:
            break
        query = f"account=acme&phone={PHONE}&before=" + page.split("before=")[1].split('"')[0]
    assert found == said[::-1]


async def test_consent_is_shown_and_changed_beside_the_conversation(house: AdminHouse, ada: Browser) -> None:
    await written(house, "STOP", wish=Wish.STOP)
    page = text_of(await ada.get("/conversation", f"account=acme&phone={PHONE}"))
    assert "opted out" in page
    assert "(source: message)" in page
    form = {"account": "acme", "phone": PHONE}
    page = text_of(await ada.follow(await ada.post("/conversation/lift", form)))
    assert "acme may send to this phone." in page
    page = text_of(await ada.follow(await ada.post("/conversation/suppress", form)))
    assert "(source: console)" in page
    assert (await ada.post("/conversation/suppress", form | {"phone": "x"})).status == 400


async def test_messages_are_narrowed_by_time_followed_and_exported(house: AdminHouse, ada: Browser) -> None:
    first = await written(house, "=1+1")
    house.gateway.clock.ms += 1_800_000
    second = await written(house, "Later", OTHER)
    # the clock begins at 08:00
    for query, found in (
        ("end=2027-01-15T08:29", [first]),
        ("start=2027-01-15T08:30", [second]),
        ("start=2027-01-15T08:00&end=2027-01-15T08:30", [second, first]),
        ("account=-", []),
    ):
        assert re.findall(r'href="/console/inbound/(\w{32})"', (await ada.get("/inbound", query)).text) == found, query
        rows = list(csv.DictReader(io.StringIO((await ada.get("/inbound.csv", query)).text, newline="")))
        assert [row["id"] for row in rows] == found, query
    led = await ada.get("/messages", f"direction=inbound&q={PHONE}&start=2027-01-15T08:30&end=2027-01-15T08:31")
    query = f"q={PHONE}&start=2027-01-15T08%3A30&end=2027-01-15T08%3A31"
    assert led.header("location") == f"/console/inbound?{query}"
    answered = await ada.get("/inbound.csv", f"q={PHONE}")
    assert "'=1+1" in answered.text
    assert answered.header("content-disposition") == 'attachment; filename="inbound.csv"'
    entry = (await house.entries())[-1]
    assert (entry.action, entry.details) == ("inbound.export", {"q": mask(PHONE)})
    assert (await ada.get("/inbound", "start=soon")).status == 404
    page = await ada.get("/inbound", "live=yes&account=acme")
    assert 'data-refresh="/console/inbound-live?account=acme&amp;live=yes"' in page.text
    piece = await ada.get("/inbound-live", "account=acme", x_piece="1")
    assert "Later" in piece.text
    assert "<h1>" not in piece.text


async def test_a_file_and_a_page_find_the_same(house: AdminHouse, ada: Browser) -> None:
    """By an id, too. A long message that was joined late has the time when it was whole."""
    clock = house.gateway.clock
    clock.forward(120)
    first = await written(house, "Text 1")
    clock.forward(600)
    late = await written(house, "Text 2", at=clock.now() - 600_000)
    asked = "start=" + format_utc(clock.now())[:16].replace(" ", "T")
    for query, found in (
        ("", {first, late}), (f"q={first}", {first}), (f"q={first}&account=-", set()), (asked, {late}),
        (f"q={first}&{asked}", set()), (f"q={to_hex(1, 1)}", set()),
    ):  # fmt: skip
        page, file = (await ada.get("/inbound", query)), (await ada.get("/inbound.csv", query))
        assert page.status == 200
        assert {each for each in (first, late) if f"/inbound/{each}" in page.text} == found, query
        assert {each for each in (first, late) if each in file.text} == found, query


async def test_a_file_of_messages_has_all_of_them(house: AdminHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 2)
    for number in range(5):
        await written(house, f"Text {number}")
    pieces = [piece async for piece in files.inbound_file(house.admin.desk, "", InboundQuery())]
    assert [piece.count(b"Text ") for piece in pieces] == [0, 2, 2, 1]
    assert re.findall(rb"Text (.)", b"".join(pieces)) == [b"4", b"3", b"2", b"1", b"0"]
