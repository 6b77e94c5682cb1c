"""Which connectors may take a message, and in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.configuration import Connector, Route, Tables
from heliograph.app.routing.candidates import Candidate, chosen
from heliograph.app.routing.explain import explain
from heliograph.app.routing.rules import RouteRules


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
RULES = RouteRules(ROUTES, connectors(1, 2, 3, 4, 5, 6))


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
    candidates = RULES.candidates(destination)
    assert [candidate.connector for candidate in candidates] == order
    assert chosen(candidates) == order[0]


def test_each_candidate_names_the_rule_that_put_it_there() -> None:
    assert [candidate.route for candidate in RULES.candidates("442079460123")] == [ROUTES[2], ROUTES[3], ROUTES[1]]


def test_without_a_route() -> None:
    rules = RouteRules([Route(1, "44", 1)], connectors(1))
    assert rules.candidates("33123456789") == ()
    assert chosen(()) is None


def test_a_route_to_a_connector_that_is_gone_does_not_count() -> None:
    rules = RouteRules([Route(1, "", 1), Route(2, "44", 2)], connectors(1))
    assert chosen(rules.candidates("442079460123")) == 1


def test_a_paused_connector_keeps_its_messages() -> None:
    rules = RouteRules([Route(1, "", 1, 9), Route(2, "", 2)], connectors(1, 2, paused=1))
    assert [(each.connector, each.paused) for each in rules.candidates("442079460123")] == [(1, True), (2, False)]
    assert chosen(rules.candidates("442079460123")) == 1


def test_a_development_run_takes_what_no_route_covers() -> None:
    rules = RouteRules([Route(1, "44", 1)], connectors(1), fallback=7)
    assert rules.candidates("33123456789") == (Candidate(7, None),)
    assert chosen(rules.candidates("442079460123")) == 1


NUMBERS = st.text("123", max_size=7)
ANY_ROUTES = st.lists(st.builds(Route, st.just(0), st.text("123", max_size=4), st.integers(1, 5), st.integers(-2, 2)))


@given(ANY_ROUTES, NUMBERS, st.sampled_from([None, 9]))
def test_a_route_is_found_by_prefix_priority_and_connector(
    routes: list[Route], number: str, fallback: int | None
) -> None:
    best = max((len(route.prefix) for route in routes if number.startswith(route.prefix)), default=None)
    fitting = [route for route in routes if number.startswith(route.prefix) and len(route.prefix) == best]
    ranked = sorted((-route.priority, route.connector) for route in fitting)
    found = chosen(RouteRules(reversed(routes), connectors(1, 2, 3, 4, 5), fallback).candidates(number))
    assert found == (ranked[0][1] if ranked else fallback)


@given(ANY_ROUTES, NUMBERS, st.integers(0, 5))
def test_what_is_explained_is_what_is_done(routes: list[Route], number: str, paused: int) -> None:
    there = connectors(1, 2, 3, paused=paused)
    found = chosen(RouteRules(routes, there).candidates(number))
    decision = explain(number, "default", Tables(1, there, routes, []), {}, 0)
    assert decision.connector == (None if found is None else f"c{found}")
    assert any("is paused" in reason for reason in decision.reasons) == (found is not None and found == paused)
