"""Candidates: the connectors that may take a message, in order, each with the reason.

`candidates` and `chosen` decide where a message goes, for acceptance, quotes, dispatch, failover and `routing.explain`.
They are pure: the rules come from the tables, and they and the state of the connectors are an argument
(`RoutingState`). So each caller gets the same order for the same moment.

    message --> routes of the account, of its plan, of all     the first group that has a route is used;
                  that name the sender, any sender             the next only after a route with `fallback`
                    to the network, the longest prefix
                |
                v
    group   --> the higher priority first; among equals by share, and a number keeps its connector,
                or with the routing `best` the cheapest connector of good quality first
                |
                v
    chosen  --> the first without an obstacle that the message has not tried

**To add a rule.** A rule that selects by the message belongs into `RoutingState.fitting`. A rule that orders belongs
into `_group`, which is compiled once for many messages, or into `candidates` if it depends on the message. A reason not
to use a connector is an obstacle: a configured obstacle belongs into `configured_obstacle`, an obstacle of the moment
into `app.routing.health`, an obstacle that depends on the message's plan into `app.routing.plan_rules`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import inf, log
from typing import Final, NamedTuple, Protocol
from zlib import crc32

from heliograph.app.configuration import DRAIN, OFF, Connector, MobileNetwork, Route
from heliograph.app.routing.plan_rules import EXCLUSIONS, PlanRules
from heliograph.domain.numbers.phone import PrefixTable


class Routed(Protocol):
    """The fields of a message that routes use."""

    account: int
    destination: str
    sender: str
    price: int
    """Micro-credits for all `segments`."""
    segments: int


@dataclass(slots=True)
class RouteRequest:
    """A destination of a request before it becomes a message."""

    account: int
    destination: str
    sender: str
    price: int = 0
    segments: int = 1


class Candidate(NamedTuple):
    """A connector that a message may go to."""

    connector: int
    route: Route | None
    """The rule of this candidate; None for the fallback."""

    @property
    def why(self) -> str:
        """The reason for this position, for people: `The route for the prefix 44 with priority 9`."""
        route = self.route
        if route is None:
            return "No route covers the number; in a development run it"
        owner = " of the account" if route.account else f" of the plan {route.plan}" if route.plan else ""
        sender = f" and the sender {route.sender}" if route.sender else ""
        numbers = f"the network {route.network}" if route.network else numbers_of(route.prefix)
        return f"The route{owner} for {numbers}{sender} with priority {route.priority}"

    def sentence(self, name: str, obstacle: str = "") -> str:
        """Returns the reason and the obstacle as a sentence; `name` is the connector's."""
        leads = f"{self.why} {'goes' if self.route is None else 'leads'} to {name}"
        return f"{leads}, which is {obstacle}." if obstacle else f"{leads}."


class _Group(NamedTuple):
    """Candidates of routes that fit equally well, the highest priority first, each connector once."""

    candidates: tuple[Candidate, ...]
    weights: tuple[tuple[int, int, int], ...]
    """Of each candidate: its negative priority, the seed of its distances, and its share."""
    shares: bool
    """Whether two of them have the same priority."""
    falls_back: bool
    """Whether routes that fit less well follow."""


class _Targets:
    """The groups of routes by network and by prefix."""

    __slots__ = ("by_network", "by_prefix")

    def __init__(self, routes: Iterable[Route]) -> None:
        networks: dict[str, dict[int, Route]] = {}
        prefixes: dict[str, dict[int, Route]] = {}
        for route in routes:
            groups, target = (networks, route.network) if route.network else (prefixes, route.prefix)
            groups.setdefault(target, {}).setdefault(route.connector, route)
        self.by_network = {network: _group(group.values()) for network, group in networks.items()}
        self.by_prefix = PrefixTable({prefix: _group(group.values()) for prefix, group in prefixes.items()})


class _Senders:
    """The targets of routes by the sender that they name."""

    __slots__ = ("any", "named", "patterns")

    def __init__(self, routes: Iterable[Route]) -> None:
        by_sender: dict[str, list[Route]] = {}
        for route in routes:
            by_sender.setdefault(route.sender, []).append(route)
        targets = {sender: _Targets(of) for sender, of in by_sender.items()}
        self.any = targets.pop("", None)
        self.named = {sender: each for sender, each in targets.items() if not sender.endswith("*")}
        self.patterns = PrefixTable({sender[:-1]: each for sender, each in targets.items() if sender.endswith("*")})

    def everyone(self) -> Iterator[_Targets]:
        """Yields the targets for all senders."""
        if self.any is not None:
            yield self.any
        yield from self.named.values()
        yield from self.patterns.values()

    def fitting(self, sender: str) -> Iterator[_Targets]:
        """Yields the targets for a sender: its own, then of the longest pattern, then for any sender."""
        if sender in self.named:
            yield self.named[sender]
        yield from self.patterns.matches(sender)
        if self.any is not None:
            yield self.any


NetworkOf = Callable[[str], str]
"""Returns the MCCMNC of a number, such as `26202`; empty if it is not known."""

NO_PLANS: Final[Mapping[int, str]] = {}

