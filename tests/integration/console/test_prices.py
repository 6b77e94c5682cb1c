"""Prices and routes by the thousand in the console: found, edited, in and out as CSV."""

import re
import time
from collections.abc import Sequence
from html import unescape
from typing import Any
from urllib.parse import parse_qsl

import pytest

from heliograph.app.resources import connectors, prices, routes
from tests.integration.console.test_console import EVIL, text_of
from tests.support.admin import AdminHouse, Answered, Browser

QUICK_S = 0.3

LIST = "plan,mccmnc,prefix,price,inbound,since\ngold,26201,,0.06,,\ngold,,49,0.07,0,\ngold,,44,0.08,0.5,2100-01-01\n"


def prefixes(page: Answered) -> list[str]:
    return re.findall(r'<th scope="row" class="one">(\w[^<]*?)\s*<', page.text)


async def given(house: AdminHouse, *prefixes: str, plan: str = "gold", since: Sequence[int] = (0,)) -> None:
    await prices.put(
        house.admin.desk,
        [
            {"plan": plan, "prefix": prefix, "price": 70_000, "inbound": 0, "since": date}
            for prefix in prefixes
            for date in since
        ],
    )


async def gold(house: AdminHouse) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (await prices.find(house.admin.desk, "gold"))["prices"]
    return rows


async def test_prices_are_found_by_plan_and_number_and_come_in_pages(house: AdminHouse, ada: Browser) -> None:
    await given(house, *(str(number) for number in range(1000, 1120)))
    await given(house, "", "49", "4917", "4930", plan="silver")
    page = await ada.get("/prices", "in_plan=gold")
    assert len(prefixes(page)) == 50
    assert "120 prices, page 1 of 3" in text_of(page)
    last = await ada.get("/prices", "in_plan=gold&page=3")
    assert 'rel="next"' not in last.text
    assert prefixes(last)[0] == "1100"
    # what serves the number, and what is within its beginning
    assert prefixes(await ada.get("/prices", "q=%2B49+170+1234567&in_plan=silver")) == ["all numbers", "49", "4917"]
    assert prefixes(await ada.get("/prices", "q=49&in_plan=silver")) == ["all numbers", "49", "4917", "4930"]
    for odd in ("page=0", "page=x", "page=999999", "page=-1"):
        assert (await ada.get("/prices", odd)).status == 200


@pytest.mark.extended
async def test_a_page_of_ten_thousand_prices_is_quick(house: AdminHouse, ada: Browser) -> None:
    await given(house, *(str(number) for number in range(10_000, 20_000)))
    took = []
    for query in ("", "q=1777", "in_plan=gold&page=150"):
        begun = time.process_time()
        assert (await ada.get("/prices", query)).status == 200
        took.append(time.process_time() - begun)
    assert min(took) < QUICK_S


async def test_prices_of_the_past_are_shown_where_asked_for(house: AdminHouse, ada: Browser) -> None:
    now = house.gateway.clock.now()
    await given(house, "49", since=(0, now - 1000, now + 1_000_000))
    assert len(prefixes(await ada.get("/prices", "in_plan=gold"))) == 2
    page = text_of(await ada.get("/prices", "in_plan=gold&past=yes"))
    assert (page.count("(past)"), page.count("(future)")) == (1, 1)


async def test_a_price_is_edited_in_the_form(house: AdminHouse, ada: Browser) -> None:
    await given(house, "49")
    page = await ada.get("/prices")
    match = re.search(r'href="/console/prices\?([^"#]*)#set"', page.text)
    assert match is not None
    form = dict(parse_qsl(unescape(match[1]), keep_blank_values=True))
    edit = await ada.get("/prices", unescape(match[1]))
    assert "Edit a price" in edit.text
    assert 'value="0.07"' in edit.text
    page = await ada.follow(await ada.post("/prices", form | {"price": "0.09"}))
    assert "No account has the plan gold yet." in text_of(page)  # the name may be mistyped
    assert [(each["prefix"], each["price"]) for each in await gold(house)] == [("49", 90_000)]


