"""The directory: accounts with their keys, rules and prices, connectors and routes, in memory.

It reads no clock. `refresh` is called at the start and about every second, with the time. It asks the store for its
revision and reads only changes, so that a change takes effect within seconds in every process. A price with a date is
charged from the first refresh after it. `app.routing.tables` explains how large tables are read.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

from heliograph.app.configuration import OFF, Account, ApiKey, Changes, Connector, NumberOwner, Plan, Tables
from heliograph.app.connector_kind import LanePolicy
from heliograph.app.facts import Message
from heliograph.app.ports import Accounts, PortedNumbers, TableChanges
from heliograph.app.routing.candidates import (
    NO_OBSTACLES,
    Candidate,
    Obstacles,
    Routed,
    RouteTable,
    RoutingState,
    another,
    candidates,
    chosen,
)
from heliograph.app.routing.plan_rules import EXCLUSIONS, has_rules, plan_rules
from heliograph.app.routing.quality import Quality
from heliograph.app.routing.tables import ALL_PAGES, PAGES_A_ROUND, RoutingTables
from heliograph.app.sending.templates import RequiringConnector, TemplateBook
from heliograph.domain import calendar
from heliograph.domain.limits.gate import Policy, SenderState, compile_policy
from heliograph.domain.message.extras import Tlv, read_extras
from heliograph.domain.message.tlv_rules import TlvRule, passing
from heliograph.domain.money.costs import CostTable
from heliograph.domain.money.pricing import DEFAULT_PLAN, Tariff
from heliograph.domain.numbers.number_rules import NumberRules, normalise_number
from heliograph.domain.numbers.sender_rules import SenderRules
from heliograph.domain.security.host import NetworkSet, network_of
from heliograph.domain.text.repertoire import PLAIN, Repertoire

_NOBODY = Account(0, "", "", b"")

ACCOUNTS_KEPT = 10_000
"""Most accounts in memory; at the limit, the least recently read is dropped."""


@dataclass(slots=True)
class AccountView:
    """An account as requests need it. A view is replaced, never changed."""

    account: Account
    keys: tuple[bytes, ...]
    """SHA-256 of each API key that is not revoked."""
    api_keys: dict[bytes, ApiKey]
    """The keys of `keys` by their SHA-256; some may have expired."""
    zone: ZoneInfo
    policy: Policy | None
    """The account's rules; None if it has none."""
    tariff: Tariff


