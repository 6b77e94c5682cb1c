"""Candidates: the connectors that may take a message, in order, each with the reason.

`candidates` and `chosen` decide where a message goes, for acceptance, quotes, dispatch, failover and `routing.explain`.
They are pure: the rules come from the tables (`RouteTable`), and they and the state of the connectors are an argument
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
from itertools import groupby
from math import inf, log
from operator import itemgetter
from typing import Final, NamedTuple, Protocol
from zlib import crc32

from heliograph.app.configuration import DRAIN, OFF, Connector, Route, RouteColumns, RouteRow, RouteWay
from heliograph.app.routing.plan_rules import EXCLUSIONS, BestOrder, PlanRules
from heliograph.domain.display import numbers_of
from heliograph.domain.numbers.phone import PrefixTable, prefixes


class Routed(Protocol):
    """The fields of a message that routes use."""

    account: int
    destination: str
    sender: str
    price: int
    """Micro-credits for all `segments`."""
    segments: int
    network: str
    """MCCMNC of the number's network, as the message keeps it; empty if it is to be found."""


@dataclass(slots=True)
class RouteRequest:
    """A destination of a request before it becomes a message."""

    account: int
    destination: str
    sender: str
    price: int = 0
    segments: int = 1
    network: str = ""


class Candidate(NamedTuple):
    """A connector that a message may go to, by a route or as the fallback of a development run."""

    connector: int
    priority: int = 0
    share: int = 1
    """Weight among routes of the same priority."""
    fallback: bool = False
    """Whether routes that fit less well follow."""


class _Group(NamedTuple):
    """Candidates of routes that fit equally well, the highest priority first, each connector once."""

    candidates: tuple[Candidate, ...]
    weights: tuple[tuple[int, int, int], ...]
    """Of each candidate: its negative priority, the seed of its distances, and its share."""
    shares: bool
    """Whether two of them have the same priority."""
    falls_back: bool
    """Whether routes that fit less well follow."""


class _Fit(NamedTuple):
    """A group of routes that fits a message, and the fields by which it fits."""

    group: _Group
    account: int
    plan: str
    sender: str
    network: str
    prefix: str

    def why(self, candidate: Candidate) -> str:
        """The reason for a candidate, for people: `The route for the prefix 44 with priority 9`."""
        owner = " of the account" if self.account else f" of the plan {self.plan}" if self.plan else ""
        sender = f" and the sender {self.sender}" if self.sender else ""
        numbers = numbers_of(self.prefix, self.network)
        return f"The route{owner} for {numbers}{sender} with priority {candidate.priority}"


class _Targets:
    """The groups of routes by network and by prefix."""

    __slots__ = ("by_network", "by_prefix")

    def __init__(self) -> None:
        self.by_network: dict[str, _Group] = {}
        self.by_prefix: PrefixTable[_Group] = PrefixTable()

    def groups(self) -> Iterator[_Group]:
        """Yields the groups of all targets."""
        yield from self.by_network.values()
        yield from self.by_prefix.values()


class _Senders:
    """The targets of routes by the sender that they name."""

    __slots__ = ("any", "named", "patterns")

    def __init__(self) -> None:
        self.any = _Targets()
        self.named: dict[str, _Targets] = {}
        self.patterns: dict[str, _Targets] = {}
        """By the text before their `*`."""

    def targets(self, sender: str) -> _Targets:
        """Returns the targets for a sender or a pattern, new ones if it has none."""
        if not sender:
            return self.any
        if not sender.endswith("*"):
            return self.named.setdefault(sender, _Targets())
        return self.patterns.setdefault(sender[:-1], _Targets())

    def everyone(self) -> Iterator[_Targets]:
        """Yields the targets for all senders."""
        yield self.any
        yield from self.named.values()
        yield from self.patterns.values()

    def fitting(self, sender: str) -> Iterator[tuple[str, _Targets]]:
        """Yields the targets for a sender: its own, then of the longest pattern, then for any sender."""
        if sender in self.named:
            yield sender, self.named[sender]
        for prefix in prefixes(sender) if self.patterns else ():
            if prefix in self.patterns:
                yield f"{prefix}*", self.patterns[prefix]
        yield "", self.any


