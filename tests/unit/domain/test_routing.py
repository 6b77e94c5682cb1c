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
        Route("43", 6, 5),
        Route("43", 5, 5),
    ]
)


@pytest.mark.parametrize(
    ("destination", "connector"),
    [
        ("447700900123", 4),
        ("442079460123", 3),
        ("431234567890", 5),
        ("33123456789", 1),
    ],
)
def test_longest_prefix_then_priority_then_lowest_connector(destination: str, connector: int) -> None:
    assert TABLE.find(destination) == connector


def test_without_a_route() -> None:
    table = RouteTable([Route("44", 1, 0)])
    assert table.find("33123456789") is None
