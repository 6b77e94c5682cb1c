"""The console's page of refused requests."""

from tests.integration.admin.test_refusals import GOOD, write_refusals
from tests.integration.console.test_console import EVIL, text_of
from tests.support.admin import AdminHouse, Browser

PAGE = "/refusals"


async def test_nothing_was_refused(house: AdminHouse, ada: Browser) -> None:
    page = text_of(await ada.get(PAGE))
    assert "Last 24 hours: 0 requests" in page
    assert "No request was refused." in page


async def test_refused_requests_are_shown_by_account_and_reason(house: AdminHouse, ada: Browser) -> None:
    await house.gateway.send({**GOOD, "to": "no number"})
    await house.gateway.call("POST", "/api/v1/messages", b"{}", headers={"X-Request-Id": "mine"})
    await house.gateway.send({**GOOD, "to": "no number"})
    await house.gateway.change_account("other", suspended=True)
    await house.gateway.send(GOOD, auth="other")
    await write_refusals(house)
    page = await ada.get(PAGE)
    assert "Last 24 hours: 4 requests" in text_of(page)
    assert "acme invalid 2 2027-01-15 08:00:00" in text_of(page)
    assert "other suspended 1" in text_of(page)
    assert "Refused requests: 4 requests" in page.text
    narrow = text_of(await ada.get(PAGE, "account=acme&reason=invalid&hours=336"))
    assert "Last 14 days: 2 requests" in narrow
    assert "POST /api/v1/messages 400 to The destination must" in narrow
    assert "192.0.2.7 mine" in text_of(page)
    assert "other suspended" not in narrow
    house.gateway.clock.ms += 59 * 60_000
    last = text_of(await ada.get(PAGE, "hours=1"))
    assert "Last hour: 4 requests Counted by the hour, from 2027-01-15 07:00:00 on." in last


async def test_what_a_customer_sent_cannot_do_anything_here(house: AdminHouse, ada: Browser) -> None:
    await house.gateway.send({**GOOD, "to": "<script>"})
    await write_refusals(house)
    page = await ada.get(PAGE)
    assert "<script>" not in page.text.partition("<main")[2]
    assert "&lt;script&gt;" in page.text


async def test_an_unknown_account_and_reason_are_told(house: AdminHouse, ada: Browser) -> None:
    assert (await ada.get(PAGE, "account=nobody")).status == 404
    page = await ada.get(PAGE, f"reason={EVIL}")
    assert page.status == 404
    assert "<script>alert" not in page.text


async def test_an_accounts_page_leads_to_its_refused_requests(house: AdminHouse, ada: Browser) -> None:
    assert 'href="/console/refusals?account=acme"' in (await ada.get("/accounts/acme")).text