class Directory:
    """Holds the tables in memory. `generation` grows with every possible change, and invalidates results computed from
    an earlier view.
    """

    def __init__(
        self,
        changes: TableChanges,
        accounts: Accounts,
        fallback: int | None = None,
        policy: Callable[[Connector], LanePolicy] = lambda _: LanePolicy(),
        ported: PortedNumbers | None = None,
        is_whole: Callable[[Connector], bool] = lambda _: True,
    ) -> None:
        """`fallback`: the connector for destinations without a route, the simulated operator of a development run.
        `policy`: returns a connector's requirements for messages. `ported`: numbers that may be in another network than
        that of their prefix. `is_whole`: whether a connector has all settings; without them it is off.
        """
        self.generation = 0
        self.templates: TemplateBook | None = None
        """The templates, where any connector requires them."""
        self.sender_rules: SenderRules | None = None
        """The rules for sender IDs by country; None if there are none."""
        self._changes = changes
        self._stored_accounts = accounts
        self._fallback = fallback
        self.ported = ported
        """Numbers that may be in another network than that of their prefix; None without file and server."""
        self._tables = RoutingTables(changes)
        self._revision: int | None = None
        self._accounts: dict[str, AccountView] = {}
        self._policy = policy
        self._is_whole = is_whole
        self._connectors: dict[int, Connector] = {}
        self._repertoires: dict[int, Repertoire] = {}
        self._tlvs: dict[int, tuple[TlvRule, ...]] = {}
        self._asking: frozenset[int] = frozenset()
        self._routing = RoutingState(RouteTable(), {}, fallback)
        self._obstacles: Obstacles = NO_OBSTACLES
        self._tests: set[int] = set()
        self._numbers = NumberRules()
        self._owners: dict[int, NumberOwner] = {}
        self._senders: dict[int, dict[str, SenderState]] = {}
        self._held: dict[int, tuple[str, ...]] = {}
        self._claim_policies: dict[int, Policy | None] = {}
        self._plans: list[Plan] = []
        self._plan_of: dict[int, str] = {}
        self._quality = Quality()
        self._next_date: int | None = None
        """The time at which the next price or cost begins, or a cost ends; None without such a date."""
        self._is_complete = False
        """Whether all tables were read once."""
        self._heeded = 0
        """The moment up to which prices and costs have come into force, and costs have ended."""
        self._now = 0

    async def refresh(self, now: int | None = None) -> bool:
        """Reloads changed tables. Returns True after a change. Raises Unavailable and keeps the present tables. `now`
        decides which prices hold; None is the time of the last refresh.
        """
        if now is not None:
            self._now = now
        if self.ported is not None:
            await self.ported.refresh()
        since, moment = self._revision, self._now
        # A clock that was ahead may have let prices hold before their time.
        is_due = moment < self._heeded or (self._next_date is not None and moment >= self._next_date)
        if is_due or await self._changes.revision() != since:
            changes = await self._changes.changes(since, self._heeded, moment)
            if since != self._revision and changes.tables.revision <= (self._revision or 0):
                return False  # another call has read as much meanwhile
            self._heed_changes(changes, moment)
        elif self._tables.is_whole:
            return False
        replaced = self._tables.replaced
        try:
            await self._tables.load(moment, PAGES_A_ROUND if self._is_complete else ALL_PAGES)
        finally:
            if self._tables.replaced != replaced:
                self._route_anew()
        self._is_complete = self._is_complete or self._tables.is_whole
        return True

    def _heed_changes(self, changes: Changes, now: int) -> None:
        self._read_tables(changes.tables)
        has_plan_rules = any(map(has_rules, self._plans))
        self._tables.heed(changes, now, wants_costs=has_plan_rules)
        costs_from = changes.next_cost if has_plan_rules else None
        self._next_date = min((each for each in (changes.next_price, costs_from) if each is not None), default=None)
        self._heeded = now
        self._revision = changes.tables.revision
        self._route_anew()

    def _route_anew(self) -> None:
        """Decides by the present tables from now on."""
        tables = self._tables
        rules = plan_rules(self._plans, self._plan_of, tables.costs, self._quality)
        if rules is not None and not tables.has_costs:
            rules = self._routing.rules  # until the costs are read, which the first rules make necessary
        self._routing = RoutingState(
            tables.routes,
            self._connectors,
            self._fallback,
            self._plan_of,
            tables.networks,
            self._obstacles,
            rules,
            None if self.ported is None else self.ported.find,
        )
        self._accounts.clear()
        self.generation += 1

    def _read_tables(self, tables: Tables) -> None:
        self._connectors = {
            connector.id: connector if self._is_whole(connector) else replace(connector, settings={}, state=OFF)
            for connector in tables.connectors
        }
        policies = {connector.id: self._policy(connector) for connector in tables.connectors}
        self._repertoires = {of: policy.repertoire for of, policy in policies.items() if policy.repertoire != PLAIN}
        self._tlvs = {of: policy.tlvs for of, policy in policies.items()}
        requiring = {
            connector.id: RequiringConnector(connector.name, self._tlvs[connector.id])
            for connector in tables.connectors
            if policies[connector.id].needs_templates
        }
        self.templates = TemplateBook(tables.templates, requiring) if requiring else None
        self.sender_rules = SenderRules(tables.sender_rules) if tables.sender_rules else None
        self._asking = frozenset(of for of, policy in policies.items() if policy.asks_receipts)
        self._numbers = NumberRules(tables.numbers)
        self._owners = tables.owners
        self._plans, self._plan_of = tables.plans, tables.plan_of
        self._senders = {}
        for each in tables.senders:
            self._senders.setdefault(each.account, {})[each.sender] = each.state
        held: dict[int, tuple[str, ...]] = {}
        for hold in tables.holds:
            if not hold.is_observed:
                held[hold.account] = (*held.get(hold.account, ()), hold.prefix)
        self._held = held
        suspended = frozenset(tables.suspended)
        self._claim_policies = {
            account: compile_policy(held=held.get(account, ()), suspended=account in suspended)
            for account in {*held, *suspended}
        }

    async def account(self, name: str) -> AccountView | None:
        """Returns the account of that name, from memory or otherwise from the store. Raises Unavailable."""
        view = self._accounts.get(name)
        return view if view is not None else await self.fresh_account(name)

    async def fresh_account(self, name: str) -> AccountView | None:
        """Returns the account of that name as the store has it now."""
        generation = self.generation
        found = await self._stored_accounts.find(name)
        if found is None:
            self._view(_NOBODY, [])  # as for an account, so that the time does not tell which accounts exist
            return None
        if not self._tables.prices.knows(found[0].plan) or self._lacks_rules(found[0]):
            await self.refresh()  # the account or its plan was created a moment ago
        view = self._view(*found)
        if generation == self.generation:  # the result may be older than a refresh that came meanwhile
            self._accounts.pop(name, None)
            self._accounts[name] = view
            if len(self._accounts) > ACCOUNTS_KEPT:
                del self._accounts[next(iter(self._accounts))]
        return view

    async def account_to_bind(self, system_id: str) -> AccountView | None:
        """Returns the account that SMPP clients bind to by this name, as the store has it now."""
        found = await self._stored_accounts.find(system_id, to_bind=True)
        view = await self.fresh_account("" if found is None else found[0].name)  # no account is named ""
        return None if found is None else view

    def candidates(self, message: Routed) -> Sequence[Candidate]:
        """Returns the connectors that may take a message, the preferred connector first (`app.routing.candidates`)."""
        return candidates(message, self._routing)

    @property
    def knows_networks(self) -> bool:
        """Whether the network of any number is known."""
        return self._routing.knows_networks

    def network(self, number: str) -> str:
        """Returns the MCCMNC of a number's network, such as `26201`; empty if it is not known."""
        return self._routing.network(number)

    def route(self, message: Routed) -> int | None:
        """Returns the connector for a message; None without a route, or if its plan's rules exclude each candidate."""
        state = self._routing
        found = candidates(message, state)
        obstacles = state.obstacles if state.rules is None else state.obstacles_of(message, found)
        if self._tests:
            for candidate in found:
                if candidate.connector in self._tests and obstacles.get(candidate.connector) not in EXCLUSIONS:
                    self._tests.discard(candidate.connector)
                    return candidate.connector
        return chosen(found, obstacles)

    def another(self, message: Routed, tried: Collection[int]) -> int | None:
        """Returns a connector that can send a message now and has not tried it; None without another."""
        found = candidates(message, self._routing)
        return another(found, self._routing.obstacles_of(message, found), tried)

    def remaining(self, message: Routed, tried: Collection[int]) -> int | None:
        """Returns the connector for a message that these connectors have tried; None if each has tried it, or if its
        plan's rules exclude each of the others."""
        found = [each for each in candidates(message, self._routing) if each.connector not in tried]
        return chosen(found, self._routing.obstacles_of(message, found))

    def is_excluded(self, message: Routed, connector: int) -> bool:
        """Returns whether the rules of its plan now keep a message from the connector."""
        return self._routing.rules is not None and bool(self._routing.exclusion(message, connector))

    def obstacle(self, connector: int) -> str:
        """Returns why a connector cannot send now, such as `paused`; empty if it can."""
        return self._routing.obstacles.get(connector, "")

    def others(self, connector: int) -> list[int]:
        """Returns the connectors that can send now, and that may take some message for this connector."""
        return [each for each in self._routing.standins(connector) if each not in self._routing.obstacles]

    def heed(self, obstacles: Obstacles, tests: Collection[int] = ()) -> None:
        """Heeds the obstacles of the moment, beside the configured obstacles. The next message for each connector of
        `tests` goes there in spite of its obstacle."""
        self._tests = set(tests)
        if obstacles != self._obstacles:
            self._obstacles = obstacles
            self._routing.heed(obstacles)

    def claim_policy(self, account: int) -> Policy | None:
        """Returns the rules for messages of an account at their claim, or None."""
        return self._claim_policies.get(account)

    @property
    def judges_claims(self) -> bool:
        """Whether any account or plan has rules by which messages are judged when they are claimed."""
        rules = self._routing.rules
        return bool(self._claim_policies) or (rules is not None and rules.excludes)

    @property
    def wants_quality(self) -> bool:
        """Whether any plan orders connectors by the quality of delivery."""
        return any(plan.routing == "best" for plan in self._plans)

    def judge_quality(self, measured: Quality) -> None:
        """Orders connectors by these figures from now on."""
        present = self._quality
        present.shares, present.own, present.hour = measured.shares, measured.own, measured.hour

    def asks_receipts(self, connector: int) -> bool:
        """Returns whether the connector's operator is asked for the receipt of every message."""
        return connector in self._asking

    def tlvs(self, connector: int) -> tuple[TlvRule, ...]:
        """Returns the rules for the TLVs of requests that the connector's operator is sent."""
        return self._tlvs.get(connector, ())

    def tlvs_over(self, connector: int, message: Message) -> tuple[Tlv, ...]:
        """Returns the TLVs of a message over a connector, from the template that its text fits and from its request.
        Raises ValueError if the operator does not allow a TLV of the request."""
        given = passing(read_extras(message.extras).tlvs, self.tlvs(connector)) if message.extras else ()
        if self.templates is None:
            return given
        attached = self.templates.attached(message.account, message.sender, message.kind, connector, message.content)
        return tuple(sorted({**dict(attached), **dict(given)}.items())) if attached else given

    def repertoire(self, connector: int) -> Repertoire:
        """Returns the alphabets that the connector's operator takes; PLAIN itself where they are the usual ones."""
        return self._repertoires.get(connector, PLAIN)

    def owner(self, connector: int, number: str, text: str) -> tuple[NumberOwner | None, str]:
        """Returns the account of messages to a number (None if there is none), and the matching keyword."""
        rule = self._numbers.find(number, connector, text)
        return (None, "") if rule is None else (self._owners[rule.account], rule.keyword)

    def price(self, plan: str, destination: str, network: str) -> int | None:
        """Returns the price of a segment in micro-credits, or None if the plan does not cover the destination.
        `network` is that of `network()`."""
        return self._tables.prices.tariff(plan).price(destination, network)

    def costs(self) -> CostTable | None:
        """Returns the costs in force; None while no plan has rules that need them."""
        return self._tables.costs if self._tables.has_costs else None

    def inbound_price(self, account: int, sender: str) -> int:
        """Returns the price of an inbound message for an account with numbers, in micro-credits."""
        owner = self._owners.get(account)
        plan = DEFAULT_PLAN if owner is None else owner.plan
        return self._tables.prices.tariff(plan).inbound(normalise_number(sender))

    def connector(self, connector: int) -> Connector | None:
        return self._connectors.get(connector)

    def connectors(self) -> list[Connector]:
        return list(self._connectors.values())

    def view(self, account: Account) -> AccountView:
        """Returns the view of an account that the caller has, without its keys."""
        return self._view(account, [])

    def _lacks_rules(self, account: Account) -> bool:
        return self._plan_of.get(account.id) != account.plan and any(each.name == account.plan for each in self._plans)

    def _view(self, account: Account, keys: list[ApiKey]) -> AccountView:
        networks = [network_of(text, strict=False) for text in account.networks]
        return AccountView(
            account=account,
            keys=tuple(key.digest for key in keys if key.revoked is None),
            api_keys={key.digest: key for key in keys if key.revoked is None},
            zone=calendar.zone(account.timezone),
            policy=compile_policy(
                suspended=account.suspended,
                networks=NetworkSet(networks) if networks else None,
                senders=frozenset(account.senders),
                registry=self._senders.get(account.id),
                held=self._held.get(account.id, ()),
                rate=account.rate,
                request_rate=account.request_rate,
                request_burst=account.request_burst,
                prefixes=account.prefixes,
                capped=bool(account.daily_messages or account.daily_spend or account.max_waiting),
            ),
            tariff=self._tables.prices.tariff(account.plan),
        )