class RouteTable:
    """All routes, compiled into groups. Targets with equal routes share a group, because a list of prices and routes
    has many more prefixes than combinations of connectors."""

    __slots__ = ("_groups", "_stale", "accounts", "all", "connectors", "plans")

    def __init__(self, routes: Iterable[Route] = ()) -> None:
        self.accounts: dict[int, _Senders] = {}
        self.plans: dict[str, _Senders] = {}
        self.all = _Senders()
        self.connectors: set[int] = set()
        """Connectors of present and removed routes."""
        self._groups: dict[tuple[RouteWay, ...], _Group] = {}
        self._stale = False
        """Whether `_groups` may have groups of no target."""
        targets: dict[tuple[str, str, int, str, str], list[RouteWay]] = {}
        for each in routes:
            way = each.connector, each.priority, each.share, each.fallback
            targets.setdefault(each.group, []).append(way)
        self.update((*target, tuple(ways)) for target, ways in targets.items())

    def update(self, routes: Iterable[RouteRow]) -> None:
        """Sets the routes of targets."""
        for (account, plan, sender), rows in groupby(routes, itemgetter(2, 3, 4)):
            prefixes, networks, _, _, _, ways = zip(*rows, strict=True)
            self._put(account, plan, sender, prefixes, networks, ways)

    def put(self, routes: RouteColumns) -> None:
        """Sets the routes of targets, as `update` does. Its loops are in C: routes to a million targets take about half
        a second, if they are for all accounts and senders."""
        prefixes, networks, accounts, plans, senders, ways = routes
        if any(accounts) or any(plans) or any(senders):
            self.update(zip(*routes, strict=True))
        else:
            self._put(0, "", "", prefixes, networks, ways)

    def _put(
        self,
        account: int,
        plan: str,
        sender: str,
        starts: Sequence[str],
        networks: Sequence[str],
        ways: Sequence[tuple[RouteWay, ...]],
    ) -> None:
        groups = self._groups
        for new in set(ways).difference(groups):
            groups[new] = _group(Candidate(*way) for way in new)
            self.connectors.update([way[0] for way in new])
        if account:
            senders = self.accounts.setdefault(account, _Senders())
        else:
            senders = self.plans.setdefault(plan, _Senders()) if plan else self.all
        targets = senders.targets(sender)
        found = map(groups.__getitem__, ways)
        if any(networks):
            for prefix, network, group in zip(starts, networks, found, strict=True):
                if network:
                    targets.by_network[network] = group
                else:
                    targets.by_prefix.put(prefix, group)
        else:
            targets.by_prefix.put_all(starts, found)

    def remove(self, network: str, prefix: str) -> None:
        """Removes the routes to a target, of all accounts, plans and senders."""
        self._stale = True
        for targets in self._everyone():
            if network:
                targets.by_network.pop(network, None)
            else:
                targets.by_prefix.remove(prefix)

    @property
    def names_only_prefixes(self) -> bool:
        """Whether only the prefix of a number decides: no route names anything else."""
        everyone = list(self._everyone())
        return len(everyone) == 1 and not everyone[0].by_network

    def groups(self) -> Iterable[_Group]:
        """Returns each group once."""
        if self._stale:
            live = {id(group): group for targets in self._everyone() for group in targets.groups()}
            self._groups = {ways: group for ways, group in self._groups.items() if id(group) in live}
            self._stale = False
        return self._groups.values()

    def _everyone(self) -> Iterator[_Targets]:
        for senders in (*self.accounts.values(), *self.plans.values(), self.all):
            yield from senders.everyone()


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
    """The routes and the state of their connectors at a moment.

    A route of a shorter prefix stands in for a route of a longer prefix only if that says so (`Route.fallback`). A
    country that is routed elsewhere must not take the general way when that connector is down.
    """

    __slots__ = (
        "_configured", "_gone", "_networks", "_plain", "_plans_of", "_routes", "_standins", "fallback",
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
        routes: RouteTable,
        connectors: Mapping[int, Connector],
        fallback: int | None = None,
        plans: Mapping[int, str] = NO_PLANS,
        networks: PrefixTable[str] | None = None,
        obstacles: Obstacles = NO_OBSTACLES,
        rules: PlanRules | None = None,
        ported: NetworkOf | None = None,
    ) -> None:
        """`connectors` has all connectors by id: a route to any other id does not count. `fallback` is the connector
        for destinations without a route: the simulated operator of a development run. `plans`: the plans of accounts,
        by id, as far as plans have routes. `networks`: MCCMNC by prefix. `ported` returns the networks of ported
        numbers. `obstacles` of the moment join the configured obstacles."""
        self.rules = rules
        paused = {connector.id: configured_obstacle(connector) for connector in connectors.values()}
        self._configured = {connector: obstacle for connector, obstacle in paused.items() if obstacle}
        self.heed(obstacles)
        self._routes = routes
        self._gone = routes.connectors - connectors.keys()
        self._plans_of = plans
        self._networks: PrefixTable[str] = PrefixTable() if networks is None else networks
        self.ported = ported
        self.knows_networks = len(self._networks) > 0 or ported is not None
        is_plain = routes.names_only_prefixes and not self._gone
        self._plain = routes.all.any.by_prefix if is_plain else None
        self._standins: dict[int, set[int]] | None = None
        self.fallback = () if fallback is None else (Candidate(fallback),)

    def heed(self, obstacles: Obstacles) -> None:
        """Replaces the obstacles of the moment."""
        self.obstacles = {**obstacles, **self._configured}

    def network(self, number: str) -> str:
        """Returns the MCCMNC of a number's network, for example `26201`; empty if it is not known."""
        return (self.ported is not None and self.ported(number)) or self._networks.find(number) or ""

    def network_of(self, message: Routed) -> str:
        """Returns the network that a message keeps, or else that of its number now. So a message is routed by the same
        network as long as it waits."""
        return message.network or self.network(message.destination)

    def obstacles_of(self, message: Routed, found: Iterable[Candidate]) -> Obstacles:
        """Returns the obstacles for a message: obstacles of the moment, and exclusions by the rules of its plan."""
        excluded = self._excluded(message, [candidate.connector for candidate in found])
        return {**self.obstacles, **excluded} if excluded else self.obstacles

    def exclusion(self, message: Routed, connector: int) -> str:
        """Returns why the rules of its plan keep a message from the connector, such as `below the margin`; empty if
        they do not."""
        return self._excluded(message, [connector]).get(connector, "")

    def _excluded(self, message: Routed, connectors: list[int]) -> dict[int, str]:
        bound = None if self.rules is None else self.rules.bound(message.account)
        if bound is None:
            return {}
        number = message.destination
        network, price = self.network_of(message), message.price // message.segments
        excluded: dict[int, str] = {}
        for connector in connectors:
            why = bound.exclusion(number, network, price, connector)
            if why:
                excluded[connector] = why
        return excluded

    def standins(self, connector: int) -> set[int]:
        """Returns the connectors that may take some message in place of this one. They are worked out on the first
        call, because hardly a state is asked before it is replaced."""
        if self._standins is None:
            found: dict[int, set[int]] = {}
            groups = [self._present(group) for group in self._routes.groups()]
            everyone = {each.connector for group in groups for each in group.candidates}
            for group in groups:
                together = everyone if group.falls_back else {each.connector for each in group.candidates}
                for each in group.candidates:
                    found.setdefault(each.connector, set()).update(together)
            for each_connector, others in found.items():
                others.discard(each_connector)
            self._standins = found
        return self._standins.get(connector, set())

    def best(self, message: Routed) -> _Group | None:
        """Returns the group of routes that fits best, or None."""
        if self._plain is not None:
            return self._plain.find(message.destination)
        for fit in self.fitting(message):
            return fit.group
        return None

    def fitting(self, message: Routed) -> Iterator[_Fit]:
        """Yields the groups of routes that fit, the best fit first."""
        number, routes = message.destination, self._routes
        network = self.network_of(message)
        account, plan = message.account, self._plans_of.get(message.account, "")
        for senders, owner, of_plan in (
            (routes.accounts.get(account), account, ""),
            (routes.plans.get(plan), 0, plan),
            (routes.all, 0, ""),
        ):
            for sender, targets in () if senders is None else senders.fitting(message.sender):
                if network in targets.by_network:
                    group = self._present(targets.by_network[network])
                    if group.candidates:
                        yield _Fit(group, owner, of_plan, sender, network, "")
                for prefix, named in targets.by_prefix.matches(number):
                    group = self._present(named)
                    if group.candidates:
                        yield _Fit(group, owner, of_plan, sender, "", prefix)

    def _present(self, group: _Group) -> _Group:
        """Returns the group without connectors that are gone: routes may be read a little before connectors."""
        if self._gone:
            return _group([each for each in group.candidates if each.connector not in self._gone])
        return group

    def reasons(self, message: Routed) -> dict[int, str]:
        """Returns the reason for each candidate of a message, for people, by connector."""
        found: dict[int, str] = {}
        for fit in self.fitting(message):
            for each in fit.group.candidates:
                found.setdefault(each.connector, fit.why(each))
        return found


