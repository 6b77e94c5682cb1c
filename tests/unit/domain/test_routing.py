import pytest

from heliograph.domain.routing import Route, RouteTable

TABLE = RouteTable(
    [
        Route("", 1, 0),
        Route("44", 2, 5),
        Route("44", 3, 10),
        Route("44", 1, 5),
        Route("44", 3, 1),
        Route("447", 4, 0),
    ]
)


@pytest.mark.parametrize(
    ("destination", "connectors"),
    [
        ("447700900123", [4]),
        ("442079460123", [3, 1, 2]),
        ("33123456789", [1]),
    ],
)
def test_longest_prefix_then_priority_then_lowest_connector(destination: str, connectors: list[int]) -> None:
    assert TABLE.candidates(destination) == connectors
    assert TABLE.find(destination) == connectors[0]


def test_without_a_route() -> None:
    table = RouteTable([Route("44", 1, 0)])
    assert table.find("33123456789") is None
    assert table.candidates("33123456789") == []


def test_the_caller_may_keep_the_list() -> None:
    TABLE.candidates("442079460123").clear()
    assert TABLE.candidates("442079460123") == [3, 1, 2]
