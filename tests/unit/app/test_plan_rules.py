"""Rules of plans: margins at acceptance, in explanations and coverage, at the claim; the order of the routing best."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.api.messages import V1
from heliograph.app.configuration import OFF, ON, Account, Connector, Cost, MobileNetwork, Plan, Price, Route, Tables
from heliograph.app.dispatch.claims import QueueClaims
from heliograph.app.facts import Queued
from heliograph.app.ports.series import SeriesCell
from heliograph.app.routing.candidates import RouteRequest, RouteTable, RoutingState, candidates
from heliograph.app.routing.coverage import coverage
from heliograph.app.routing.explain import explain
from heliograph.app.routing.plan_rules import plan_rules
from heliograph.app.routing.quality import Quality, measure, quality_query
from heliograph.app.sending.directory import Directory
from heliograph.app.sending.principal import Principal
from heliograph.domain.error import Fault, Reason
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.money.costs import CostTable
from heliograph.domain.money.margin import read_min_margin
from heliograph.domain.numbers.phone import PrefixTable
from heliograph.domain.series import Cell, CellKey, Grain
from tests.support.connectors import smpp_connector
from tests.support.gateway import START, Gateway, open_gateway, read
from tests.support.memory_store import MemoryStore
from tests.support.use_case_fakes import SetRouter
from tests.unit.app.test_directory import add_account
from tests.unit.app.test_dispatch import NODE, Desk, QueueStore

NUMBER = "491701234567"
ACCOUNT = Account(1, "acme", "", b"", plan="gold")


def tables(price: int, costs: Sequence[int | None], paused: int, plan: Plan) -> Tables:
    """Connectors 1 and on with these costs, in the order of their routes."""
    ids = range(1, len(costs) + 1)
    return Tables(
        1,
        [Connector(each, f"c{each}", state=OFF if each == paused else ON) for each in ids],
        [Route(each, "49", each, priority=-each) for each in ids],
        [Price("gold", "49", price)],
        plan_of={ACCOUNT.id: "gold"},
        networks=[MobileNetwork("49170", "26201")],
        costs=[
            Cost(number, "" if number % 2 else "49", "26201" if number % 2 else "", cost // 3, cost - cost // 3)
            for number, cost in zip(ids, costs, strict=True)
            if cost is not None
        ],
        plans=[plan],
    )


@given(
    st.integers(0, 100),
    st.lists(st.none() | st.integers(0, 100), min_size=1, max_size=4),
    st.integers(0, 4),
    st.sampled_from(["", "0.00001", "-0.00002", "10%", "-15%", "100%"]),
    st.sampled_from(["allow", "refuse"]),
)
def test_no_connector_below_the_margin_is_chosen(
    price: int, costs: list[int | None], paused: int, min_margin: str, unknown_cost: str
) -> None:
    held = tables(price, costs, paused, Plan("gold", min_margin=min_margin, unknown_cost=unknown_cost))

    def allows(cost: int | None) -> bool:
        if cost is None:
            return unknown_cost == "allow"
        return not min_margin or read_min_margin(min_margin).allows(price, cost)

    allowed = [number for number, cost in enumerate(costs, 1) if allows(cost)]
    usable = [number for number in allowed if number != paused]
    wanted = f"c{(usable or allowed)[0]}" if allowed else None
    decision = explain(NUMBER, ACCOUNT, held, {}, 0)
    assert decision.connector == wanted
    assert [each.usable for each in decision.candidates] == [each in usable for each in range(1, len(costs) + 1)]
    (row,) = coverage(["49170"], held, "gold", {}, 0)
    assert (row.connector, row.problem == "no margin") == (wanted, wanted is None)


def test_an_explanation_names_the_connectors_that_a_plan_excludes() -> None:
    rule = Plan("gold", min_margin="10%", unknown_cost="refuse")
    decision = explain(NUMBER, ACCOUNT, tables(50, [46, None], 2, rule), {}, 0)
    assert decision.connector is None
    assert decision.reasons[:3] == [
        "The route for the prefix 49 with priority -1 leads to c1, which is below the margin.",
        "The route for the prefix 49 with priority -2 leads to c2, which is of unknown cost.",
        "The plan of the account excludes each of them: a message to it is refused.",
    ]


# --- the directory and acceptance


async def opened(min_margin: str = "0", unknown_cost: str = "allow") -> tuple[Gateway, int]:
    """A gateway with a second connector, which is the second candidate. Returns its id."""
    gateway = await open_gateway()
    network = gateway.store.network
    other = (await network.add_connector(smpp_connector(0, "other", "h", 1, "id", "pw"))).id
    await network.add_route(Route(0, "44", 1, 1))
    await network.add_route(Route(0, "44", other))
    await gateway.store.plans.put(Plan("default", min_margin=min_margin, unknown_cost=unknown_cost))
    await gateway.directory.refresh(START)
    return gateway, other


@pytest.mark.parametrize("unknown_cost", ["allow", "refuse"])
async def test_a_test_of_a_failing_operator_obeys_the_plan(unknown_cost: str) -> None:
    gateway, other = await opened(unknown_cost=unknown_cost)
    view = await gateway.directory.account("acme")
    assert view is not None
    gateway.directory.heed({other: "failing most messages"}, [other])
    request = RouteRequest(view.account.id, "447700900000", "Heliograph", 10)
    assert gateway.directory.route(request) == (other if unknown_cost == "allow" else None)


async def accepted_by(gateway: Gateway, *numbers: str) -> list[int]:
    view = await gateway.directory.account("acme")
    assert view is not None
    who = Principal(view, V1)
    accept = gateway.composer.compose(who, read(who, to=list(numbers), sender="Helio", content="Hello"), START)
    return [message.connector for message in accept.messages]


async def test_a_request_uses_the_others_and_is_refused_before_the_charge_without_any() -> None:
    gateway, other = await opened()
    assert await accepted_by(gateway, "447700900123", "33612345678") == [1, 1]
    await gateway.store.costs.put([Cost(1, "", "", 1_000_001), Cost(other, "", "", 1_000_000)])
    await gateway.directory.refresh()
    assert await accepted_by(gateway, "447700900123") == [other]
    with pytest.raises(Fault) as refused:
        await accepted_by(gateway, "447700900123", "33612345678")
    assert (refused.value.reason, refused.value.field) == (Reason.MARGIN, "to")
    assert "33612345678 at the price of the account" in refused.value.message
    assert "447700900123" not in refused.value.message
    await gateway.store.network.remove_connector("operator")
    await gateway.directory.refresh()
    with pytest.raises(Fault) as refused:
        await accepted_by(gateway, "33612345678")
    assert refused.value.reason is Reason.NO_ROUTE


async def test_costs_hold_from_their_date_on() -> None:
    gateway, other = await opened()
    await gateway.store.costs.put([Cost(1, "", "", 2_000_000, since=START + 5_000)])
    found = [
        (await gateway.directory.refresh(START + at), await accepted_by(gateway, "447700900123"))
        for at in (0, 4_999, 5_000, 5_001)
    ]
    assert found == [(True, [1]), (False, [1]), (True, [other]), (False, [other])]


async def test_costs_hold_before_their_end() -> None:
    gateway, other = await opened()
    await gateway.store.costs.put([Cost(1, "", "", 2_000_000, since=START, until=START + 5_000)])
    found = [
        (await gateway.directory.refresh(START + at), await accepted_by(gateway, "447700900123"))
        for at in (0, 4_999, 5_000, 5_001)
    ]
    assert found == [(True, [other]), (False, [other]), (True, [1]), (False, [1])]


async def test_behind_the_end_of_its_cost_a_connector_may_be_refused() -> None:
    gateway, other = await opened(unknown_cost="refuse")
    await gateway.store.costs.put([Cost(1, "44", "", 1, until=START + 5_000), Cost(other, "", "", 1)])
    found = [
        (await gateway.directory.refresh(START + at), await accepted_by(gateway, "447700900123"))
        for at in (4_999, 5_000)
    ]
    assert found == [(True, [1]), (True, [other])]
    await gateway.store.costs.put([Cost(1, "", "", 1)])
    await gateway.directory.refresh(START + 5_000)
    assert await accepted_by(gateway, "447700900123") == [1], "the cost of a shorter prefix counts now"


async def test_the_rules_hold_for_an_account_that_was_made_a_moment_ago() -> None:
    store = MemoryStore()
    connector = await store.network.add_connector(smpp_connector(0, "operator", "h", 1, "id", "pw"))
    await store.network.add_route(Route(0, "", connector.id))
    await store.network.set_price(Price("gold", "", 5))
    await store.plans.put(Plan("gold", unknown_cost="refuse"))
    directory = Directory(store.table_changes, store.accounts)
    await directory.refresh()
    account = await add_account(store, "acme", plan="gold")
    assert directory.route(RouteRequest(account.id, NUMBER, "", 5)) == connector.id
    await directory.account("acme")
    assert directory.route(RouteRequest(account.id, NUMBER, "", 5)) is None


# --- messages that wait


async def test_a_message_below_the_margin_moves_to_the_next_candidate_or_ends() -> None:
    desk = Desk()
    router = SetRouter()
    router.excluded = {1}
    claims = QueueClaims(desk.dispatcher.outcomes, desk.clock, desk.dispatcher.lane, router)
    moved, ended, sent = desk.message(destination="447700900123"), desk.message(), desk.message()
    router.routes[moved.destination] = 2
    await claims.refill(desk.lane, QueueStore(Queued(moved, False), Queued(ended, False)).queue, NODE)
    facts = desk.commit()
    assert [(each.key, each.connector, each.claimed) for each in facts.queueings] == [(moved.key, 2, False)]
    assert desk.finished == [(ended.key, Delivery.REJECTD)]
    assert [(final.key, final.refund) for final in facts.finals] == [(ended.key, ended.price)]
    router.excluded.clear()
    await claims.refill(desk.lane, QueueStore(Queued(sent, False)).queue, NODE)
    desk.commit()
    assert desk.carrier.keys == [sent.key]


# --- the routing `best`

BEST = Plan("gold", "best")


def measured(hour: int = -1, **shares: float) -> Quality:
    """Shares in Germany: `c2=0.9`."""
    return Quality({(int(name[1:]), "DE"): share for name, share in shares.items()}, hour)


def ordered(costs: Sequence[int | None], quality: Quality, plan: Plan = BEST, shares: Sequence[int] = ()) -> list[str]:
    held = tables(100, costs, 0, plan)
    held.routes = [
        Route(each, "49", each, share=shares[each - 1] if shares else 1) for each in range(1, len(costs) + 1)
    ]
    return [each.connector for each in explain(NUMBER, ACCOUNT, held, {}, 0, "", quality).candidates]


def test_the_cheapest_connector_of_good_quality_goes_first() -> None:
    costs = [40, 30, 20, 10, None, 5]
    quality = measured(c1=0.99, c2=0.85, c3=0.849, c4=0.5, c5=1.0)
    assert ordered(costs, quality) == ["c2", "c1", "c5", "c6", "c3", "c4"]
    assert ordered(costs, Quality()) == ["c6", "c4", "c3", "c2", "c1", "c5"]
    assert ordered(costs, quality, Plan("gold", "best", min_quality=0)) == ["c6", "c4", "c3", "c2", "c1", "c5"]
    assert ordered(costs, quality, Plan("gold", "best", min_quality=0.5)) == ["c4", "c3", "c2", "c1", "c5", "c6"]


def test_quality_counts_what_customers_say_above_receipts_and_other_operators_tries_as_failures() -> None:
    def share(**counts: int) -> float | None:
        cell = Cell()
        for name, number in counts.items():
            setattr(cell, name, number)
        return measure([(CellKey(1, 7, "DE", ""), cell)], START).share(7, NUMBER, "", 1)

    assert share(delivered=180, failed=20) == 0.9
    assert share(delivered=180, failed=20, denied=80) == 0.5
    assert share(delivered=180, failed=20, confirmed=10) == 0.95
    assert share(delivered=180, failed=10, resent=10) == 0.9
    assert share(delivered=100, resent=99) is None
    assert share(delivered=200, denied=-5) == 1.0


def test_quality_then_share_decide_between_equal_costs() -> None:
    assert ordered([7, 7, 7], measured(c1=0.9, c2=0.95, c3=0.92)) == ["c2", "c3", "c1"]
    assert ordered([7, 7], measured(c1=0.9, c2=0.9), shares=[0, 1]) == ["c2", "c1"]
    assert ordered([7, 7], measured(c1=0.9, c2=0.9), shares=[1, 0]) == ["c1", "c2"]


def test_a_higher_priority_goes_before_a_lower_cost() -> None:
    held = tables(100, [40, 30, 20], 0, BEST)
    held.routes = [Route(1, "49", 1, 5), Route(2, "49", 2), Route(3, "49", 3)]
    assert [each.connector for each in explain(NUMBER, ACCOUNT, held, {}, 0).candidates] == ["c1", "c3", "c2"]


def test_two_percent_of_the_numbers_explore_for_an_hour() -> None:
    held = tables(100, [10, 20], 0, BEST)
    held.routes = [Route(1, "49", 1), Route(2, "49", 2), Route(3, "49", 3)]
    there = {each.id: each for each in held.connectors}
    rules = plan_rules(held.plans, held.plan_of, CostTable(held.costs), measured(5, c1=0.9, c2=0.9))
    state = RoutingState(
        RouteTable(held.routes), there, None, held.plan_of, PrefixTable({"49170": "26201"}), rules=rules
    )
    numbers = [f"4917{each:08}" for each in range(10_000)]
    first = [candidates(RouteRequest(1, number, ""), state)[0].connector for number in numbers]
    assert 60 <= first.count(2) <= 140, "half of two percent"
    assert first == [candidates(RouteRequest(1, number, ""), state)[0].connector for number in numbers]
    explorer = numbers[first.index(2)]
    decision = explain(explorer, ACCOUNT, held, {}, 0, "", measured(5, c1=0.9, c2=0.9))
    assert (decision.connector, decision.candidates[0].quality) == ("c2", 0.9)
    assert any("In this hour the number explores" in each for each in decision.reasons)
    later = explain(explorer, ACCOUNT, held, {}, 0, "", measured(6, c1=0.9, c2=0.9))
    cheapest = "routing best: the cheapest first that delivers at least 85 %."
    assert any(each.endswith(cheapest) for each in later.reasons)


async def test_quality_is_measured_from_the_counts_of_the_last_hours() -> None:
    gateway, other = await opened()
    await gateway.store.plans.put(Plan("default", "best"))
    await gateway.store.costs.put([Cost(1, "", "", 5), Cost(other, "", "", 4)])
    await gateway.store.network.change_routes([Route(0, "447", 1), Route(0, "447", other)], [])
    directory, series, hour = gateway.directory, gateway.store.series, 3_600_000

    async def first() -> int | None:
        await directory.refresh(START)
        directory.judge_quality(measure(await series.totals(quality_query(START)), START))
        return directory.route(RouteRequest(1, "447700900123", "", 9))

    def counted(connector: int, delivered: int, failed: int, country: str = "GB", back: int = 0) -> SeriesCell:
        cell = Cell()
        cell.delivered, cell.failed = delivered, failed
        return SeriesCell(Grain.HOUR, START // hour * hour - back * hour, CellKey(1, connector, country), cell)

    assert await first() == other
    assert directory.wants_quality
    await series.add([counted(1, 170, 29), counted(other, 0, 500, "DE"), counted(other, 0, 500, back=6)])
    assert await first() == other, "199 are too few, and the others are elsewhere or long ago"
    await series.add([counted(1, 0, 1, back=5)])
    assert await first() == 1
    await series.add([counted(other, 900, 100)])
    assert await first() == other
    await gateway.store.mobile_networks.put([MobileNetwork("4477", "23410")])
    bad = counted(other, 0, 200)
    await series.add([replace(bad, key=bad.key._replace(network="23410"))])
    assert await first() == 1, "the network's figures go before the country's"
