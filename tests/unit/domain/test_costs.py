"""What operators charge: by network, by the longest prefix, from a date on."""

import pytest

from heliograph.app.configuration import Cost
from heliograph.domain.money.costs import CostTable

COSTS = [
    Cost(1, "49", "", 30),
    Cost(1, "4917", "", 25, 5),
    Cost(1, "", "26201", 20, 2),
    Cost(1, "", "26201", 18, since=1_000),
    Cost(2, "", "", 50),
    Cost(2, "49", "", 40),
    Cost(2, "49", "", 41, since=100, until=200),
    Cost(2, "49", "", 42, since=300),
    Cost(4, "4", "", 7, until=400),
]


@pytest.mark.parametrize(
    ("connector", "number", "network", "at", "cost"),
    [
        (1, "493012345", "", 0, 30),
        (1, "491712345", "", 0, 30),
        (1, "491711234", "26202", 0, 30),
        (1, "493012345", "26201", 999, 22),
        (1, "493012345", "26201", 1_000, 18),
        (1, "331234567", "", 0, None),
        (2, "331234567", "26201", 0, 50),
        (3, "331234567", "", 0, None),
        (2, "493012345", "", 99, 40),
        (2, "493012345", "", 199, 41),
        (2, "493012345", "", 200, 50),
        (2, "493012345", "", 300, 42),
        (4, "493012345", "", 399, 7),
        (4, "493012345", "", 400, None),
    ],
)
def test_the_network_then_the_longest_prefix_names_the_cost(
    connector: int, number: str, network: str, at: int, cost: int | None
) -> None:
    assert CostTable(COSTS, at).cost(connector, number, network) == cost
