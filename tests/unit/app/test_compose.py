"""Composing, as far as HTTP is no part of it."""

from typing import Any

import pytest

from heliograph.api.messages import V1, V2
from heliograph.app.configuration import Cost, MobileNetwork, Plan, Price, Route
from heliograph.app.facts import Accept
from heliograph.app.resources import coverage
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.routes import decide
from heliograph.app.routing.candidates import RouteRequest
from heliograph.app.sending.compose import Composer, SendRules
from heliograph.app.sending.directory import Directory
from heliograph.app.sending.fingerprint import could_have_been_accepted, fingerprint
from heliograph.app.sending.number import Number
from heliograph.app.sending.principal import Principal
from heliograph.domain.error import Fault, Reason
from heliograph.domain.message.state import State
from heliograph.domain.money.amounts import MICRO
from heliograph.domain.text import segment
from tests.support.connectors import smpp_connector
from tests.support.gateway import START, open_gateway, read, set_price
from tests.support.use_case_fakes import PortedServer


async def opened(**account: Any) -> tuple[Composer, Principal]:
    gateway = await open_gateway()
    await gateway.change_account(**account)
    view = await gateway.directory.account("acme")
    assert view is not None
    return gateway.composer, Principal(view, V1)


def request(**changes: Any) -> dict[str, Any]:
    return {"to": "447700900123", "sender": "Helio", "content": "Hello"} | changes


def composed(composer: Composer, who: Principal, now: int = START, **changes: Any) -> Accept:
    return composer.compose(who, read(who, **request(**changes)), now)


