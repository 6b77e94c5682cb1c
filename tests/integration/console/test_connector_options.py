"""Options of a connector as fields: each with its meaning and its default, set, changed and set back."""

import re
from html import unescape
from typing import Any

import pytest

from heliograph.adapters.smpp.kind import KIND
from heliograph.app.connector_kind import SMPP
from heliograph.app.ports.series import SeriesCell
from heliograph.app.resources.connectors import connector_of
from heliograph.domain.series import Cell, CellKey, Grain
from tests.integration.console.test_console import CONNECTOR, text_of
from tests.support.admin import AdminHouse, Browser

SETTINGS = "/connectors/second/settings"
SAME = {name: text for name, text in CONNECTOR.items() if name != "name"} | {"password": ""}


@pytest.fixture
async def house(house: AdminHouse) -> AdminHouse:
    """A gateway that takes the options which there are, and no others."""
    house.admin.desk.kinds = {SMPP: KIND}
    return house


async def options_of(house: AdminHouse) -> dict[str, Any]:
    return KIND.options(await connector_of(house.admin.desk, "second"))


async def test_each_option_has_a_field_with_its_meaning(house: AdminHouse, ada: Browser) -> None:
    page = await ada.get("/connectors-new")
    names = re.findall(r'name="option\.(\w+)"', page.text)
    assert names == list(KIND.dialect)
    text = text_of(page)
    assert "default: udh8 udh8 udh16" in text
    assert "Always asks for the receipt of every message" in text
    assert "below" not in text.partition("Options of the operator")[2].partition("Add Cancel")[0]
    assert re.search(r'name="option\.short_code_digits"[^>]* placeholder="8"', page.text)
    assert 'name="option.short_code_digits" type="text" value=""' in page.text


async def test_options_are_set_changed_and_set_back(house: AdminHouse, ada: Browser) -> None:
    form = CONNECTOR | {"option.system_type": "VMA", "option.concatenation": "sar", "option.priority": ""}
    page = await ada.follow(await ada.post("/connectors-new", form | {"options": "outcome_0x401=defer 30"}))
    assert await options_of(house) == {"system_type": "VMA", "concatenation": "sar", "outcome_0x401": "defer 30"}
    assert '<option value="sar" selected>' in page.text
    assert "outcome_0x401=defer 30" in page.text
    assert text_of(page).count("1 set") == 2
    same = SAME | {"option.system_type": "VMA", "option.concatenation": "sar", "options": "outcome_0x401=defer 30"}
    assert "Nothing was changed." in (await ada.follow(await ada.post(SETTINGS, same))).text
    await ada.post(SETTINGS, same | {"option.system_type": "", "option.priority": "2"})
    assert await options_of(house) == {"concatenation": "sar", "priority": 2, "outcome_0x401": "defer 30"}
    assert [entry.details for entry in await house.entries()][-1] == {"system_type": "", "priority": "2"}


async def test_an_option_that_is_wrong_is_told_at_its_field(house: AdminHouse, ada: Browser) -> None:
    await ada.post("/connectors-new", CONNECTOR)
    wrong = await ada.post(SETTINGS, SAME | {"option.priority": "9"})
    assert wrong.status == 400
    assert "is not a whole number from 0 to 3" in unescape(wrong.text)
    assert re.search(
        r'name="option\.priority" type="text" value="9"\s+aria-describedby="[^"]*" aria-invalid', wrong.text
    )
    assert wrong.text.count('<details class="options" open>') == 1
    assert await options_of(house) == {}


async def test_an_option_in_other_letters_is_no_other(house: AdminHouse, ada: Browser) -> None:
    await ada.post("/connectors-new", CONNECTOR | {"options": "alphabet=LATIN1"})
    page = await ada.get("/connectors/second")
    assert '<option value="latin1" selected>' in page.text


async def test_receipts_that_are_too_good_are_on_the_page(house: AdminHouse, ada: Browser) -> None:
    await ada.post("/connectors-new", CONNECTOR)
    assert "customers say" not in text_of(await ada.get("/connectors/second"))
    second = await connector_of(house.admin.desk, "second")
    denied = Cell()
    denied.delivered, denied.denied = 400, 40
    hour = house.admin.desk.now - house.admin.desk.now % 3_600_000
    await house.gateway.store.series.add([SeriesCell(Grain.HOUR, hour, CellKey(1, second.id, "DE"), denied)])
    page = text_of(await ada.get("/connectors/second"))
    assert "Receipts: customers say that 40 of the 400 messages did not arrive" in page
