"""The reply box of a conversation."""

import re

import pytest

from tests.integration.console.test_console import text_of
from tests.integration.console.test_inbound import PHONE, written
from tests.support.admin import AdminHouse, Browser

QUERY = f"account=acme&phone={PHONE}"
REPLY = {"account": "acme", "phone": PHONE, "sender": "3388", "content": "Tomorrow at nine.", "reference": "reply-1"}


def sent(house: AdminHouse) -> list[tuple[str, str, str]]:
    messages = [each.messages[0] for each in house.gateway.intake.accepted]
    return [(each.destination, each.sender, each.content) for each in messages]


async def test_a_reply_goes_to_the_phone_and_is_charged(house: AdminHouse, ada: Browser) -> None:
    await written(house, "When do you come?")
    page = (await ada.get("/conversation", QUERY)).text
    assert re.search(r'name="sender"[^>]* value="3388"', page), "from the number that the phone wrote to"
    reference = re.findall(r'name="reference" value="(reply-\w+)"', page)[0]
    answer = await ada.post("/conversation/reply", REPLY | {"reference": reference})
    page = text_of(await ada.follow(answer))
    assert "Sent: 1 segment, 1 credit." in page
    assert "Tomorrow at nine." in page
    assert sent(house) == [(PHONE, "3388", "Tomorrow at nine.")]
    assert await house.gateway.balance() == "999"
    entry = (await house.entries())[-1]
    assert (entry.action, entry.actor) == ("message.send", "user:ada")
    assert entry.details == {"account": "acme", "segments": "1", "price": "1"}


async def test_the_form_that_comes_twice_sends_once(house: AdminHouse, ada: Browser) -> None:
    for _ in range(2):
        assert (await ada.post("/conversation/reply", REPLY)).status == 303
    assert await house.gateway.balance() == "999"
    assert [each.action for each in await house.entries()].count("message.send") == 1
    changed = await ada.post("/conversation/reply", REPLY | {"content": "Never."})
    assert changed.status == 400
    assert "reference was used for another request" in text_of(changed)


async def test_what_is_typed_is_priced(ada: Browser) -> None:
    quote = text_of(await ada.post("/send/quote", REPLY | {"recipients": PHONE, "content": "x" * 161}))
    assert "Segments 2" in quote
    assert "2 credits" in quote


REFUSED = [
    ({"sender": "no sender"}, "3 to 11"), ({"content": ""}, "content"), ({"phone": "0170"}, "destination"),
    ({"account": "nobody"}, "no account nobody"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "words"), REFUSED)
async def test_a_mistake_is_shown_with_what_was_typed(
    house: AdminHouse, ada: Browser, changes: dict[str, str], words: str
) -> None:
    answer = await ada.post("/conversation/reply", REPLY | changes)
    assert words in text_of(answer)
    if "account" not in changes:
        assert (answer.status, (REPLY | changes)["content"] in answer.text) == (400, True)
    assert sent(house) == []


async def test_an_account_without_credit_sends_nothing(house: AdminHouse, ada: Browser) -> None:
    await house.gateway.change_account(daily_spend=1)
    answer = await ada.post("/conversation/reply", REPLY)
    assert answer.status == 400
    assert await house.gateway.balance() == "1000"


async def test_nothing_is_sent_to_a_phone_that_opted_out(house: AdminHouse, ada: Browser) -> None:
    await ada.post("/conversation/suppress", {"account": "acme", "phone": PHONE})
    page = await ada.get("/conversation", QUERY)
    assert "The phone opted out, so acme cannot send to it." in text_of(page)
    assert 'name="content"' not in page.text
    answer = await ada.post("/conversation/reply", REPLY)
    assert answer.status == 400
    assert "opted out" in text_of(answer)
    assert await house.gateway.balance() == "1000"


async def test_who_may_not_send_has_no_box(house: AdminHouse, ada: Browser) -> None:
    del ada
    viewer = await house.visitor("viewer", "vera")
    assert 'name="content"' not in (await viewer.get("/conversation", QUERY)).text
    assert (await viewer.post("/conversation/reply", REPLY)).status == 403
    assert sent(house) == []
