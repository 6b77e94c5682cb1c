"""The console's page of phones that opted out."""

import threading
from collections.abc import Iterable

import pytest

from heliograph.app.admin.number_list import NumberList
from heliograph.console.pages import suppressions
from tests.integration.console.test_console import EVIL, text_of
from tests.support.admin import AdminHouse, Browser

PAGE = "/suppressions"
PHONE, OTHER = "447700900123", "491701234567"


async def test_an_account_is_chosen_first(house: AdminHouse, ada: Browser) -> None:
    page = await ada.get(PAGE)
    assert "Choose one" in page.text
    assert "Add a number" not in page.text
    page = await ada.get(PAGE, "account=acme")
    assert "No phone is suppressed: acme may send to every phone." in text_of(page)
    assert (await ada.get(PAGE, "account=nobody")).status == 404


async def test_a_number_is_added_and_removed(house: AdminHouse, ada: Browser) -> None:
    for told in (f"{PHONE} is suppressed now for acme.", f"{PHONE} was suppressed already for acme."):
        answered = await ada.post(f"{PAGE}/add", {"account": "acme", "number": "+44 7700 900-123"})
        assert told in text_of(await ada.follow(answered))
    page = await ada.get(PAGE, "account=acme")
    assert f"{PHONE} 2027-01-15 08:00:00 console" in text_of(page)
    assert (await house.gateway.send({"to": PHONE, "from": "Helio", "content": "x"})).fault == (403, "06", "to")
    removed = await ada.follow(await ada.post(f"{PAGE}/remove", {"account": "acme", "number": PHONE}))
    assert f"acme may send to {PHONE} again." in text_of(removed)
    assert (await ada.post(f"{PAGE}/remove", {"account": "acme", "number": PHONE})).status == 404
    actions = [(entry.actor, entry.action, entry.details) for entry in await house.entries()][-3:]
    masked = {"number": "447*******23"}
    assert actions == [
        ("user:ada", "suppression.add", masked | {"new": "1", "source": "console"}),
        ("user:ada", "suppression.add", masked | {"new": "0", "source": "console"}),
        ("user:ada", "suppression.remove", masked),
    ]


async def test_what_is_no_number_is_told_and_stays_in_the_form(house: AdminHouse, ada: Browser) -> None:
    page = await ada.post(f"{PAGE}/add", {"account": "acme", "number": EVIL})
    assert page.status == 400
    assert "The number must consist of the digits 0 to 9" in text_of(page)
    assert "<script>alert" not in page.text
    assert "alert(1)" in page.text


async def test_numbers_are_found_by_their_beginning(house: AdminHouse, ada: Browser) -> None:
    numbers = [PHONE, *(str(491700000000 + n) for n in range(suppressions.PAGE + 3))]
    await house.gateway.store.suppressions.suppress(1, numbers, "import", house.gateway.clock.now())
    first = await ada.get(PAGE, "account=acme")
    assert numbers[suppressions.PAGE - 1] in first.text
    assert numbers[suppressions.PAGE] not in first.text
    assert f"after={numbers[suppressions.PAGE - 1]}" in first.text
    second = await ada.get(PAGE, f"account=acme&after={numbers[suppressions.PAGE - 1]}")
    assert numbers[-1] in second.text
    assert ">More</a>" not in second.text
    found = await ada.get(PAGE, "account=acme&q=%2B44+77")
    assert PHONE in found.text
    assert numbers[1] not in found.text
    exact = text_of(await ada.get(PAGE, f"account=acme&q={numbers[-1]}"))
    assert exact.count(f"{numbers[-1]} 2027-01-15") == 1
    assert "No such number is suppressed." in text_of(await ada.get(PAGE, "account=acme&q=45"))
    further = await ada.get(PAGE, f"account=acme&q=4917&after={numbers[suppressions.PAGE]}")
    assert numbers[-1] in further.text


async def test_a_list_is_pasted(house: AdminHouse, ada: Browser) -> None:
    pasted = f"# old ones\r\n{PHONE}\r\n0170 12\r\n{OTHER};Ada\r\n\r\n{PHONE}\r\n"
    refused = await ada.post(f"{PAGE}/import", {"account": "acme", "list": pasted})
    assert refused.status == 400
    assert "1 line cannot be used. Nothing was imported." in text_of(refused)
    assert "Line 3 : The number must not begin with 0" in text_of(refused)
    assert OTHER in refused.text, "what was pasted stays"
    assert await house.gateway.store.suppressions.page(1, "", 10) == []
    done = await ada.follow(await ada.post(f"{PAGE}/import", {"account": "acme", "list": pasted, "skip": "yes"}))
    assert "2 numbers new, 1 suppressed already, 1 line skipped." in text_of(done)
    found = await house.gateway.store.suppressions.page(1, "", 10)
    assert [(each.number, each.source) for each in found] == [(PHONE, "import"), (OTHER, "import")]


async def test_a_list_that_is_too_long_or_empty_is_refused(
    house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suppressions, "MOST_PASTED", 1)
    page = await ada.post(f"{PAGE}/import", {"account": "acme", "list": f"{PHONE}\n{OTHER}"})
    assert "The list has 2 numbers; at most 1 can be pasted." in text_of(page)
    assert "There are no numbers" in text_of(await ada.post(f"{PAGE}/import", {"account": "acme", "list": "\n"}))
    many = "\n".join("x1" for _ in range(suppressions.BAD_SHOWN + 5))
    assert "and 5 more" in text_of(await ada.post(f"{PAGE}/import", {"account": "acme", "list": many}))


async def test_a_list_is_read_beside_other_work(
    house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers: list[threading.Thread] = []

    class Read(NumberList):
        def __init__(self, lines: Iterable[str]) -> None:
            readers.append(threading.current_thread())
            super().__init__(lines)

    monkeypatch.setattr(suppressions, "NumberList", Read)
    assert (await ada.post(f"{PAGE}/import", {"account": "acme", "list": PHONE})).status == 303
    assert len(readers) == 1
    assert threading.main_thread() not in readers


async def test_a_viewer_only_looks(house: AdminHouse) -> None:
    await house.gateway.store.suppressions.suppress(1, [PHONE], "message", house.gateway.clock.now())
    visitor = await house.visitor("viewer", "bob")
    page = await visitor.get(PAGE, "account=acme")
    assert PHONE in page.text
    assert "Remove" not in text_of(page)
    assert "Add a number" not in page.text
