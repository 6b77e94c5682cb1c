"""Search from everywhere: what is meant is found by whoever may see it, and the menu says what there is."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest

from heliograph.app.configuration import Account, ApiKey, Price
from heliograph.console.menu import MENU
from heliograph.console.pages import PAGES
from tests.integration.console.test_console import EVIL, sent, text_of
from tests.integration.console.test_inbound import written
from tests.support.admin import AdminHouse, Answered, Browser
from tests.support.gateway import START


def new_account(name: str) -> tuple[Account, ApiKey, int, list[Price]]:
    account = Account(0, name, "hash", bytes(32), created=START)
    return account, ApiKey(f"k-{name}", 0, name.encode() * 4, START), 0, []


async def search(browser: Browser, text: str) -> Answered:
    return await browser.get("/find", urlencode({"q": text}))


def place(answered: Answered) -> str | None:
    return answered.header("location")


async def test_a_reference_in_the_form_of_an_id_leads_to_its_message(house: AdminHouse, ada: Browser) -> None:
    reference = "019e2b1c-5f3a-7000-8c1d-e1f5a0b7c3d2"
    message = await sent(house, reference=reference)
    assert place(await search(ada, reference)) == f"/console/messages/{message}"


async def test_what_is_called_exactly_so_is_gone_to(house: AdminHouse, ada: Browser) -> None:
    message = await sent(house)
    for _ in range(2):
        assert place(await search(ada, f" {message} ")) == f"/console/messages/{message}"
        await sent(house, reference=message)
    assert place(await search(ada, "ACME")) == "/console/accounts/acme"
    assert place(await search(ada, "pumping guard")) == "/console/guard"


async def test_the_id_of_an_inbound_message_leads_to_it(house: AdminHouse, ada: Browser) -> None:
    inbound = await written(house, "Yes, please")
    assert place(await search(ada, inbound)) == f"/console/inbound/{inbound}"


async def test_a_number_finds_both_directions_and_what_can_be_done(house: AdminHouse, ada: Browser) -> None:
    message = await sent(house, to="491701234567")
    page = await search(ada, "+49 170 1234567")
    assert page.status == 200
    assert f"/console/messages/{message}" in page.text
    assert "/console/messages?q=491701234567" in page.text
    assert "/console/inbound?q=491701234567" in page.text
    assert "/console/routing?number=491701234567" in page.text
    assert "/console/send?to=491701234567" in page.text
    assert ">491701234567</textarea>" in (await ada.get("/send", "to=491701234567")).text


async def test_a_part_of_a_name_and_another_word_find_accounts_and_pages(house: AdminHouse, ada: Browser) -> None:
    page = await search(ada, "cm")
    assert "/console/accounts/acme" in page.text
    page = await search(ada, "webhook")
    assert "Callbacks" in text_of(page).partition("Pages ")[2]


async def test_a_reference_is_found(house: AdminHouse, ada: Browser) -> None:
    for reference in ("order-77", "2027000000000001", "00123456"):
        message = await sent(house, reference=reference)
        assert f"/console/messages/{message}" in (await search(ada, reference)).text, reference


@pytest.mark.parametrize("text", ["nothing is called so", "12", EVIL, "%00", "'; DROP TABLE message; --"])
async def test_what_is_nothing_is_said_to_be_nothing(house: AdminHouse, ada: Browser, text: str) -> None:
    page = await search(ada, text)
    assert page.status == 200
    assert "Search for a message by its id" in page.text
    assert EVIL not in page.text


async def test_without_a_text_the_page_says_what_may_be_searched(house: AdminHouse, ada: Browser) -> None:
    assert "Enter a phone number" in (await ada.get("/find")).text


async def test_pages_that_a_role_may_not_see_are_not_found(house: AdminHouse) -> None:
    viewer = await house.visitor("viewer", "bob")
    for text in ("audit log", "people and tokens", "one phone"):
        page = await search(viewer, text)
        assert page.status == 200
        assert "Search for a message by its id" in page.text
    assert 'data-key="l"' not in (await viewer.get("/")).text
    admin = await house.visitor("admin", "eve")
    assert 'data-key="l"' in (await admin.get("/")).text


def test_each_page_of_the_menu_is_there_for_whom_it_says_and_has_its_own_key() -> None:
    pages = {page.path: page.scope for page in PAGES if page.method == "GET"}
    assert {each.path: each.scope for each in MENU} == {each.path: pages[each.path] for each in MENU}
    keys = [each.key for each in MENU if each.key]
    assert len(keys) == len(set(keys))


async def suggested(browser: Browser, text: str) -> list[tuple[str, str, str]]:
    """Returns text, kind and path of each suggestion."""
    piece = await browser.get("/find/suggest", urlencode({"q": text}))
    assert piece.status == 200
    found = re.findall(
        r'data-href="([^"]+)"><span class="what">(.*?)</span> <span class="muted">(.*?)</span>', piece.text
    )
    assert [f"suggestion-{number}" for number in range(1, len(found) + 1)] == re.findall(r'id="(.*?)"', piece.text)
    return [(what, kind, unescape(href).removeprefix("/console")) for href, what, kind in found]


async def test_suggestions_name_accounts_connectors_and_pages(ada: Browser) -> None:
    assert await suggested(ada, "ACM") == [("acme", "Account", "/accounts/acme")]
    assert ("operator", "Connector", "/connectors/operator") in await suggested(ada, "oper")
    assert ("Callbacks", "Page", "/callbacks") in await suggested(ada, "webhook")
    assert await suggested(ada, "") == []
    assert await suggested(ada, EVIL) == []


async def test_suggestions_for_a_number_lead_to_both_directions(house: AdminHouse, ada: Browser) -> None:
    await sent(house, to="491701234567")
    await sent(house, to="491701234568")
    await sent(house, to="447700900123", reference="49170123456")
    short = [("4917", "Messages to it", "/messages?q=4917"), ("4917", "Messages from it", "/inbound?q=4917")]
    assert await suggested(ada, "+49 17") == short
    long = await suggested(ada, "49170123456")
    assert long == [
        ("49170123456", "Messages to it", "/messages?q=49170123456"),
        ("491701234567", "Messages to it", "/messages?q=491701234567"),
        ("491701234568", "Messages to it", "/messages?q=491701234568"),
        ("49170123456", "Messages from it", "/inbound?q=49170123456"),
    ]


async def test_the_id_of_a_message_is_suggested(house: AdminHouse, ada: Browser) -> None:
    message = await sent(house)
    assert await suggested(ada, message) == [(message, "Message", f"/messages/{message}")]
    inbound = await written(house, "Yes, please")
    assert await suggested(ada, inbound) == [(inbound, "Message from a phone", f"/inbound/{inbound}")]


async def test_suggestions_are_within_the_role_and_few(house: AdminHouse, ada: Browser) -> None:
    for number in range(12):
        await house.desk.store.accounts.create(*new_account(f"acme-{number}"))
    assert [what for what, _, _ in await suggested(ada, "acme")] == ["acme", "acme-0", "acme-1"]
    viewer = await house.visitor("viewer", "vera")
    assert ("Audit log", "Page", "/audit") not in await suggested(viewer, "audit")
    assert (await Browser(house.console).get("/find/suggest", "q=acme")).status == 303
