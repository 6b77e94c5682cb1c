"""The first steps of a new gateway: each ticked off when it is there, and gone when all are."""

from typing import Any

import pytest

from heliograph.app.resources import prices
from heliograph.console.app import Console
from tests.integration.console.test_console import sent, text_of
from tests.support.admin import RENDERER, AdminHouse, Browser

TITLES = ("Connect an operator", "Route numbers to it", "Set a price", "Open an account", "Send a test message")


@pytest.fixture
async def house(house: AdminHouse) -> AdminHouse:
    """A gateway that is no development run."""
    house.services.simulated = None
    house.console = Console(house.services, RENDERER)
    return house


async def test_what_is_there_is_ticked_off_and_the_next_step_stands_out(house: AdminHouse, ada: Browser) -> None:
    page = await ada.get("/")
    text = text_of(page)
    assert "3 of 5 done" in text
    for title in TITLES:
        assert title in text
    assert "Connect an operator (done)" in text
    assert "Open an account (done)" in text
    assert "Set a price (done)" not in text
    assert page.text.count('class="button primary"') == 1
    assert '<a class="button primary" href="/console/prices">Set a price</a>' in page.text


async def test_the_list_is_gone_when_all_is_done(house: AdminHouse, ada: Browser) -> None:
    await prices.set_price(house.admin.desk, 70_000)
    assert "4 of 5 done" in text_of(await ada.get("/"))
    await sent(house)
    assert "First steps" not in (await ada.get("/")).text


async def test_those_who_could_take_no_step_and_development_runs_have_none(house: AdminHouse) -> None:
    viewer = await house.visitor("viewer", "bob")
    assert "First steps" not in (await viewer.get("/")).text


async def test_a_development_run_has_none(house: AdminHouse, ada: Browser) -> None:
    services: Any = house.services
    services.simulated = house.simulator
    assert "First steps" not in (await ada.get("/")).text