async def test_a_request_complete_but_for_its_keys() -> None:
    composer, who = await opened()
    accept = composed(composer, who, to=["447700900123", "33612345678"], time=START // 1000 + 9)
    assert (accept.account, accept.total, accept.at, accept.scheduled, accept.batch) == (
        1,
        2_000_000,
        START,
        True,
        True,
    )
    assert (accept.reference, accept.fingerprint, accept.key) == (None, b"", 0)
    for message in accept.messages:
        assert (message.state, message.queued, message.time) == (State.SCHEDULED, True, START + 9000)
        assert message.expires == message.time + SendRules().validity_ms


async def test_a_text_is_counted_once_for_a_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    def count(content: str, *more: Any) -> Any:
        counted.append(content)
        return count_of(content, *more)

    count_of = segment.count
    monkeypatch.setattr(segment, "count", count)
    composer, who = await opened(smart="on")
    accept = composed(composer, who, to=[f"4477009{number:05}" for number in range(100)], content="“Hi” €" * 15)
    assert {message.content for message in accept.messages} == {'"Hi" €' * 15}
    assert len(counted) < 10, "a request may have 1,000 destinations, and a text 10 segments"


async def test_a_message_keeps_the_network_of_its_number() -> None:
    gateway = await open_gateway()
    view = await gateway.directory.account("acme")
    assert view is not None
    who = Principal(view, V1)
    assert [message.network for message in composed(gateway.composer, who).messages] == [""]
    networks = [MobileNetwork("44", "23410"), MobileNetwork("447700", "23415")]
    await gateway.store.mobile_networks.put(networks)
    await gateway.directory.refresh()
    accept = composed(gateway.composer, who, to="447700900123,441234567890,33612345678")
    assert [message.network for message in accept.messages] == ["23415", "23410", ""]


async def test_a_ported_number_is_in_another_network_than_its_prefix() -> None:
    gateway = await open_gateway()
    directory = Directory(gateway.store.table_changes, gateway.store.accounts, ported=PortedServer())
    await directory.refresh()
    assert directory.knows_networks
    assert [directory.network(number) for number in ("447700900123", "447700900124")] == ["23433", ""]
    await gateway.store.mobile_networks.put([MobileNetwork("44", "23410")])
    other = await gateway.store.network.add_connector(smpp_connector(0, "other", "127.0.0.1", 2776, "id", "pw"))
    await gateway.store.network.add_route(Route(0, "", other.id, network="23433"))
    await directory.refresh()
    assert [directory.network(number) for number in ("447700900123", "447700900124")] == ["23433", "23410"]
    routed = [directory.route(RouteRequest(1, number, "A")) for number in ("447700900123", "447700900124")]
    assert routed == [other.id, 1]
    desk = Desk(gateway.store, gateway.clock, ported=lambda: PortedServer(known=()))
    decided = [await decide(desk, number) for number in ("447700900123", "447700900124")]
    assert [each.network for each in decided] == ["23433", "23410"]
    assert [each.reasons[-2] for each in decided] == [
        "The number is of the network 23433 by a test of 447700900123.",
        "The number is of the network 23410 by its prefix.",
    ]


async def test_networks_are_asked_for_before_a_request_of_an_account_that_can_pay() -> None:
    gateway, ported = await open_gateway(), PortedServer(known=())
    gateway.directory.ported = ported
    await set_price(gateway, "4477", "1", "own")
    await gateway.change_account(plan="own")
    await gateway.directory.refresh()
    view = await gateway.directory.account("acme")
    assert view is not None
    who = Principal(view, V1)
    fields = read(who, **request(to="447700900123,447700900124,33612345678,12"))
    await gateway.sending.find_networks(who, fields)
    assert ported.asked == ["447700900123", "447700900124"]
    assert gateway.sending.unknown_numbers(who, fields) == []
    many = read(who, **request(to=[str(447700900000 + n) for n in range(SendRules().max_destinations + 1)]))
    assert not gateway.sending.unknown_numbers(who, many)


async def test_quote_charge_explanation_and_coverage_have_the_price_of_the_network() -> None:
    gateway, ported = await open_gateway(), PortedServer(known=())
    gateway.directory.ported = ported
    await gateway.change_account(plan="own")
    network = gateway.store.network
    for price in (
        Price("own", "44", 2 * MICRO),
        Price("own", "", 3 * MICRO, network="23410"),
        Price("own", "", 4 * MICRO, network="23433"),
        Price("default", "", 5 * MICRO, network="20801"),
        Price("default", "33", 6 * MICRO),
    ):
        await network.set_price(price)
    networks = [MobileNetwork("447", "23410"), MobileNetwork("336", "20801"), MobileNetwork("441", "23499")]
    await gateway.store.mobile_networks.put(networks)
    await gateway.directory.refresh()
    view = await gateway.directory.account("acme")
    assert view is not None
    who, desk = Principal(view, V1), Desk(gateway.store, gateway.clock, ported=lambda: ported)
    prices = {
        "447700900123": 4,  # ported to 23433
        "447700900124": 3,
        "441234567890": 2,  # its network has no price
        "33612345678": 5,
        "33112345678": 6,
    }
    fields = read(who, **request(to=list(prices)))
    quoted = await gateway.sending.quote(who, fields)
    assert set(ported.asked) == set(prices)
    assert [message.price for message in quoted.messages] == [each * MICRO for each in prices.values()]
    assert [message.network for message in quoted.messages] == ["23433", "23410", "23499", "20801", ""]
    sent = gateway.sending.prepare(who, fields)
    assert sent.total == quoted.total == 20 * MICRO
    assert [each.price for each in sent.messages] == [each.price for each in quoted.messages]
    for number, charge in prices.items():
        assert (await decide(desk, number, "acme")).price == charge * MICRO
    decision = await decide(desk, "447700900123", "acme")
    assert "The plan own names the price for the network 23433." in decision.reasons
    covered = {each["prefix"]: each["price"] for each in await coverage.find(desk, "own")}
    assert covered == {"": None, "33": 6 * MICRO, "336": 5 * MICRO, "44": 2 * MICRO, "441": 2 * MICRO, "447": 3 * MICRO}


async def test_the_margin_is_that_of_the_price_of_the_network() -> None:
    gateway = await open_gateway()
    await gateway.change_account(plan="own")
    await gateway.store.network.set_price(Price("own", "44", MICRO))
    await gateway.store.network.set_price(Price("own", "", 3 * MICRO, network="23410"))
    await gateway.store.mobile_networks.put([MobileNetwork("447", "23410")])
    await gateway.store.costs.put([Cost(1, "44", "", 2 * MICRO)])
    await gateway.store.plans.put(Plan("own", min_margin="0.5"))
    await gateway.directory.refresh()
    view = await gateway.directory.account("acme")
    assert view is not None
    who = Principal(view, V1)
    assert composed(gateway.composer, who).total == 3 * MICRO
    with pytest.raises(Fault) as refused:
        composed(gateway.composer, who, to="447700900123,441234567890")
    assert refused.value.reason is Reason.MARGIN
    assert "441234567890" in refused.value.message


async def test_networks_are_asked_for_where_only_they_have_prices() -> None:
    gateway, ported = await open_gateway(), PortedServer(known=())
    gateway.directory.ported = ported
    await gateway.store.network.set_price(Price("own", "", MICRO, network="23433"))
    await gateway.change_account(plan="own")
    await gateway.directory.refresh()
    view = await gateway.directory.account("acme")
    assert view is not None
    who = Principal(view, V1)
    await gateway.store.network.set_price(Price("default", "99", MICRO))
    assert (await gateway.sending.quote(who, read(who, **request()))).total == MICRO
    assert ported.asked == ["447700900123"]


async def test_a_message_keeps_the_network_that_it_was_accepted_with() -> None:
    gateway = await open_gateway()
    other = await gateway.store.network.add_connector(smpp_connector(0, "other", "127.0.0.1", 2776, "id", "pw"))
    await gateway.store.network.add_route(Route(0, "", other.id, network="23433"))
    await gateway.directory.refresh()
    requests = [RouteRequest(1, "447700900123", "A", network=network) for network in ("", "23433")]
    assert [gateway.directory.route(request) for request in requests] == [1, other.id]


async def test_the_reference_of_a_batch_is_the_batchs_alone() -> None:
    composer, who = await opened()
    accept = composed(composer, who, to="447700900123,33612345678", reference="r")
    assert accept.reference == "r"
    assert [message.reference for message in accept.messages] == [None, None]
    assert len(accept.fingerprint) == 32


async def test_a_fingerprint_is_known_of_a_request_that_is_refused() -> None:
    composer, who = await opened()
    given = request(reference="r", time=str(START // 1000 + 9))
    accept = composed(composer, who, **given)
    with pytest.raises(Fault):
        composed(composer, who, START + 9000, **given)
    assert fingerprint(read(who, **given)) == accept.fingerprint
    assert could_have_been_accepted(read(who, **given), V1)
    assert not could_have_been_accepted(read(who, **given), V2)
    assert not could_have_been_accepted(read(who, **request(kind="voice")), V1)
    assert not could_have_been_accepted(read(who, **request(to=[])), V1)
    assert not could_have_been_accepted(read(who, **request(content=None)), V1)
    assert not could_have_been_accepted(read(who, **request(sender="447700900124")), V2)
    assert not could_have_been_accepted(read(who, **request(dlr_url="")), V1)
    assert not could_have_been_accepted(read(who, **request(time="")), V1)
    assert not could_have_been_accepted(read(who, **request(dlr="yes")), V2)
    assert could_have_been_accepted(read(who, **request(dlr="yes")), V1)


@pytest.mark.parametrize(
    "change",
    [
        {"to": "447700900124"},
        {"to": "447700900123,447700900124"},
        {"sender": "Helia"},
        {"sender": "HelioH", "content": "ello"},
        {"content": "Hello!"},
        {"kind": "unicode"},
        {"dlr": "no"},
        {"dlr_url": "https://example.com/b"},
        {"time": str(START // 1000 + 10)},
        {"time": None},
    ],
)
async def test_a_request_that_differs_in_anything_has_another_fingerprint(change: dict[str, Any]) -> None:
    composer, who = await opened()
    first = {"dlr": "yes", "dlr_url": "https://example.com/a", "time": str(START // 1000 + 9), "reference": "r"}
    one, other = (composed(composer, who, **each) for each in (first, first | change))
    assert one.fingerprint != other.fingerprint
    assert one.fingerprint == composed(composer, who, START + 1, **first).fingerprint


@pytest.mark.parametrize("time", [Number("1800000060.0"), Number("1.80000006E9"), 1_800_000_060, "1800000060"])
async def test_a_time_may_be_any_number(time: object) -> None:
    composer, who = await opened()
    assert composed(composer, who, time=time).messages[0].time == START + 60_000


ORDER: list[dict[str, Any]] = [
    {"to": "x", "sender": []},
    {"to": "447700900123", "sender": [], "content": 1},
    {"sender": "Helio", "content": 1, "time": []},
    {"content": "Hello", "time": [], "kind": []},
    {"time": None, "kind": [], "dlr": []},
    {"kind": None, "dlr": [], "dlr_url": 1},
    {"dlr": None, "dlr_url": 1, "reference": []},
    {"dlr_url": None, "reference": []},
]


async def test_of_several_faults_the_first_fields_is_told() -> None:
    composer, who = await opened()
    told, given = [], request()
    for step in ORDER:
        given |= step
        with pytest.raises(Fault) as fault:
            composed(composer, who, **given)
        told.append(fault.value.field)
    assert told == ["to", "from", "content", "time", "type", "dlr", "dlr-url", "reference"]


async def test_a_sender_that_is_not_allowed_is_told_before_the_content() -> None:
    composer, who = await opened(senders=("Other",))
    with pytest.raises(Fault) as fault:
        composed(composer, who, content="")
    assert (fault.value.entry.code, fault.value.field) == ("06", "from")
