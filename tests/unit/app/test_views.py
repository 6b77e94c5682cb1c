"""What those who run the gateway are told of where numbers go, and what they type to find messages."""

from dataclasses import replace

import pytest

from heliograph.app.configuration import OFF, Price, Route
from heliograph.app.facts import Attempt, Facts
from heliograph.app.records import Search
from heliograph.app.resources import messages, routes
from heliograph.app.resources.desk import Invalid, NoSuch
from heliograph.app.routing.candidates import RouteRequest
from heliograph.domain.message import ids
from heliograph.smpp.constants import CommandStatus
from tests.support.admin import AdminHouse, open_house
from tests.support.connectors import smpp_connector
from tests.support.store import Given

NUMBERS = ("491701234567", "4930123456", "431234567", "8613912345678")


@pytest.fixture
async def house() -> AdminHouse:
    house = await open_house()
    store = house.gateway.store
    for name in ("second", "third"):
        await store.network.add_connector(smpp_connector(0, name, "127.0.0.1", 2775, "id", "pw"))
    for route in (Route(0, "49", 2), Route(0, "49", 3, 5), Route(0, "4930", 3)):
        await store.network.add_route(route)
    return house


@pytest.mark.parametrize(
    "prices",
    [
        [],
        [Price("default", "49", 5)],
        [Price("default", "", 7), Price("gold", "4917", 2)],
        [Price("gold", "43", 0)],
    ],
)
@pytest.mark.parametrize("plan", ["default", "gold", "other"])
async def test_it_decides_as_sending_does(house: AdminHouse, plan: str, prices: list[Price]) -> None:
    gateway = house.gateway
    for price in prices:
        await gateway.store.network.set_price(price)
    await gateway.change_account(plan=plan)
    names = await house.admin.desk.connector_names()
    view = await gateway.directory.fresh_account("acme")
    assert view is not None
    for number in NUMBERS:
        decision = await routes.decide(house.admin.desk, number, "acme")
        connector = gateway.directory.route(RouteRequest(1, number, ""))
        amount = view.tariff.price(number, "")
        assert decision.connector == (None if connector is None or amount is None else names[connector])
        assert decision.price == amount


@pytest.mark.parametrize(
    ("status", "told"), [(0x08, "operator responded with ESME_RSYSERR"), (0x4FF, "operator responded with 0x000004ff")]
)
async def test_a_messages_history_names_command_statuses(house: AdminHouse, status: int, told: str) -> None:
    store = house.gateway.store
    message = await Given(store, house.gateway.clock.now()).sent(1)

    await store.commits.record(Facts(attempts=[Attempt(1, message.key, 0, 99, status, message.time)]))
    desk = replace(house.admin.desk, past={99: "operator"}, status_name=CommandStatus.name_of)
    sight = await messages.look(desk, ids.to_hex(message.key, message.tail))
    assert [event.detail for event in sight.events if event.event == "Deferred"] == [told]


async def test_it_says_why(house: AdminHouse) -> None:
    decision = await routes.decide(house.admin.desk, "491701234567", "acme")
    assert decision.reasons == [
        "The route for the prefix 49 with priority 5 leads to third.",
        "The route for the prefix 49 with priority 0 leads to second.",
        "The first of them that can send is third.",
        "The plan default has no price for it; a segment then costs one credit.",
    ]
    third = (await house.gateway.store.network.tables()).connectors[2]
    third.state = OFF
    await house.gateway.store.network.update_connector(third)
    await house.gateway.store.network.set_price(Price("default", "49", 5))
    decision = await routes.decide(house.admin.desk, "491701234567", "acme")
    assert decision.reasons == [
        "The route for the prefix 49 with priority 5 leads to third, which is paused.",
        "The route for the prefix 49 with priority 0 leads to second.",
        "The first of them that can send is second.",
        "The plan default names the price for the prefix 49.",
    ]


@pytest.mark.parametrize(("number", "account"), [("0170", "acme"), ("491701234567", "nobody")])
async def test_what_cannot_be_decided_is_told(house: AdminHouse, number: str, account: str) -> None:
    with pytest.raises((Invalid, NoSuch)):
        await routes.decide(house.admin.desk, number, account)


async def test_what_is_typed_may_be_an_id_a_reference_or_a_number(house: AdminHouse) -> None:
    async def send(number: str, reference: str) -> str:
        reply = await house.gateway.send({"to": number, "from": "Test", "content": "x", "reference": reference})
        message: str = reply.json["Id"]
        return message

    first = await send("491701234567", "order-1")
    second = await send("431234567", "491701")

    async def found(text: str) -> list[str]:
        hits = (await messages.find(house.admin.desk, text, Search())).hits
        return [f"{hit.message.destination}/{hit.message.reference}" for hit in hits]

    assert await found(first) == ["491701234567/order-1"]
    assert await found(f" {second.upper()} ") == ["431234567/491701"]
    assert await found("order-1") == ["491701234567/order-1"]
    assert await found("order-2") == []
    assert await found("+43 1234") == ["431234567/491701"]
    # digits may be a reference too: those of it come first
    assert await found("491701") == ["431234567/491701", "491701234567/order-1"]
    assert await found("") == ["431234567/491701", "491701234567/order-1"]


@pytest.mark.parametrize("reference", ["019e2b1c-5f3a-7000-8c1d-e1f5a0b7c3d2", "019E2B1C5F3A70008C1DE1F5A0B7C3D2"])
async def test_a_reference_in_the_form_of_an_id_is_found(house: AdminHouse, reference: str) -> None:
    await house.gateway.send({"to": "431234567,491701234567", "from": "Test", "content": "x", "reference": reference})
    page = await messages.find(house.admin.desk, reference, Search(limit=1))
    rest = await messages.find(house.admin.desk, reference, Search(limit=1, before=page.more))
    assert [hit.message.destination for hit in page.hits + rest.hits] == ["491701234567", "431234567"]
    assert rest.more is None


async def test_messages_of_a_reference_come_page_by_page(house: AdminHouse) -> None:
    numbers = [f"49170123456{digit}" for digit in range(3)]
    await house.gateway.send({"to": numbers, "from": "Test", "content": "x", "reference": "order-1"})
    page = await messages.find(house.admin.desk, "order-1", Search(limit=2))
    assert [hit.message.destination for hit in page.hits] == numbers[:0:-1]
    page = await messages.find(house.admin.desk, "order-1", Search(limit=2, before=page.more))
    assert ([hit.message.destination for hit in page.hits], page.more) == (numbers[:1], None)
