"""Which connectors may take a message, and in which order."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.configuration import DRAIN, OFF, ON, Account, Connector, MobileNetwork, Route, Tables
from heliograph.app.routing.candidates import (
    Candidate,
    RouteRequest,
    RouteTable,
    RoutingState,
    another,
    candidates,
    chosen,
)
from heliograph.app.routing.explain import explain
from heliograph.domain.numbers.phone import PrefixTable


def connectors(*numbers: int, paused: int = 0) -> list[Connector]:
    return [Connector(each, f"c{each}", state=OFF if each == paused else ON) for each in numbers]


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
    return candidates(RouteRequest(1, destination, ""), routing(routes, there, fallback))


def routing(
    routes: Iterable[Route] = ROUTES, there: Iterable[Connector] = (), fallback: int | None = None
) -> RoutingState:
    return RoutingState(RouteTable(routes), {each.id: each for each in there or connectors(1, 2, 3, 4, 5, 6)}, fallback)


def taker(destination: str, routes: Iterable[Route] = ROUTES, there: Sequence[Connector] = ()) -> int | None:
    return chosen(found(destination, routes, there), routing(routes, there).obstacles)


@pytest.mark.parametrize(
    ("destination", "orders"),
    [
        ("447700900123", [[4]]),
        ("442079460123", [[3, 1, 2], [3, 2, 1]]),
        ("431234567890", [[5, 6], [6, 5]]),
        ("33123456789", [[1]]),
    ],
)
def test_longest_prefix_then_priority_then_share(destination: str, orders: list[list[int]]) -> None:
    order = [candidate.connector for candidate in found(destination)]
    assert order in orders
    assert taker(destination) == order[0]


def test_each_candidate_names_the_rule_that_put_it_there() -> None:
    ordered = found("442079460123")
    assert [(each.connector, each.priority) for each in ordered[:1]] == [(3, 10)]
    assert {(each.connector, each.priority) for each in ordered[1:]} == {(2, 5), (1, 5)}
    reasons = routing().reasons(RouteRequest(1, "442079460123", ""))
    assert reasons == {
        3: "The route for the prefix 44 with priority 10",
        2: "The route for the prefix 44 with priority 5",
        1: "The route for the prefix 44 with priority 5",
    }


def test_without_a_route() -> None:
    assert found("33123456789", [Route(1, "44", 1)]) == ()
    assert taker("33123456789", [Route(1, "44", 1)]) is None


def test_a_route_to_a_connector_that_is_gone_does_not_count() -> None:
    assert taker("442079460123", [Route(1, "", 1), Route(2, "44", 2)], connectors(1)) == 1


def test_the_next_route_takes_messages_of_a_paused_connector() -> None:
    routes, there = [Route(1, "", 1, 9), Route(2, "", 2)], connectors(1, 2, paused=1)
    assert [each.connector for each in found("442079460123", routes, there)] == [1, 2]
    assert routing(routes, there).obstacles == {1: "paused"}
    assert routing(routes, [replace(there[0], state=DRAIN), there[1]]).obstacles == {1: "draining"}
    assert taker("442079460123", routes, there) == 2


def test_a_message_does_not_return_to_a_connector_that_it_has_tried() -> None:
    both = found("442079460123", [Route(1, "", 1, 9), Route(2, "", 2)])
    assert another(both, {}) == 1
    assert another(both, {}, tried={1}) == 2
    assert another(both, {2: "paused"}, tried={1}) is None


def test_messages_wait_for_a_paused_connector_where_no_other_fits_as_well() -> None:
    routes = [Route(1, "44", 1), Route(2, "", 2)]
    assert taker("442079460123", routes, connectors(1, 2, paused=1)) == 1
    routes[0].fallback = True
    assert [each.connector for each in found("442079460123", routes)] == [1, 2]
    assert taker("442079460123", routes, connectors(1, 2, paused=1)) == 2


def test_a_development_run_takes_what_no_route_covers() -> None:
    routes = [Route(1, "44", 1)]
    assert found("33123456789", routes, fallback=7) == (Candidate(7),)
    assert taker("442079460123", routes) == 1


# --- by account, plan, sender and network

NETWORKS = [
    MobileNetwork("49151", "26201", "Telekom"),
    MobileNetwork("49171", "26201"),
    MobileNetwork("49172", "26202"),
]
SPECIFIC = [
    Route(1, "", 1),
    Route(2, "4917", 2),
    Route(3, "", 3, network="26201"),
    Route(4, "49", 4, sender="ACME*"),
    Route(5, "", 5, sender="ACMEBank"),
    Route(6, "", 6, plan="gold"),
    Route(7, "4917", 1, account=7),
    Route(8, "", 2, account=7, sender="ACME"),
]


@pytest.mark.parametrize(
    ("account", "destination", "sender", "connector"),
    [
        (1, "33123456789", "Shop", 1),
        (1, "491721234567", "Shop", 2),
        (1, "491711234567", "Shop", 3),
        (1, "491711234567", "ACMEShop", 4),
        (1, "33123456789", "ACMEShop", 1),
        (1, "33123456789", "ACMEBank", 5),
        (2, "491711234567", "ACMEBank", 6),
        (7, "491711234567", "Shop", 1),
        (7, "33123456789", "Shop", 6),
        (7, "33123456789", "ACME", 2),
    ],
)
def test_the_account_then_its_plan_then_the_sender_then_the_network_decide(
    account: int, destination: str, sender: str, connector: int
) -> None:
    state = {each.id: each for each in connectors(1, 2, 3, 4, 5, 6)}
    networks = PrefixTable({each.prefix: each.mccmnc for each in NETWORKS})
    by_all = RoutingState(RouteTable(SPECIFIC), state, None, {2: "gold", 7: "gold"}, networks)
    assert chosen(candidates(RouteRequest(account, destination, sender), by_all), by_all.obstacles) == connector


# --- shares


def _shares(routes: list[Route], numbers: int = 10_000) -> Counter[int | None]:
    there = connectors(1, 2, 3)
    return Counter(taker(str(491700000000 + number), routes, there) for number in range(numbers))


def test_routes_of_a_priority_share_the_numbers_by_weight() -> None:
    taken = _shares([Route(1, "", 1, share=95), Route(2, "", 2, share=5), Route(3, "", 3, share=0)])
    assert taken[2] == pytest.approx(500, abs=100)
    assert (taken[1], taken[3]) == (10_000 - taken[2], 0)


@pytest.mark.parametrize("shares", [(1, 1), (0, 2), (3, 1), (1, 0, 4), (2, 2, 2)])
def test_routes_with_a_fallback_share_the_numbers_alike(shares: tuple[int, ...]) -> None:
    """Most messages take a shorter way through the code."""
    routes = [Route(each, "", each, share=share) for each, share in enumerate(shares, 1)]
    falling = [replace(route, fallback=True) for route in routes]
    for number in (f"4917{n:08d}" for n in range(100)):
        orders = [[each.connector for each in found(number, of)] for of in (routes, falling)]
        assert orders[0] == orders[1]


def test_another_connector_takes_its_share_only() -> None:
    before, after = [Route(1, "", 1), Route(2, "", 2)], [Route(1, "", 1), Route(2, "", 2), Route(3, "", 3)]
    moved = Counter(
        (taker(number, before), taker(number, after)) for number in (str(491700000000 + each) for each in range(3_000))
    )
    assert {to for of, to in moved if of != to} == {3}
    assert sum(count for (of, to), count in moved.items() if of != to) == pytest.approx(1_000, abs=100)


NUMBERS = st.text("123", max_size=7)
ANY_ROUTES = st.lists(
    st.builds(
        Route,
        st.just(0),
        st.text("123", max_size=4),
        st.integers(1, 5),
        st.integers(-2, 2),
        account=st.integers(0, 1),
        plan=st.sampled_from(["", "gold"]),
        sender=st.sampled_from(["", "AC*", "ACME"]),
        share=st.integers(0, 3),
        fallback=st.booleans(),
    )
)


@given(ANY_ROUTES, NUMBERS, st.sampled_from(["Shop", "ACE", "ACME"]), st.integers(0, 5))
def test_the_best_fitting_group_is_used(routes: list[Route], number: str, sender: str, paused: int) -> None:
    def rank(route: Route) -> tuple[bool, bool, int, int] | None:
        """The higher the better; None if it does not fit."""
        named = route.sender and (len(route.sender) + (not route.sender.endswith("*")) * 99)
        if not number.startswith(route.prefix) or not fnmatchcase(sender, route.sender or "*"):
            return None
        return bool(route.account), not route.account and bool(route.plan), named or 0, len(route.prefix)

    fitting = [(ranked, route) for route in routes if (ranked := rank(route)) is not None]
    best = max((ranked for ranked, _ in fitting), default=None)
    there = {each.id: each for each in connectors(1, 2, 3, 4, 5, paused=paused)}
    state = RoutingState(RouteTable(routes), there, None, {1: "gold"})
    ordered = candidates(RouteRequest(1, number, sender), state)
    group = [route for ranked, route in fitting if ranked == best]
    assert {each.connector for each in ordered} >= {route.connector for route in group}
    if not any(route.fallback for route in group):
        assert {each.connector for each in ordered} == {route.connector for route in group}
    if ordered:
        of_group = {(route.connector, route.priority) for route in group}
        priorities = [each.priority for each in ordered if (each.connector, each.priority) in of_group]
        assert priorities == sorted(priorities, reverse=True)
        usable = [each.connector for each in ordered if each.connector != paused]
        assert chosen(ordered, state.obstacles) == (usable or [ordered[0].connector])[0]


@given(ANY_ROUTES, NUMBERS, st.integers(0, 5))
def test_what_is_explained_is_what_is_done(routes: list[Route], number: str, paused: int) -> None:
    there = connectors(1, 2, 3, paused=paused)
    account = Account(1, "acme", "", b"", plan="gold")
    state = RoutingState(RouteTable(routes), {each.id: each for each in there}, None, {1: "gold"})
    ordered = candidates(RouteRequest(1, number, "ACME"), state)
    decision = explain(number, account, Tables(1, there, routes, [], plan_of={1: "gold"}), {}, 0, "ACME")
    assert [each.connector for each in decision.candidates] == [f"c{each.connector}" for each in ordered]
    taken = chosen(ordered, state.obstacles)
    assert decision.connector == (None if taken is None else f"c{taken}")
    assert any("is paused" in reason for reason in decision.reasons) == any(
        each.connector == paused for each in ordered
    )