Obstacles = Mapping[int, str]
"""Why a connector is not used, in words that follow "which is", by the connector's id."""

NO_OBSTACLES: Final[Obstacles] = {}


def configured_obstacle(connector: Connector) -> str:
    """Returns why a connector is not to be used by its configuration; empty if it is."""
    return {DRAIN: "draining", OFF: "paused"}.get(connector.state, "")


_HASHES: Final = float(1 << 64)
_ALL_BITS: Final = (1 << 64) - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15
"""2 to the 64th, divided by the golden ratio."""


class RoutingState:
    """The routes and the state of their connectors at a moment, compiled into candidates. It is replaced, never
    changed.

    A route of a shorter prefix stands in for a route of a longer prefix only if that says so (`Route.fallback`). A
    country that is routed elsewhere must not take the general way when that connector is down.
    """

    __slots__ = (
        "_accounts", "_all", "_configured", "_networks", "_plain", "_plans", "_plans_of", "_standins", "fallback",
        "knows_networks", "obstacles", "ported", "rules",
    )  # fmt: skip

    obstacles: dict[int, str]
    """Why a connector is not used now, such as `paused`, by its id; connectors that can be used are absent."""

    rules: PlanRules | None
    """The rules of plans; None if no plan has any."""

    ported: NetworkOf | None
    """Returns the networks of ported numbers."""

    knows_networks: bool
    """Whether the network of any number is known."""

    def __init__(
        self,
        routes: Iterable[Route],
        connectors: Mapping[int, Connector],
        fallback: int | None = None,
        plans: Mapping[int, str] = NO_PLANS,
        networks: Iterable[MobileNetwork] = (),
        obstacles: Obstacles = NO_OBSTACLES,
        rules: PlanRules | None = None,
        ported: NetworkOf | None = None,
    ) -> None:
        """`connectors` has all connectors by id: a route to any other id does not count. `fallback` is the connector
        for destinations without a route: the simulated operator of a development run. `plans`: the plans of
        accounts, by id, as far as plans have routes. `ported` returns the networks of ported numbers. `obstacles`
        of the moment join the configured obstacles."""
        self.rules = rules
        paused = {connector.id: configured_obstacle(connector) for connector in connectors.values()}
        self._configured = {connector: obstacle for connector, obstacle in paused.items() if obstacle}
        self.heed(obstacles)
        accounts: dict[int, list[Route]] = {}
        by_plan: dict[str, list[Route]] = {}
        others: list[Route] = []
        for route in sorted(routes, key=lambda route: (-route.priority, route.connector)):
            if route.connector not in connectors:
                continue
            if route.account:
                accounts.setdefault(route.account, []).append(route)
            elif route.plan:
                by_plan.setdefault(route.plan, []).append(route)
            else:
                others.append(route)
        self._accounts = {account: _Senders(of) for account, of in accounts.items()}
        self._plans = {plan: _Senders(of) for plan, of in by_plan.items()}
        self._plans_of = plans
        self._all = _Senders(others)
        prefixes = {each.prefix: each.mccmnc for each in networks}
        self._networks, self.ported = PrefixTable(prefixes), ported
        self.knows_networks = bool(prefixes) or ported is not None
        names_only_prefixes = not (accounts or by_plan or any(each.sender or each.network for each in others))
        self._plain = self._all.any.by_prefix if names_only_prefixes and self._all.any is not None else None
        self._standins: dict[int, set[int]] | None = None
        self.fallback = () if fallback is None else (Candidate(fallback, None),)

    def heed(self, obstacles: Obstacles) -> None:
        """Replaces the obstacles of the moment."""
        self.obstacles = {**obstacles, **self._configured}

    def network(self, number: str) -> str:
        """Returns the MCCMNC of a number's network, for example `26201`; empty if it is not known."""
        return (self.ported is not None and self.ported(number)) or self._networks.find(number) or ""

    def obstacles_of(self, message: Routed, found: Iterable[Candidate]) -> Obstacles:
        """Returns the obstacles for a message: obstacles of the moment, and exclusions by the rules of its plan."""
        connectors = [candidate.connector for candidate in found]
        excluded = {of: why for of in connectors if (why := self.exclusion(message, of))}
        return {**self.obstacles, **excluded} if excluded else self.obstacles

    def exclusion(self, message: Routed, connector: int) -> str:
        """Returns why the rules of its plan keep a message from the connector, such as `below the margin`; empty if
        they do not."""
        rules = self.rules
        if rules is None or not rules.binds(message.account):
            return ""
        number = message.destination
        price = message.price // message.segments
        return rules.exclusion(message.account, number, self.network(number), price, connector)

    def standins(self, connector: int) -> set[int]:
        """Returns the connectors that may take some message in place of this one. They are worked out on the first
        call, because hardly a state is asked before it is replaced."""
        if self._standins is None:
            found: dict[int, set[int]] = {}
            groups = list(self._groups())
            everyone = {each.connector for group in groups for each in group.candidates}
            for group in groups:
                together = everyone if group.falls_back else {each.connector for each in group.candidates}
                for each in group.candidates:
                    found.setdefault(each.connector, set()).update(together)
            for each_connector, others in found.items():
                others.discard(each_connector)
            self._standins = found
        return self._standins.get(connector, set())

    def _groups(self) -> Iterator[_Group]:
        for senders in (*self._accounts.values(), *self._plans.values(), self._all):
            for targets in senders.everyone():
                yield from targets.by_network.values()
                yield from targets.by_prefix.values()

    def best(self, message: Routed) -> _Group | None:
        """Returns the group of routes that fits best, or None."""
        if self._plain is not None:
            return self._plain.find(message.destination)
        return next(self.fitting(message), None)

    def fitting(self, message: Routed) -> Iterator[_Group]:
        """Yields the groups of routes that fit, the best fit first."""
        number = message.destination
        network = self.network(number)
        of_plan = self._plans.get(self._plans_of.get(message.account, ""))
        for senders in (self._accounts.get(message.account), of_plan, self._all):
            for targets in () if senders is None else senders.fitting(message.sender):
                if network in targets.by_network:
                    yield targets.by_network[network]
                yield from targets.by_prefix.matches(number)


