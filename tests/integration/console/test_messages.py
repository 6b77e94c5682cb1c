"""The page of messages: narrowed, live, as a file, and several cancelled at once."""

import asyncio
import csv
import io
import json
import re
from collections.abc import AsyncGenerator
from html import unescape
from typing import Any

import pytest

from heliograph.app.facts import Facts, MessageEnd
from heliograph.app.records import ExportFormat, Search
from heliograph.app.resources import messages as found_messages
from heliograph.app.resources.message_export import COLUMNS
from heliograph.console import files
from heliograph.console.pages import messages
from heliograph.domain.calendar import format_utc
from heliograph.domain.message.receipt import Delivery
from tests.integration.console.test_console import sent, text_of
from tests.integration.console.test_inbound import PHONE, written
from tests.support.admin import AdminHouse, Answered, Browser, call_asgi
from tests.support.timeouts import PATIENCE_S


def ids_of(page: Answered) -> list[str]:
    return re.findall(r'<th scope="row"[^>]*><a href="/console/messages/(\w+)"', page.text)


def table(answered: Answered) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(answered.body.decode(), newline="")))


async def failed(house: AdminHouse, code: str = "011", **fields: Any) -> str:
    message = await sent(house, **fields)
    key, now = house.gateway.intake.accepted[-1].key, house.gateway.clock.now()
    await house.gateway.store.commits.record(
        Facts(finals=[MessageEnd(1, key, Delivery.UNDELIV, code, now, owed=False)])
    )
    return message


async def test_messages_are_narrowed_by_what_has_no_index(house: AdminHouse, ada: Browser) -> None:
    german = await sent(house, **{"from": "Alpha"})
    british = await sent(house, to="447700900123", **{"from": "Beta"})
    bad = await failed(house)
    for query, found in (
        ("sender=beta", [british]),
        ("country=gb", [british]),
        ("country=DE", [bad, german]),
        ("error=UNDELIV+011", [bad]),
        ("error=999", []),
        ("connector=operator", [bad, british, german]),
        ("sender=Alpha&country=GB", []),
        (f"q={british}&country=DE", []),
    ):
        page = await ada.get("/messages", query)
        assert ids_of(page) == found, query
        assert '<details class="all" open>' in page.text, query
    assert '<details class="all">' in (await ada.get("/messages", "account=acme")).text
    assert "there is no connector nobody" in (await ada.get("/messages", "connector=nobody")).text.lower()


async def test_a_narrowed_search_is_gone_on_with_and_shows_each_once(house: AdminHouse, ada: Browser) -> None:
    wanted = [await sent(house, **{"from": "Odd" if number % 3 else "Even"}) for number in range(90)]
    seen: list[str] = []
    pages, query = 0, "sender=odd"
    while query:
        page = await ada.get("/messages", query)
        seen += ids_of(page)
        pages += 1
        match = re.search(r'href="/console/messages\?([^"]*more=[^"]*)"', page.text)
        query = "" if match is None else unescape(match[1])
    assert seen == [each for number, each in enumerate(wanted) if number % 3][::-1]
    assert pages == 2


async def test_the_file_has_what_the_page_finds_and_no_formula(house: AdminHouse, ada: Browser) -> None:
    await sent(house, reference="=1+1")
    bad = await failed(house, to="447700900123")
    answered = await ada.get("/messages.csv", "account=acme")
    assert answered.header("content-type") == "text/csv; charset=utf-8"
    assert answered.header("content-disposition") == 'attachment; filename="messages.csv"'
    assert "default-src 'none'" in str(answered.header("content-security-policy"))
    first, second = table(answered)
    assert list(first) == list(COLUMNS)
    assert (first["id"], first["to"], first["country"], first["error"]) == (bad, "447700900123", "GB", "011")
    assert second["reference"] == "'=1+1"
    assert "Hello" not in answered.text
    assert [row["id"] for row in table(await ada.get("/messages.csv", "error=011"))] == [bad]
    entry = (await house.entries())[-1]
    assert (entry.action, entry.details) == ("message.export", {"error": "011"})
    await ada.get("/messages.csv", "q=%2B44+7700+900123&sender=447700900999&start=2026-11-20T10:00")
    shown = {"q": "447*******23", "sender": "447*******99", "start": "2026-11-20T10:00"}
    assert (await house.entries())[-1].details == shown


async def test_a_file_has_no_limit_and_a_page_in_memory(house: AdminHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_messages, "ROWS_AT_ONCE", 2)
    wanted = [await sent(house) for _ in range(7)][::-1]
    pieces = [piece async for piece in found_messages.message_file(house.admin.desk, "", Search(), ExportFormat.JSONL)]
    assert [piece.count(b"\n") for piece in pieces] == [0, 2, 2, 2, 1]
    assert [json.loads(line)["id"] for line in b"".join(pieces).splitlines()] == wanted