async def test_the_price_of_a_network_is_set_edited_and_removed(house: AdminHouse, ada: Browser) -> None:
    form = {"plan": "gold", "price_prefix": "", "network": "26201", "price": "0.08", "inbound": "", "since": ""}
    await ada.post("/prices", form)
    page = await ada.get("/prices", "in_plan=gold")
    assert prefixes(page) == ["network 26201"]
    link = re.search(r'href="([^"]*network=26201[^"]*)#set"', page.text)
    assert link is not None
    edited = await ada.get("/prices", unescape(link[1]).partition("?")[2])
    assert re.search(r'name="network" value="26201"', edited.text)
    refused = await ada.post("/prices", form | {"price_prefix": "49"})
    assert "a price has a prefix or a network, not both" in text_of(refused)
    await ada.post("/prices/remove", {"prefix": "", "network": "26201", "plan": "gold", "since": ""})
    assert await gold(house) == []


async def test_a_list_is_previewed_and_then_imported(house: AdminHouse, ada: Browser) -> None:
    await given(house, "33")
    form = {"csv": LIST, "list_plan": "gold", "replace": "yes"}
    preview = await ada.post("/prices/import", form)
    assert "Added 3 Changed 0 Unchanged 0 Removed 1" in text_of(preview)
    assert "All other prices of the plan gold are removed." in text_of(preview)
    assert "No account has the plan gold yet." in text_of(preview)
    assert [each["prefix"] for each in await gold(house)] == ["33"]
    page = await ada.follow(await ada.post("/prices/import", form | {"confirmed": "yes"}))
    assert "The list was imported: 3 added, 0 changed, 1 removed. No account has the plan gold yet." in text_of(page)
    assert [each["network"] or each["prefix"] for each in await gold(house)] == ["26201", "44", "49"]
    assert [entry.action for entry in await house.entries()][-1] == "price.import"
    assert (await ada.get("/prices.csv", "in_plan=gold")).text == LIST.replace(
        "gold,,49,0.07,0,\ngold,,44,0.08,0.5,2100-01-01\n", "gold,,44,0.08,0.5,2100-01-01\ngold,,49,0.07,0,\n"
    )


async def test_a_list_holds_from_its_date_on(house: AdminHouse, ada: Browser) -> None:
    form = {"csv": "prefix;price\n49;0.0.7\n", "list_plan": "gold", "list_since": "2100-01-01", "confirmed": "yes"}
    assert (await ada.post("/prices/import", form)).status == 400
    form |= {"csv": "country;prefix;price\nDE;49;0,07\n"}
    assert "Ignored: the column country." in text_of(await ada.post("/prices/import", form | {"confirmed": ""}))
    await ada.post("/prices/import", form)
    (price,) = await gold(house)
    assert price["since"] == 4_102_444_800_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no list"),
        ("prefix,price\n0,1\n", "Line 2"),
        (f"prefix,price\n{EVIL},1\n", "Line 2"),
        ("a,b\n1,2\n", "the heading must name the columns mccmnc or network or prefix and price"),
        ("prefix,price\n", "the list is empty"),
    ],
)
async def test_a_list_that_cannot_be_used_changes_nothing(
    house: AdminHouse, ada: Browser, text: str, said: str
) -> None:
    answered = await ada.post("/prices/import", {"csv": text, "confirmed": "yes"})
    assert answered.status == 400
    assert said in unescape(answered.text)
    assert EVIL not in answered.text
    assert (await prices.find(house.admin.desk))["prices"] == []


async def test_an_added_or_edited_route_says_which_routes_it_shares_the_numbers_with(
    house: AdminHouse, ada: Browser
) -> None:
    bind: dict[str, Any] = {"host": "smsc.example", "port": "2775", "system_id": "acme", "password": "secret"}
    await connectors.add(house.admin.desk, "second", **bind)
    answered = await ada.post("/routing/routes", {"prefix": "", "connector": "second"})
    assert "five seconds. It shares all numbers with operator; " in (await ada.follow(answered)).text
    (added,) = [each["id"] for each in await routes.find(house.admin.desk) if each["connector"] == "second"]
    edited = {"prefix": "", "connector": "second", "priority": "7", "replaces": str(added)}
    answered = await ada.post("/routing/routes", edited)
    assert "five seconds. By its priority it comes before operator." in (await ada.follow(answered)).text


