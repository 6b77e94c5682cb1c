"""The console's menu."""

import re

import pytest

from heliograph.console.menu import GROUPS
from tests.integration.console.test_console import owed
from tests.support.admin import STATE, AdminHouse, Browser


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/senders", "Senders"),
        ("/send", "Send"),
        ("/accounts-new", "Accounts"),
        ("/accounts/acme", "Accounts"),
        ("/", "Overview"),
    ],
)
async def test_the_menu_marks_one_page(house: AdminHouse, ada: Browser, path: str, name: str) -> None:
    page = await ada.get(path)
    assert re.findall(r'aria-current="page">([^<]+)<', page.text) == [name]


async def test_the_menu_has_five_groups_with_rare_pages_below_more(ada: Browser) -> None:
    page = (await ada.get("/recipients")).text
    assert re.findall(r'class="group" id="menu-\d">([^<]+)<', page) == [name for name, _ in GROUPS]
    assert len(GROUPS) == 5
    more = re.findall(r"<details( open)?><summary>More</summary>(.*?)</details>", page, re.DOTALL)
    assert [(state, re.findall(r">([^<>\n]+)</a>", pages)) for state, pages in more] == [
        ("", ["Networks", "Sender rules", "Templates"]), (" open", ["Nodes", "One phone"]),
    ]  # fmt: skip


async def test_the_menu_counts_what_needs_somebody(
    house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await ada.get("/attention", x_piece="1")).json == {}
    await owed(house)
    monkeypatch.setattr(STATE, "silent", 1)
    assert (await ada.get("/attention", x_piece="1")).json == {"/console/connectors": "1"}
