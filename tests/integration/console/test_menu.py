"""The console's menu."""

import re

import pytest

from tests.support.admin import AdminHouse, Browser


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
