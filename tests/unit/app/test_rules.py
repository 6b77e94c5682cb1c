"""Which connectors may take a message, and in which order."""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.configuration import Account, Connector, Route, Tables
from heliograph.app.routing.candidates import Candidate, RouteRequest, RoutingState, candidates, chosen
from heliograph.app.routing.explain import explain


def connectors(*numbers: int, paused: int = 0) -> list[Connector]:
    return [Connector(each, f"c{each}", enabled=each != paused) for each in numbers]


ROUTES = [
    Route(1, "", 1, 0),
    Route(2, "44", 2, 5),
    Route(3, "44", 3, 10),
    Route(4, "44", 1, 5),
    Route(5, "44", 3, 1),
    Route(6, "447", 4, 0),
    Route(7, "43", 6, 5),
    Route(8, "43", 5, 5),
]


def found(
    destination: str, routes: Iterable[Route] = ROUTES, there: Iterable[Connector] = (), fallback: int | None = None
) -> Sequence[Candidate]:
    state = {each.id: each for each in there or connectors(1, 2, 3, 4, 5, 6)}
    return candidates(RouteRequest(1, destination, ""), RoutingState(routes, state, fallback))


@pytest.mark.parametrize(
    ("destination", "order"),
    [
        ("447700900123", [4]),
        ("442079460123", [3, 1, 2]),
        ("431234567890", [5, 6]),
        ("33123456789", [1]),
    ],
)
def test_longest_prefix_then_priority_then_lowest_connector(destination: str, order: list[int]) -> None:
    assert [candidate.connector for candidate in found(destination)] == order
    assert chosen(found(destination)) == order[0]


def test_each_candidate_names_the_rule_that_put_it_there() -> None:
    ordered = found("442079460123")
    assert [candidate.route for candidate in ordered] == [ROUTES[2], ROUTES[3], ROUTES[1]]
    assert ordered[0].why == "The route for the prefix 44 with priority 10"


def test_without_a_route() -> None:
    assert found("33123456789", [Route(1, "44", 1)]) == ()
    assert chosen([]) is None


def test_a_route_to_a_connector_that_is_gone_does_not_count() -> None:
    assert chosen(found("442079460123", [Route(1, "", 1), Route(2, "44", 2)], connectors(1))) == 1


def test_a_paused_connector_keeps_its_messages() -> None:
    both = found("442079460123", [Route(1, "", 1, 9), Route(2, "", 2)], connectors(1, 2, paused=1))
    assert [(each.connector, each.usable, each.obstacle) for each in both] == [(1, False, "paused"), (2, True, "")]
    assert chosen(both) == 1


def test_a_development_run_takes_what_no_route_covers() -> None:
    routes = [Route(1, "44", 1)]
    assert found("33123456789", routes, fallback=7) == (Candidate(7, None),)
    assert chosen(found("442079460123", routes, fallback=7)) == 1


NUMBERS = st.text("123", max_size=7)
ANY_ROUTES = st.lists(st.builds(Route, st.just(0), st.text("123", max_size=4), st.integers(1, 5), st.integers(-2, 2)))


@given(ANY_ROUTES, NUMBERS, st.sampled_from([None, 9]))
def test_a_route_is_found_by_prefix_priority_and_connector(
    routes: list[Route], number: str, fallback: int | None
) -> None:
    best = max((len(route.prefix) for route in routes if number.startswith(route.prefix)), default=None)
    fitting = [route for route in routes if number.startswith(route.prefix) and len(route.prefix) == best]
    ranked = sorted((-route.priority, route.connector) for route in fitting)
    assert chosen(found(number, reversed(routes), fallback=fallback)) == (ranked[0][1] if ranked else fallback)


@given(ANY_ROUTES, NUMBERS, st.integers(0, 5))
def test_what_is_explained_is_what_is_done(routes: list[Route], number: str, paused: int) -> None:
    there = connectors(1, 2, 3, paused=paused)
    taken = chosen(found(number, routes, there))
    decision = explain(number, Account(1, "acme", "", b""), Tables(1, there, routes, []), {}, 0)
    assert decision.connector == (None if taken is None else f"c{taken}")
    assert any("is paused" in reason for reason in decision.reasons) == (taken is not None and taken == paused)