def _group(routes: Iterable[Route]) -> _Group:
    ordered = tuple(routes)
    priorities = {route.priority for route in ordered}
    return _Group(
        tuple(Candidate(route.connector, route) for route in ordered),
        tuple((-route.priority, _seed(route.connector), route.share) for route in ordered),
        len(priorities) < len(ordered),
        any(route.fallback for route in ordered),
    )


def candidates(message: Routed, state: RoutingState) -> Sequence[Candidate]:
    """Returns the candidates for a message, the preferred candidate first; empty if no rule covers it."""
    best = state.best(message)
    if best is None:
        return state.fallback
    if not (best.shares or best.falls_back):
        return best.candidates
    number = message.destination
    order = None if state.rules is None else state.rules.order(message.account)
    if order is None and not best.falls_back:
        return _by_share(best, number)
    explores = order is not None and order.explores(number)
    network = "" if order is None else state.network(number)

    def place(candidate: Candidate) -> tuple[float, ...]:
        route = candidate.route
        assert route is not None
        near = distance(candidate.connector, number, min(route.share, 1) if explores else route.share)
        if order is None or explores:
            return -route.priority, near
        return -route.priority, *order.place(candidate.connector, number, network), near

    found: dict[int, Candidate] = {}
    for group in state.fitting(message):
        for candidate in sorted(group.candidates, key=place) if group.shares else group.candidates:
            found.setdefault(candidate.connector, candidate)
        if not group.falls_back:
            break
    return list(found.values())


def _by_share(group: _Group, number: str) -> Sequence[Candidate]:
    """Returns the candidates of a group in the order of priority and distance. This is `candidates` for most messages,
    without what these do not need."""
    spread = crc32(number.encode())
    found = group.candidates
    if len(found) == 2:  # the usual case, in half of the time: a group that shares has them at the same priority
        (_, seed, share), (_, other_seed, other_share) = group.weights
        is_first = _distance(seed, spread, share) <= _distance(other_seed, spread, other_share)
        return found if is_first else found[::-1]
    places = []
    for index, (urgency, seed, share) in enumerate(group.weights):
        places.append((urgency, _distance(seed, spread, share), index))
    places.sort()
    return [found[index] for _, _, index in places]


def distance(connector: int, number: str, share: int) -> float:
    """Returns the distance of a number from a connector with a share: the nearest connector takes the number.

    Weighted rendezvous hashing: a number keeps its connector, and a new connector takes its share evenly from the
    others. With a share of 0 the distance is infinite.
    """
    return _distance(_seed(connector), crc32(number.encode()), share)


def _distance(seed: int, spread: int, share: int) -> float:
    """Returns the distance by the checksum of the number, with its bits mixed by two multiplications. A cryptographic
    hash for each candidate would be 6 % of all work on a message."""
    if not share:
        return inf
    mixed = (spread ^ seed) * _GOLDEN & _ALL_BITS
    return -log((((mixed ^ mixed >> 32) * _GOLDEN & _ALL_BITS) + 1) / _HASHES) / share


def _seed(connector: int) -> int:
    """Returns 64 bits by which the distances of connectors differ."""
    return int.from_bytes(blake2b(b"%d" % connector, digest_size=8).digest())


def chosen(found: Sequence[Candidate], obstacles: Obstacles) -> int | None:
    """Returns the connector for the message: the first without an obstacle, or None without candidates.

    If each has an obstacle, it is the first that the rules of the plan allow, and the message waits in its queue.
    """
    usable = another(found, obstacles)
    if usable is not None:
        return usable
    return next((each.connector for each in found if obstacles[each.connector] not in EXCLUSIONS), None)


def another(found: Sequence[Candidate], obstacles: Obstacles, tried: Collection[int] = ()) -> int | None:
    """Returns the first connector without an obstacle that a message has not tried yet, or None."""
    for candidate in found:
        if candidate.connector not in obstacles and candidate.connector not in tried:
            return candidate.connector
    return None


def numbers_of(prefix: str) -> str:
    """Returns the numbers with this prefix in words."""
    return f"the prefix {prefix}" if prefix else "all numbers"
