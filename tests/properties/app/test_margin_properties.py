"""The margin report against a sum that asks for the costs in force at each segment's moment."""

from dataclasses import replace
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.configuration import Cost, MobileNetwork
from heliograph.app.records import Earning, TakenSegment
from heliograph.app.resources.report_margin import MARGIN_BY, MarginSheet, MarginSum
from heliograph.domain.message.ids import first_key_at, time_of
from heliograph.domain.money.costs import CostHistory, CostTable
from heliograph.domain.numbers.country import country_of

CONNECTORS, PLANS = {1: "op1", 2: "op2"}, {1: "gold", 2: "default"}
NETWORKS = [MobileNetwork("49170", "26201"), MobileNetwork("4917", "26202"), MobileNetwork("33", "20801")]
NUMBERS = ["491701111111", "491721111111", "4930111111", "33611111111", "447700900123", ""]
HOUR = 3_600_000
MOMENTS = st.integers(0, 20)

costs = st.lists(
    st.builds(
        lambda connector, target, since, submitted, delivered, length: Cost(
            connector, target[0], target[1], submitted, delivered, since, since + length if length else 0
        ),
        st.sampled_from([1, 2]),
        st.sampled_from([("", ""), ("49", ""), ("4917", ""), ("491701", ""), ("", "26201"), ("", "20801")]),
        MOMENTS,
        st.integers(0, 90),
        st.integers(0, 9),
        st.integers(0, 12),
    ),
    unique_by=lambda cost: (cost.connector, cost.prefix, cost.network, cost.since),
    max_size=12,
)
segments = st.lists(st.builds(TakenSegment, st.sampled_from([1, 2]), MOMENTS, st.booleans()), max_size=3)
earnings = st.lists(
    st.builds(
        Earning,
        st.integers(0, 5).map(lambda hour: first_key_at(hour * HOUR)),
        st.sampled_from([1, 2]),
        st.sampled_from(NUMBERS),
        st.sampled_from(["", "26201", "20801"]),
        st.integers(0, 99),
        segments,
    ),
    max_size=12,
)


def network_of(number: str) -> str:
    fitting = [each for each in NETWORKS if number.startswith(each.prefix)]
    return max(fitting, key=lambda each: len(each.prefix)).mccmnc if fitting else ""


def cost_of(given_costs: list[Cost], connector: int, number: str, network: str, at: int) -> int | None:
    """The cost of the network, else of the longest prefix, whose latest cost at a moment has not ended."""
    targets = [("", network)] if network else []
    for prefix, mccmnc in [*targets, *((number[:length], "") for length in range(len(number), -1, -1))]:
        begun = [
            each
            for each in given_costs
            if (each.connector, each.prefix, each.network) == (connector, prefix, mccmnc) and each.since <= at
        ]
        latest = max(begun, key=lambda each: each.since, default=None)
        if latest is not None and (latest.until == 0 or at < latest.until):
            return latest.submitted + latest.delivered
    return None


@given(costs, st.sampled_from([1, 2, 3]), st.sampled_from(NUMBERS), MOMENTS)
def test_a_history_has_the_costs_of_each_moment(given_costs: list[Cost], of: int, number: str, at: int) -> None:
    network = network_of(number)
    found = CostHistory(given_costs).cost(of, number, network, at)
    wanted = cost_of(given_costs, of, number, network, at)
    assert (None if found is None else sum(found)) == wanted
    assert CostTable(given_costs, at).cost(of, number, network) == wanted


@given(costs, st.lists(MOMENTS, min_size=1, max_size=4), st.integers(1, 5))
def test_a_table_that_is_read_in_pages_has_the_costs_of_each_moment(
    given_costs: list[Cost], moments: list[int], page: int
) -> None:
    rows = sorted(
        (each.connector, each.network, each.prefix, each.since, each.submitted + each.delivered, each.until)
        for each in given_costs
    )
    for at in moments:
        table = CostTable()
        for start in range(0, len(rows), page):
            table.update(rows[start : start + page], at)
        for of, number in product(CONNECTORS, NUMBERS):
            network = network_of(number)
            assert table.cost(of, number, network) == cost_of(given_costs, of, number, network, at)


@given(costs, earnings, st.lists(st.sampled_from(MARGIN_BY), min_size=1, unique=True))
def test_a_report_adds_up_to_the_last_digit(given_costs: list[Cost], found: list[Earning], by: list[str]) -> None:
    sheet = MarginSheet(by, HOUR, CONNECTORS, PLANS)
    sheet.know_networks(NETWORKS)
    for connector in CONNECTORS:
        sheet.know_costs([each for each in given_costs if each.connector == connector])
    naive: dict[tuple[str, ...], list[int]] = {}
    for earning in found:
        sheet.add(earning)
        if not earning.segments:
            continue
        number = earning.destination
        values = {
            "country": country_of(number),
            "network": earning.network or network_of(number),
            "plan": PLANS[earning.account],
        }

        def sums_of(connector: int, values: dict[str, str] = values) -> list[int]:
            named = {**values, "connector": CONNECTORS[connector]}
            return naive.setdefault(tuple(named[kind] for kind in by), [0, 0, 0])

        sums_of(earning.segments[-1].connector)[0] += earning.amount
        for segment in earning.segments:
            sums = sums_of(segment.connector)
            table = CostTable(given_costs, segment.at)
            whole = table.cost(segment.connector, number, values["network"])
            submitted = [replace(each, delivered=0) for each in given_costs]
            only = CostTable(submitted, segment.at).cost(segment.connector, number, values["network"])
            if whole is None or only is None:
                sums[2] += 1
            else:
                sums[1] += whole if segment.is_delivered else only
    assert {of: [each.revenue, each.cost, each.unknown] for of, each in sheet.sums.items()} == naive
    total = MarginSum()
    for each in sheet.sums.values():
        for name in ("messages", "segments", "delivered", "revenue", "cost", "unknown"):
            setattr(total, name, getattr(total, name) + getattr(each, name))
    assert sheet.total == total
    for hour, point in sheet.points.items():
        within = [each.amount for each in found if each.segments and time_of(each.key) == hour]
        assert point.revenue == sum(within)
    assert sum(each.margin for each in sheet.points.values()) == total.margin
