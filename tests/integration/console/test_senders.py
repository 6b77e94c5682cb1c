"""The console's page of senders: registering, approving, refusing, removing."""

import re

import pytest

from tests.integration.console.test_console import EVIL, text_of
from tests.support.admin import AdminHouse, Browser

ACME = {"account": "acme", "sender": "ACME", "state": "pending", "note": "asked"}


async def test_senders_are_registered_approved_and_removed(house: AdminHouse, ada: Browser) -> None:
    assert "There are none" in text_of(await ada.get("/senders"))
    page = text_of(await ada.follow(await ada.post("/senders/put", ACME)))
    assert "The sender ACME of acme is pending within five seconds." in page
    assert "ACME acme pending" in page
    await ada.post("/senders/put", ACME | {"state": "approved"})
    assert "ACME acme approved" in text_of(await ada.get("/senders", "account=acme&state=approved"))
    assert "There are none" in text_of(await ada.get("/senders", "state=refused"))
    for wrong in ({"sender": "much too long for one"}, {"sender": EVIL}, {"state": "x"}, {"note": "x" * 201}):
        answered = await ada.post("/senders/put", ACME | wrong)
        assert answered.status == 400
        assert "<script>alert" not in answered.text
    await ada.post("/senders/remove", {"account": "acme", "sender": "ACME"})
    assert "There are none" in text_of(await ada.get("/senders"))
    actions = [(entry.action, entry.details.get("state")) for entry in await house.entries()][-3:]
    assert actions == [("sender.set", "pending"), ("sender.set", "approved"), ("sender.remove", None)]


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