def _group(ways: Iterable[Candidate]) -> _Group:
    """Returns the group of candidates in any order; of two with the same connector, the higher priority counts."""
    first: dict[int, Candidate] = {}
    for way in sorted(ways, key=lambda way: (-way.priority, way.connector)):
        first.setdefault(way.connector, way)
    ordered = tuple(first.values())
    priorities = {way.priority for way in ordered}
    return _Group(
        ordered,
        tuple((-way.priority, _seed(way.connector), way.share) for way in ordered),
        len(priorities) < len(ordered),
        any(way.fallback for way in ordered),
    )


def candidates(message: Routed, state: RoutingState) -> Sequence[Candidate]:
    """Returns the candidates for a message, the preferred candidate first; empty if no rule covers it."""
    best = state.best(message)
    if best is None:
        return state.fallback
    if not (best.shares or best.falls_back):
        return best.candidates
    order = None if state.rules is None else state.rules.order(message.account)
    if order is None and not best.falls_back:
        return _by_share(best, message.destination)
    return _in_order(message, state, order)


def _in_order(message: Routed, state: RoutingState, order: BestOrder | None) -> Sequence[Candidate]:
    """Returns the candidates of all groups that fit, each group by the order of the plan or by share."""
    number = message.destination
    explores = order is not None and order.explores(number)
    network = "" if order is None else state.network_of(message)

    def place(candidate: Candidate) -> tuple[float, ...]:
        share = min(candidate.share, 1) if explores else candidate.share
        near = distance(candidate.connector, number, share)
        if order is None or explores:
            return -candidate.priority, near
        return -candidate.priority, *order.place(candidate.connector, number, network, message.account), near

    found: dict[int, Candidate] = {}
    for fit in state.fitting(message):
        group = fit.group
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
    for candidate in found:
        if candidate.connector not in obstacles:
            return candidate.connector
    for candidate in found:
        if obstacles[candidate.connector] not in EXCLUSIONS:
            return candidate.connector
    return None


def another(found: Sequence[Candidate], obstacles: Obstacles, tried: Collection[int] = ()) -> int | None:
    """Returns the first connector without an obstacle that a message has not tried yet, or None."""
    for candidate in found:
        if candidate.connector not in obstacles and candidate.connector not in tried:
            return candidate.connector
    return None
