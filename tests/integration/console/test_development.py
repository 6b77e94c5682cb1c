"""What a development run lends the console: an operator with a public password, and the simulator's knobs."""

import pytest

from heliograph.app.records import UserRole
from heliograph.app.resources import accounts, numbers, users
from heliograph.app.resources.desk import Desk
from heliograph.composition import dev
from heliograph.simulator.smsc import Simulator
from tests.support.admin import Browser, open_house


async def test_the_operator_is_there_only_while_a_development_run_lasts() -> None:
    house = await open_house()
    assert await dev.open_demo_user(house.desk)
    assert await dev.open_demo_user(house.desk)
    browser = Browser(house.console)
    assert (await browser.sign_in(dev.USER_NAME, dev.USER_PASSWORD)).status == 303
    assert await dev.remove_demo_user(house.desk)
    assert (await browser.get("/")).status == 303
    assert (await browser.sign_in(dev.USER_NAME, dev.USER_PASSWORD)).status == 401
    assert not await dev.remove_demo_user(house.desk)


async def test_the_demo_account_has_its_number_only_so_long_too() -> None:
    house = await open_house()
    desk = Desk(house.gateway.store, house.gateway.clock)
    await accounts.create(house.admin.desk, dev.DEMO_NAME)

    await dev.open_demo_number(desk)
    await dev.open_demo_number(desk)
    assert [(each["number"], each["account"]) for each in await numbers.find(desk)] == [
        (dev.DEMO_NUMBER, dev.DEMO_NAME)
    ]
    await dev.close_demo_number(desk)
    assert await numbers.find(desk) == []
    await numbers.add(desk, dev.DEMO_NUMBER, "acme")
    await dev.open_demo_number(desk)
    await dev.close_demo_number(desk)
    assert [each["account"] for each in await numbers.find(desk)] == ["acme"]


async def test_somebody_elses_name_is_left_alone() -> None:
    house = await open_house()
    await users.create(house.desk, dev.USER_NAME, UserRole.VIEWER, "their own password")
    assert not await dev.open_demo_user(house.desk)
    assert not await dev.remove_demo_user(house.desk)
    assert len(await users.find(house.desk)) == 1


async def test_the_simulators_knobs_are_turned_all_or_none() -> None:
    simulator = Simulator()
    view = dev.SimulatedOperator(simulator, await simulator.start())
    assert view.recent(10) == []
    assert view.counters()["submits"] == 0
    view.turn({"latency_ms": "250", "refuse_share": "0.5"})
    assert {knob.name: knob.value for knob in view.knobs() if knob.value != knob.default} == {
        "latency_ms": "250", "refuse_share": "0.5",
    }  # fmt: skip
    for wrong in ({"latency_ms": "5", "refuse_share": "x"}, {"latency_ms": "5", "refuse_share": "2"}):
        with pytest.raises(ValueError, match="refuse_share"):
            view.turn(wrong)
    assert simulator.behaviour.latency_ms == 250
    view.cut_links()
    await simulator.stop()
