"""Rules for sender IDs by country, for requests by HTTP: before the charge, in answers, quotes and explanations."""

import pytest

from heliograph.api.messages import V1
from heliograph.app.configuration import MessageTemplate, Route
from heliograph.app.connector_kind import LanePolicy
from heliograph.app.resources import routes, sender_rules
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch
from heliograph.app.sending.principal import Principal
from heliograph.domain.numbers.sender_rules import SenderRule
from tests.support.connectors import smpp_connector
from tests.support.gateway import START, Gateway, open_gateway, read

INDIA, USA, BRITAIN = "919812345678", "12025550100", "447700900123"
REQUEST = {"from": "Helio", "content": "Hello"}


@pytest.fixture
async def gateway() -> Gateway:
    gateway = await open_gateway()
    for rule in (SenderRule(0, "IN", "alpha", "replace", "60001"), SenderRule(0, "US", "alpha", "refuse")):
        await gateway.store.sender_rules.add(rule)
    await gateway.directory.refresh()
    return gateway


async def test_a_replaced_sender_is_sent_and_told(gateway: Gateway) -> None:
    single = (await gateway.send({**REQUEST, "to": INDIA})).json
    assert single["From"] == "60001"
    assert "From" not in (await gateway.send({**REQUEST, "to": BRITAIN})).json
    assert "From" not in (await gateway.send({**REQUEST, "from": "60001", "to": INDIA})).json
    several = (await gateway.send({**REQUEST, "to": [INDIA, BRITAIN], "reference": "r"})).json
    assert [part.get("From") for part in several["Messages"]] == ["60001", None]
    again = (await gateway.send({**REQUEST, "to": [INDIA, BRITAIN], "reference": "r"})).json
    assert again == several
    found = (await gateway.call("GET", f"/api/v1/messages/{single['Id']}")).json
    assert found["From"] == "60001"


async def test_a_quote_tells_it_too(gateway: Gateway) -> None:
    quoted = (await gateway.send({**REQUEST, "to": [INDIA, BRITAIN]}, "/api/v1/messages/quote")).json
    assert [part.get("From") for part in quoted["Messages"]] == ["60001", None]
    refused = await gateway.send({**REQUEST, "to": USA}, "/api/v1/messages/quote")
    assert (refused.status, refused.json["Field"]) == (403, "from")


async def test_a_refused_sender_is_charged_nothing(gateway: Gateway) -> None:
    refused = await gateway.send({**REQUEST, "to": [BRITAIN, USA, INDIA]})
    assert (refused.status, refused.json["Status"], refused.json["Field"]) == (403, "06", "from")
    assert refused.json["Message"] == "The sender 'Helio' is not allowed for numbers of US; use another sender."
    assert await gateway.store.customers.balance(1) == 1_000_000_000
    assert (await gateway.send({**REQUEST, "from": "60001", "to": USA})).status == 200


async def test_routes_and_templates_are_those_of_the_sender_that_is_sent() -> None:
    gateway = await open_gateway(policy=LanePolicy(needs_templates=True))
    network = gateway.store.network
    other = (await network.add_connector(smpp_connector(0, "other", "h", 1, "id", "pw"))).id
    await network.add_route(Route(0, "", other, sender="60001"))
    await gateway.store.sender_rules.add(SenderRule(0, "IN", "alpha", "replace", "60001"))
    await gateway.store.templates.add(MessageTemplate(0, "hello", "Hello", "60001"))
    await gateway.directory.refresh()
    view = await gateway.directory.account("acme")
    assert view is not None
    who = Principal(view, V1)
    (message,) = gateway.composer.compose(who, read(who, to=INDIA, sender="Helio", content="Hello"), START).messages
    assert (message.connector, message.sender) == (other, "60001")
    refused = await gateway.send({**REQUEST, "to": [INDIA, BRITAIN]})
    assert (refused.status, refused.json["Field"]) == (400, "from"), "Helio has no template"


async def test_an_explanation_names_the_rule(gateway: Gateway) -> None:
    desk = Desk(gateway.store, gateway.clock)
    replaced = await routes.decide(desk, INDIA, "acme", "Helio")
    assert replaced.reasons[0] == "A sender rule for IN replaces the sender Helio by 60001."
    refused = await routes.decide(desk, USA, "acme", "Helio")
    assert refused.reasons[0] == "A sender rule for US refuses the sender Helio: a message is refused."
    assert (replaced.connector, refused.connector) == ("operator", None)
    assert not (await routes.decide(desk, BRITAIN, "acme", "Helio")).reasons[0].startswith("A sender rule")


async def test_rules_that_cannot_be_used_change_nothing(gateway: Gateway) -> None:
    desk = Desk(gateway.store, gateway.clock)
    with pytest.raises(Invalid):
        await sender_rules.add(desk, "IN", "replace")
    with pytest.raises(Invalid):
        await sender_rules.add(desk, "IN", "replace", value="ACME*")
    with pytest.raises(AlreadyThere):
        await sender_rules.add(desk, "US", "refuse", "alpha")
    with pytest.raises(NoSuch):
        await sender_rules.remove(desk, 99)
    assert [rule["country"] for rule in await sender_rules.find(desk)] == ["IN", "US"]
    assert len(await sender_rules.find(desk, "US")) == 1
