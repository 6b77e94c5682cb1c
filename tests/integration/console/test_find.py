"""Search from everywhere: what is meant is found by whoever may see it, and the menu says what there is."""

from urllib.parse import urlencode

import pytest

from heliograph.console.menu import MENU
from heliograph.console.pages import PAGES
from tests.integration.console.test_console import EVIL, sent, text_of
from tests.integration.console.test_inbound import written
from tests.support.admin import AdminHouse, Answered, Browser


async def search(browser: Browser, text: str) -> Answered:
    return await browser.get("/find", urlencode({"q": text}))


def place(answered: Answered) -> str | None:
    return answered.header("location")


async def test_what_is_called_exactly_so_is_gone_to(house: AdminHouse, ada: Browser) -> None:
    message = await sent(house)
    assert place(await search(ada, f" {message} ")) == f"/console/messages/{message}"
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
    message = await sent(house, reference="order-77")
    assert f"/console/messages/{message}" in (await search(ada, "order-77")).text


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
