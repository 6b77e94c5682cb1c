"""What customers were refused, by the admin API."""

import pytest

from heliograph.runtime.refusal_writer import RefusalWriter
from tests.integration.admin.test_admin_api import fault
from tests.support.admin import AdminHouse, open_house

GOOD = {"to": "447700900123", "from": "Helio", "content": "Hello"}


@pytest.fixture
async def house() -> AdminHouse:
    return await open_house()


async def write_refusals(house: AdminHouse) -> None:
    """Writes what the API has refused, as a running gateway does by itself."""
    gateway = house.gateway
    store = gateway.store.refused_requests
    await RefusalWriter(gateway.app.services.refusals, store, gateway.clock, gateway.journal).write()


async def test_what_was_refused_is_told_with_the_last_requests(house: AdminHouse) -> None:
    token = await house.token("messages:read")
    assert (await house.ask(token, "GET", "/refusals")).json == {"requests": 0, "totals": [], "hours": [], "latest": []}
    refused = await house.gateway.send({**GOOD, "to": "no number"})
    await house.gateway.send({**GOOD, "to": "no number"}, auth="other")
    await house.gateway.send({**GOOD, "type": "mms"}, auth="other")
    await write_refusals(house)
    found = (await house.ask(token, "GET", "/refusals")).json
    now = "2027-01-15T08:00:00.000Z"
    assert found["totals"] == [
        {"account": "other", "reason": "invalid", "requests": 2, "latest": now},
        {"account": "acme", "reason": "invalid", "requests": 1, "latest": now},
    ]
    assert (found["requests"], found["hours"]) == (3, [{"hour": now, "requests": 3}])
    (mine,) = (await house.ask(token, "GET", "/refusals", query="account=acme&reason=invalid&hours=1")).json["latest"]
    assert mine.pop("message").startswith("The destination must")
    assert mine == {
        "time": now, "account": "acme", "reason": "invalid", "status": 400, "method": "POST",
        "path": "/api/v1/messages", "field": "to", "address": "192.0.2.7",
        "request_id": refused.headers["x-request-id"],
    }  # fmt: skip
    assert len((await house.ask(token, "GET", "/refusals", query="limit=1")).json["latest"]) == 1


async def test_what_cannot_be_asked_is_told(house: AdminHouse) -> None:
    token = await house.token("messages:read")
    assert fault(await house.ask(token, "GET", "/refusals", query="account=nobody"))[:2] == (404, "07")
    for query in ("reason=mood", "hours=0", "hours=337"):
        assert fault(await house.ask(token, "GET", "/refusals", query=query))[:2] == (400, "03")
    other = await house.token("accounts:read")
    assert fault(await house.ask(other, "GET", "/refusals"))[:2] == (403, "06")


async def test_a_removed_hour_is_told_no_more(house: AdminHouse) -> None:
    token, gateway = await house.token("messages:read"), house.gateway
    await gateway.send({**GOOD, "to": "no number"})
    await write_refusals(house)
    gateway.clock.forward(3 * 3600)
    assert (await house.ask(token, "GET", "/refusals", query="hours=2")).json["requests"] == 0
    assert (await house.ask(token, "GET", "/refusals", query="hours=3")).json["requests"] == 1
