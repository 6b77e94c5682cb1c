"""A page without rows says why it is empty, and offers the next step."""

import re

from tests.support.admin import AdminHouse, Browser

PAGES = (
    "/accounts?q=nobody", "/binds", "/callbacks", "/callbacks?tab=failed", "/callbacks?tab=pending", "/costs",
    "/guard", "/inbound", "/inbound?q=49170", "/lists", "/margin/figures?from=2027-01-01&plan=yes", "/messages",
    "/messages?q=49170", "/networks", "/nodes", "/numbers", "/people", "/queue", "/refusals", "/refusals?hours=1",
    "/reports", "/sender-rules", "/senders", "/suppressions?account=acme",
    "/templates", "/accounts/other/ledger?kind=refund", "/sender-rules?country=DE",
)  # fmt: skip

FIGURES = ("There are no figures for this period.", "None.")
"""In the place of a chart, or of a table of failures."""


async def test_an_empty_list_offers_the_next_step(ada: Browser) -> None:
    for path in PAGES:
        page = await ada.get(*path.split("?"))
        assert page.status == 200, path
        sentences = re.findall(r'<p class="nothing">(.*?)</p>', page.text, re.DOTALL)
        assert sentences, f"{path} has no empty list"
        without = [
            each for each in sentences if each not in FIGURES and not re.search(r"<a href=|heliograph \w+", each)
        ]
        assert without == [], path


async def test_who_may_not_take_the_step_has_no_link(house: AdminHouse, ada: Browser) -> None:
    del ada
    viewer = await house.visitor("viewer", "vera")
    page = (await viewer.get("/messages")).text
    assert "No message was sent yet." in page
    assert 'href="/console/send"' not in page