async def test_the_file_comes_as_json_lines(house: AdminHouse, ada: Browser) -> None:
    bad = await failed(house, to="447700900123")
    answered = await ada.get("/messages.jsonl", "error=011&direction=both")
    assert answered.header("content-type") == "application/x-ndjson"
    assert answered.header("content-disposition") == 'attachment; filename="messages.jsonl"'
    (line,) = answered.text.splitlines()
    values = json.loads(line)
    assert list(values) == list(COLUMNS)
    assert (values["id"], values["country"], values["error"], values["segments"]) == (bad, "GB", "011", 1)
    assert (values["price"], values["reference"], values["delivery"]) == ("1", None, "UNDELIV")
    assert (
        '<a class="button small" href="/console/messages.jsonl?error=011"'
        in (await ada.get("/messages", "error=011")).text
    )


async def test_a_head_of_the_file_has_no_body(house: AdminHouse, ada: Browser) -> None:
    cookie = "; ".join(f"{name}={value}" for name, value in ada.cookies.items())
    answered = await call_asgi(house.console, "HEAD", "/console/messages.csv", headers={"cookie": cookie})
    assert (answered.status, answered.body) == (200, b"")


async def test_several_are_cancelled_each_by_itself(house: AdminHouse, ada: Browser) -> None:
    later = [await sent(house, time=f"2027-02-0{day} 10:00:00") for day in (1, 2, 3)]
    gone = await sent(house)
    page = await ada.get("/messages")
    assert page.text.count('name="message"') == 3
    form = {"message": [later[0], later[2], gone, "x"], "account": "acme", "country": "DE"}
    answered = await ada.post("/messages/cancel", form)
    assert answered.header("location") == "/console/messages?account=acme&country=DE"
    text = text_of(await ada.follow(answered))
    assert "2 messages are cancelled and refunded." in text
    assert "1 was not: 'x' is not an id of a message; an id has 32 hexadecimal characters." in text
    deeds = [(entry.actor, entry.action, entry.target) for entry in await house.entries()]
    assert deeds[-2:] == [("user:ada", "message.cancel", later[0]), ("user:ada", "message.cancel", later[2])]
    assert (await ada.get("/messages")).text.count('name="message"') == 1
    page = await ada.follow(await ada.post("/messages/cancel"))
    assert "No message was selected." in page.text


async def test_a_viewer_selects_nothing_but_takes_the_file(house: AdminHouse) -> None:
    message = await sent(house, time="2027-02-01 10:00:00")
    viewer = await house.visitor("viewer", "bob")
    page = await viewer.get("/messages")
    assert 'name="message"' not in page.text
    assert (await viewer.post("/messages/cancel", {"message": message})).status == 403
    assert len(table(await viewer.get("/messages.csv"))) == 1


async def test_a_live_page_fetches_its_first_rows_anew(house: AdminHouse, ada: Browser) -> None:
    message = await sent(house)
    page = await ada.get("/messages", "live=yes&account=acme&sender=Test")
    match = re.search(r'data-refresh="/console(/messages-live)\?([^"]*)"', page.text)
    assert match is not None
    piece = await ada.get(match[1], unescape(match[2]), x_piece="1")
    assert ids_of(piece) == [message]
    assert "<h1>" not in piece.text
    assert "data-refresh" not in (await ada.get("/messages", "account=acme")).text
    assert "there is no account x" in (await ada.get("/messages-live", "account=x", x_piece="1")).text.lower()


async def test_messages_from_phones_are_on_their_own_page(house: AdminHouse, ada: Browser) -> None:
    answered = await ada.get("/messages", "direction=inbound&q=4917&account=acme")
    assert answered.header("location") == "/console/inbound?q=4917&account=acme"


def lines_of(page: Answered) -> list[tuple[str, str]]:
    """Returns the target of each line of the list: `messages` or `inbound`, and the id."""
    return re.findall(r'<th scope="row"[^>]*><a href="/console/(messages|inbound)/(\w+)"', page.text)