async def test_routes_are_found_edited_and_exported(house: AdminHouse, ada: Browser) -> None:
    for number in range(60):
        await routes.add(house.admin.desk, "operator", prefix=str(100 + number), priority=number)
    page = await ada.get("/routing")
    assert (len(prefixes(page)), "61 routes, page 1 of 2" in text_of(page)) == (50, True)
    found = await ada.get("/routing", "q=1595551234&connector=operator")
    assert prefixes(found) == ["all numbers", "159"]
    match = re.search(
        r'href="/console/routing\?(edit=\d+[^"#]*)#add"', found.text.partition('scope="row" class="one">159')[2]
    )
    assert match is not None
    form = await ada.get("/routing", unescape(match[1]))
    assert 'value="59"' in form.text
    route = re.search(r'name="replaces" value="(\d+)"', form.text)
    assert route is not None
    changed = {"prefix": "159", "connector": "operator", "priority": "7", "replaces": route[1]}
    wrong = await ada.post("/routing/routes", changed | {"priority": "high"})
    assert (route[0] in wrong.text, "Edit a route" in wrong.text) == (True, True), "else it would be added"
    assert "The route is changed" in (await ada.follow(await ada.post("/routing/routes", changed))).text
    entry = (await house.entries())[-1]
    assert (entry.action, entry.details["was"]) == ("route.set", "159 operator 59")
    (now,) = [each["id"] for each in await routes.find(house.admin.desk) if each["prefix"] == "159"]
    taken = await ada.post("/routing/routes", changed | {"prefix": "158", "priority": "58", "replaces": str(now)})
    assert "exists already" in taken.text
    assert "there is no route" in (await ada.post("/routing/routes", changed | {"replaces": "999"})).text.lower()
    assert (await ada.get("/routing.csv", "q=159")).text == (
        "prefix,connector,priority,network,account,plan,sender,share,fallback\n,operator,0,,,,,1,no\n159,operator,7,,,,,1,no\n"
    )


async def test_a_list_of_routes_is_added_to_what_is_there(
    house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "prefix,connector,priority,mcc\n,operator,0,\n49,operator,,262\n44,operator,5,\n"
    preview = await ada.post("/routing/routes/import", {"csv": text})
    assert "Ignored: the column mcc." in text_of(preview)
    assert "Added 2 Changed 0 Unchanged 1 Removed 0" in text_of(preview)
    assert len(await routes.find(house.admin.desk)) == 1
    page = await ada.follow(await ada.post("/routing/routes/import", {"csv": text, "confirmed": "yes"}))
    assert "The list was imported: 2 added, 0 changed." in text_of(page)
    entry = (await house.entries())[-1]
    assert (entry.action, entry.details) == ("route.import", {"routes": "3", "added": "2"})
    for bad, said in (
        ("prefix,connector\n49,nobody\n", "there is no connector 'nobody'"),
        ("prefix,connector,priority\n49,operator,x\n", "is not a whole number"),
        ("prefix,connector\n49,operator\n49,operator\n", "line 2 has the same route"),
        ("prefix,to\n49,operator\n", "the heading must name the columns"),
        ("prefix,connector,acount\n49,operator,1\n", "do you mean account?"),
    ):
        answered = await ada.post("/routing/routes/import", {"csv": bad})
        assert answered.status == 400
        assert said in unescape(answered.text)
    monkeypatch.setattr(routes, "MOST_AT_ONCE", 2)
    assert "give 1 to 2 at once" in (await ada.post("/routing/routes/import", {"csv": text})).text
    assert len(await routes.find(house.admin.desk)) == 3
    only = {"csv": "prefix,connector,priority,share\n44,operator,5,9\n", "replace": "yes"}
    preview = await ada.post("/routing/routes/import", only)
    assert "Added 0 Changed 1 Unchanged 0 Removed 2" in text_of(preview)
    assert "All other routes to the connector operator are removed." in text_of(preview)
    page = await ada.follow(await ada.post("/routing/routes/import", {**only, "confirmed": "yes"}))
    assert "The list was imported: 0 added, 1 changed, 2 removed." in text_of(page)
    (left,) = await routes.find(house.admin.desk)
    assert (left["prefix"], left["share"]) == ("44", 9)