async def test_both_directions_are_one_list(house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "PAGE", 3)
    expected: list[tuple[str, str]] = []
    for number in range(8):
        house.gateway.clock.forward(1)
        if number % 3 == 1:
            expected.append(("inbound", await written(house, "Hello")))
        else:
            expected.append(("messages", await sent(house, to=PHONE, reference=f"r-{number}")))
    expected.reverse()
    seen: list[tuple[str, str]] = []
    query = "direction=both"
    while query:
        page = await ada.get("/messages", query)
        seen += lines_of(page)
        match = re.search(r'href="/console/messages\?([^"]*before=[^"]*)"', page.text)
        query = "" if match is None else unescape(match[1])
    assert seen == expected
    assert lines_of(await ada.get("/messages-live", "direction=both&live=yes")) == expected[:3]
    assert "data-refresh" in (await ada.get("/messages", "direction=both&live=yes")).text
    one = next(line for line in expected if line[0] == "inbound")
    assert lines_of(await ada.get("/messages", f"direction=both&q={one[1]}")) == [one]
    assert lines_of(await ada.get("/messages", f"direction=both&q=%2B{PHONE}")) == expected[:3]
    assert lines_of(await ada.get("/messages", "direction=both&q=r-6")) == expected[1:2]
    assert lines_of(await ada.get("/messages", "direction=both&account=acme")) == expected[:3]
    narrowed = await ada.get("/messages", "direction=both&status=pending")
    assert {kind for kind, _ in lines_of(narrowed)} == {"messages"}
    assert "Messages from phones are not shown" in narrowed.text
    assert "there is no account nobody" in (await ada.get("/messages", "direction=both&account=nobody")).text.lower()


async def test_both_directions_keep_to_the_times_that_are_asked_for(house: AdminHouse, ada: Browser) -> None:
    clock = house.gateway.clock
    expected = []
    for _ in range(3):
        clock.forward(60)
        expected.append((format_utc(clock.now())[:16], await written(house, "Hello"), await sent(house, to=PHONE)))
    at, came, went = expected[1]
    page = await ada.get("/messages", f"direction=both&start={at}&end={at}")
    assert lines_of(page) == [("messages", went), ("inbound", came)]


async def test_both_directions_are_one_file(house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 2)
    expected = []
    for number in range(6):
        house.gateway.clock.forward(1)
        if number % 3 == 1:
            expected.append(("from phone", await written(house, "Hello")))
        else:
            expected.append(("to phone", await failed(house, to=PHONE, reference=f"r-{number}")))
    expected.reverse()
    page = await ada.get("/messages", "direction=both&account=acme")
    (href,) = re.findall(r'href="/console(/messages.csv)\?([^"]*)"', page.text)
    answered = await ada.get(href[0], unescape(href[1]))
    assert answered.header("content-disposition") == 'attachment; filename="messages-both-directions.csv"'
    rows = table(answered)
    assert [(row["direction"], row["id"]) for row in rows] == expected
    assert list(rows[0]) == list(files.TRAFFIC_COLUMNS)
    came = next(row for row in rows if row["direction"] == "from phone")
    assert (came["from"], came["country"], came["state"], came["account"]) == (PHONE, "GB", "received", "acme")
    assert (rows[0]["to"], rows[0]["error"], rows[0]["reference"]) == (PHONE, "011", "r-5")
    assert "Hello" not in answered.text
    entry = (await house.entries())[-1]
    assert (entry.action, entry.details) == ("message.export", {"account": "acme", "direction": "both"})
    only = table(await ada.get("/messages.csv", "direction=both&error=011"))
    assert {row["direction"] for row in only} == {"to phone"}
    pieces = [piece async for piece in files.traffic_file(house.admin.desk, "", Search())]
    assert b"".join(pieces) == answered.body
    assert len(pieces) == 4


async def test_few_files_are_written_at_once(house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = asyncio.Semaphore(0), asyncio.Event()

    async def slow_file(*_: Any) -> AsyncGenerator[bytes]:
        yield b"head\r\n"
        begun.release()
        await go_on.wait()

    monkeypatch.setattr(found_messages, "message_file", slow_file)
    running = [asyncio.create_task(ada.get("/messages.csv")) for _ in range(4)]
    async with asyncio.timeout(PATIENCE_S):
        for _ in running:
            await begun.acquire()
    for path in ("/messages.csv", "/inbound.csv", "/accounts/acme/ledger.csv"):
        refused = await ada.get(path)
        assert (refused.status, refused.header("retry-after")) == (503, "10")
        assert "At most 4 exports may be written at a time" in text_of(refused)
    assert (await ada.get("/messages.csv", "account=nobody")).status == 503
    assert (await ada.get("/messages.csv", "direction=both")).status == 503
    go_on.set()
    assert [(await each).status for each in running] == [200] * 4
    assert (await ada.get("/messages.csv", "account=nobody")).status == 404
    for _ in range(9):
        assert (await ada.get("/inbound.csv")).status == 200
