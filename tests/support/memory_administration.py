"""Accounts, the network and users in the in-memory store."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from heliograph.app.configuration import (
    BALANCES,
    Account,
    ApiKey,
    BalanceOutOfBounds,
    Changes,
    Connector,
    Cost,
    Exists,
    LedgerEntry,
    LedgerPage,
    LedgerQuery,
    MessageTemplate,
    Missing,
    MobileNetwork,
    NameTaken,
    NumberOwner,
    Plan,
    Price,
    Route,
    RouteColumns,
    RouteWay,
    SystemIdTaken,
    Tables,
    TopUp,
    changed_account,
    inbound_way,
)
from heliograph.app.ports import ConnectorReport, NodeReport
from heliograph.app.ports.network import KEPT_DAYS, Cursor, NetworkColumns, Page
from heliograph.app.ports.series import DAY_MS
from heliograph.app.records import (
    AdminSession,
    AdminToken,
    AdminUser,
    AuditEntry,
    AuditHead,
    AuditLink,
    AuditQuery,
    Usage,
    UserRole,
)
from heliograph.domain.message.ids import time_of
from heliograph.domain.money.amounts import EntryKind
from heliograph.domain.money.costs import CostColumns
from heliograph.domain.money.pricing import PriceColumns
from heliograph.domain.pace.pace import LearntPace
from heliograph.domain.security.audit_chain import details_text, entry_hash
from tests.support.memory_rows import MemoryPart


class MemoryAccounts(MemoryPart):
    """`app.ports.Accounts`."""

    async def create(self, account: Account, key: ApiKey, credit: int, prices: Sequence[Price]) -> Account:
        rows = self._open()
        if any(each.name == account.name for each in rows.accounts.values()):
            raise Exists(account.name)
        for each in rows.accounts.values():
            if each.name.lower() == account.name.lower():
                raise NameTaken(each.name)
        for name in filter(None, (account.name, account.smpp_system_id)):
            if await self.find(name, to_bind=True) is not None:
                raise SystemIdTaken(name)
        created = replace(account, id=self._place.next("account"))
        rows.accounts[created.id] = created
        rows.balances[created.id] = 0
        rows.keys.append(replace(key, account=created.id))
        for price in prices:
            self._place.put_price(price)
        self._place.enter(created.id, EntryKind.TOP_UP, credit, 0, account.created, "opening credit")
        self._place.arm(created.id)
        rows.revision += 1
        return replace(created)

    async def update(self, account: int, changes: dict[str, Any]) -> Account:
        rows = self._open()
        if account not in rows.accounts:
            raise Missing("no such account")
        wanted = changes.get("smpp_system_id")
        if wanted and (known := await self.find(wanted, to_bind=True)) is not None and known[0].id != account:
            raise SystemIdTaken(wanted)
        before = rows.accounts[account].low_balance
        rows.accounts[account] = changed_account(rows.accounts[account], changes)
        if rows.accounts[account].low_balance != before:
            self._place.arm(account)
        rows.revision += 1
        return replace(rows.accounts[account])

    async def find(self, name: str, *, to_bind: bool = False) -> tuple[Account, list[ApiKey]] | None:
        rows = self._open()
        bound = [each for each in rows.accounts.values() if to_bind and name and each.smpp_system_id == name]
        for account in [*rows.accounts.values(), *bound]:
            if account.name == name or account in bound:
                return replace(account), [replace(key) for key in rows.keys if key.account == account.id]
        return None

    async def by_id(self, account: int) -> Account | None:
        found = self._open().accounts.get(account)
        return None if found is None else replace(found)

    async def all(self) -> list[tuple[Account, int]]:
        rows = self._open()
        by_name = sorted(rows.accounts.values(), key=lambda account: account.name)
        return [(replace(account), rows.balances[account.id]) for account in by_name]

    async def without_credit(self, limit: int) -> list[str]:
        rows = self._open()
        owing = [
            account.name
            for account in rows.accounts.values()
            if not account.suspended and rows.balances[account.id] + account.credit_limit <= 0
        ]
        return sorted(owing)[:limit]

    async def add_credit(
        self, account: int, amount: int, note: str, now: int, reference: str = "", within: tuple[int, int] = BALANCES
    ) -> TopUp:
        rows = self._open()
        if account not in rows.accounts:
            raise Missing("no such account")
        if (earlier := rows.top_ups.get((account, reference))) is not None:
            if earlier[0] != amount:
                raise Exists(f"the top-up {reference} had another amount")
            return TopUp(earlier[1], replayed=True)
        if not within[0] <= rows.balances[account] + amount <= within[1]:
            raise BalanceOutOfBounds(rows.balances[account])
        self._place.enter(account, EntryKind.TOP_UP, amount, 0, now, note)
        if amount > 0:
            self._place.arm(account)
        self._place.note_low_balances()
        rows.revision += 1
        if reference:
            rows.top_ups[account, reference] = amount, rows.balances[account]
        return TopUp(rows.balances[account])

    async def ledger(self, account: int, limit: int, before: int | None = None) -> list[LedgerEntry]:
        entries = [
            entry
            for entry in self._open().ledger
            if entry.account == account and (before is None or entry.key < before)
        ]
        entries.sort(key=lambda entry: entry.key, reverse=True)
        return [replace(entry) for entry in entries[:limit]]

    async def statement(self, account: int, query: LedgerQuery) -> LedgerPage:
        own = sorted(
            (entry for entry in self._open().ledger if entry.account == account),
            key=lambda entry: (entry.key, entry.kind),
            reverse=True,
        )
        latest = 1 << 62 if query.end is None else query.end
        asked = [
            entry
            for entry in own
            if query.start <= time_of(entry.key) <= latest and (query.before is None or entry.key < query.before)
        ]
        looked = asked if query.kind is None else asked[: query.effort]
        hits = [replace(entry) for entry in looked if query.kind in (None, entry.kind)]
        end = query.limit
        while end < len(hits) and hits[end].key == hits[end - 1].key:
            end += 1
        found = LedgerPage(hits[:end])
        if len(hits) > end:
            found.more = found.entries[-1].key
        elif query.kind is not None and len(looked) == query.effort:
            found.more, found.reached = looked[-1].key, time_of(looked[-1].key)
        if found.entries and query.kind is None:
            found.balance = sum(entry.amount for entry in own if entry.key <= found.entries[0].key)
        return found

    async def add_key(self, key: ApiKey) -> None:
        rows = self._open()
        if key.account not in rows.accounts:
            raise Missing("no such account")
        if any((each.account, each.id) == (key.account, key.id) for each in rows.keys):
            raise Exists(key.id)
        rows.keys.append(replace(key))
        rows.revision += 1

    async def revoke_key(self, account: int, key: str, now: int) -> None:
        rows = self._open()
        for each in rows.keys:
            if (each.account, each.id, each.revoked) == (account, key, None):
                each.revoked = now
                rows.revision += 1
                return
        raise Missing("no such key, or it is revoked already")

    async def usage(self, account: int, start: int, end: int, step: int) -> list[Usage]:
        spans: dict[int, Usage] = {}
        for entry in self._open().ledger:
            at = time_of(entry.key)
            if entry.account != account or entry.kind is EntryKind.TOP_UP or not start <= at < end:
                continue
            usage = spans.setdefault(at // step * step, Usage(at // step * step, 0, 0, 0))
            if entry.kind is EntryKind.CHARGE:
                usage.requests += 1
                usage.charged -= entry.amount
            elif entry.kind is EntryKind.INBOUND:
                usage.inbound -= entry.amount
            else:
                usage.refunded += entry.amount
        return [spans[at] for at in sorted(spans)]


def _owner(account: Account) -> NumberOwner:
    return NumberOwner(
        account.id,
        account.plan,
        inbound_way(account.inbound_way, account.inbound_url),
        account.opt_out != "off",
        account.stop_text,
        account.help_text,
        account.prefixes,
    )


class MemoryAccountNames(MemoryPart):
    """`app.ports.AccountNames`."""

    async def containing(self, text: str, limit: int) -> list[str]:
        wanted = text.lower()
        names = [each.name for each in self._open().accounts.values() if wanted in each.name.lower()]

        def order(name: str) -> tuple[int, str]:
            return (0 if name.lower() == wanted else 1 if name.lower().startswith(wanted) else 2), name

        return sorted(names, key=order)[:limit]

    async def by_plan(self) -> dict[str, int]:
        return Counter(each.plan for each in self._open().accounts.values())


class MemoryNetwork(MemoryPart):
    """`app.ports.Network`."""

    async def tables(self, *, large: bool = True) -> Tables:
        rows = self._open()
        tables = Tables(
            rows.revision,
            [replace(each) for each in rows.connectors.values()],
            [replace(each) for each in sorted(rows.routes.values(), key=lambda each: (each.prefix, each.priority))],
            [replace(price) for _, price in sorted(rows.prices.items())],
            sorted(map(replace, rows.numbers.values()), key=lambda each: (each.number, each.keyword, each.id)),
            {each.account: _owner(rows.accounts[each.account]) for each in rows.numbers.values()},
            [replace(template) for _, template in sorted(rows.templates.items())],
            [replace(sender) for _, sender in sorted(rows.senders.items())],
            [hold for _, (hold, ended) in sorted(rows.holds.items()) if ended is None],
            sorted(number for number, account in rows.accounts.items() if account.suspended),
            {number: each.plan for number, each in rows.accounts.items() if each.plan in self._plans_with_rules()},
            [each for _, each in sorted(rows.networks.items())],
            [each for _, each in sorted(rows.costs.items())],
            [each for _, each in sorted(rows.plans.items())],
            [each for _, each in sorted(rows.sender_rules.items())],
        )
        return tables if large else replace(tables, routes=[], prices=[], networks=[], costs=[])

    def _plans_with_rules(self) -> set[str]:
        return {each.plan for each in self._open().routes.values()} - {""} | self._open().plans.keys()

    async def add_connector(self, connector: Connector) -> Connector:
        rows = self._open()
        if any(each.name == connector.name for each in rows.connectors.values()):
            raise Exists(connector.name)
        added = replace(connector, id=self._place.next("connector"))
        rows.connectors[added.id] = added
        rows.revision += 1
        return replace(added)

    async def update_connector(self, connector: Connector) -> None:
        rows = self._open()
        if connector.id not in rows.connectors:
            raise Missing("no such connector")
        if any(each.name == connector.name and each.id != connector.id for each in rows.connectors.values()):
            raise Exists(connector.name)
        rows.connectors[connector.id] = replace(connector)
        rows.revision += 1

    async def remove_connector(self, name: str) -> None:
        rows = self._open()
        gone = next((each.id for each in rows.connectors.values() if each.name == name), None)
        if gone is None:
            raise Missing("no such connector")
        del rows.connectors[gone]
        rows.routes = {of: route for of, route in rows.routes.items() if route.connector != gone}
        rows.costs = {of: cost for of, cost in rows.costs.items() if cost.connector != gone}
        rows.operator_parts = {of: count for of, count in rows.operator_parts.items() if of[0] != gone}
        rows.operator_paces.pop(gone, None)
        rows.numbers = {of: number for of, number in rows.numbers.items() if number.connector != gone}
        rows.link_states = {key: state for key, state in rows.link_states.items() if state.connector != gone}
        rows.revision += 1

    async def add_route(self, route: Route) -> Route:
        rows = self._open()
        if route.connector not in rows.connectors:
            raise Missing("no such connector")
        if any(each.rule == route.rule for each in rows.routes.values()):
            raise Exists(route.prefix)
        added = replace(route, id=self._place.next("route"))
        rows.routes[added.id] = added
        rows.revision += 1
        return replace(added)

    async def change_routes(self, added: Sequence[Route], removed: Sequence[int]) -> int:
        rows = self._open()
        if not set(removed) <= set(rows.routes):
            raise Missing("no such route")
        if any(each.connector not in rows.connectors for each in added):
            raise Missing("no such connector")
        for route in removed:
            del rows.routes[route]
        there = {each.rule for each in rows.routes.values()}
        count = 0
        for each in added:
            if each.rule not in there:
                there.add(each.rule)
                new = replace(each, id=self._place.next("route"))
                rows.routes[new.id] = new
                count += 1
        rows.revision += 1
        return count

    async def set_price(self, price: Price) -> Price:
        rows = self._open()
        rows.revision += 1
        return self._place.put_price(price)

    async def set_prices(self, prices: Sequence[Price], replaced: Sequence[str]) -> None:
        rows = self._open()
        rows.revision += 1
        for place in [place for place in rows.prices if place[0] in replaced]:
            del rows.prices[place]
        for price in sorted(prices, key=lambda each: each.since):
            self._place.put_price(price)

    async def remove_price(self, plan: str, network: str, prefix: str, since: int | None = None) -> None:
        rows = self._open()
        gone = [place for place in rows.prices if place[:3] == (plan, prefix, network) and since in (None, place[3])]
        if not gone:
            raise Missing("no such price")
        for place in gone:
            del rows.prices[place]
        rows.revision += 1

    async def save_link_states(self, states: Sequence[ConnectorReport]) -> None:
        self._open().link_states.update({(each.connector, each.node): replace(each) for each in states})

    async def link_states(self) -> list[ConnectorReport]:
        return [replace(state) for _, state in sorted(self._open().link_states.items())]


class MemoryNodes(MemoryPart):
    async def report(self, report: NodeReport) -> None:
        self._open().node_reports[report.node] = replace(report)

    async def reports(self) -> list[NodeReport]:
        found = [replace(each) for each in self._open().node_reports.values()]
        return sorted(found, key=lambda each: (each.host, each.node))

    async def remove(self, node: int) -> None:
        self._open().node_reports.pop(node, None)


def next_change(amounts: Sequence[Price] | Sequence[Cost], after: int) -> int | None:
    """Returns when the next of the prices or costs starts after a moment, or the next cost ends; None if none does."""
    dates = (date for each in amounts for date in (each.since, getattr(each, "until", each.since)))
    return min((date for date in dates if date > after), default=None)


class MemoryTableChanges(MemoryPart):
    """`app.ports.TableChanges`."""

    async def revision(self) -> int:
        return self._open().revision

    async def changes(self, since: int | None, was: int, now: int) -> Changes:
        tables = await MemoryNetwork(self._place).tables()
        small = replace(tables, routes=[], prices=[], networks=[], costs=[])
        next_price, next_cost = next_change(tables.prices, now), next_change(tables.costs, now)
        return Changes(small, next_price=next_price, next_cost=next_cost)

    async def network_page(self, after: Cursor | None, limit: int) -> Page[NetworkColumns]:
        networks = self._open().networks
        return [(list(networks), [each.mccmnc for each in networks.values()])], None

    async def route_page(self, after: Cursor | None, limit: int) -> Page[RouteColumns]:
        rows: dict[tuple[str, str, int, str, str], list[RouteWay]] = {}
        for each in self._open().routes.values():
            target = each.prefix, each.network, each.account, each.plan, each.sender
            rows.setdefault(target, []).append((each.connector, each.priority, each.share, each.fallback))
        prefixes, networks, accounts, plans, senders = zip(*rows, strict=True) if rows else [()] * 5
        return [(prefixes, networks, accounts, plans, senders, list(map(tuple, rows.values())))], None

    async def price_page(self, after: Cursor | None, limit: int) -> Page[PriceColumns]:
        rows = [(*place, each.price, each.inbound or 0) for place, each in sorted(self._open().prices.items())]
        return by_owner(rows), None

    async def cost_page(self, after: Cursor | None, limit: int) -> Page[CostColumns]:
        costs = sorted(self._open().costs.items())
        return by_owner([(*key, each.submitted + each.delivered, each.until) for key, each in costs]), None


def by_owner(rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Returns the columns of each plan or connector, which is the first column of rows."""
    owned = [(owner, list(of)) for owner, of in groupby(rows, itemgetter(0))]
    return [(owner, *list(zip(*of, strict=True))[1:]) for owner, of in owned]


class MemoryCosts(MemoryPart):
    """`app.ports.Costs`."""

    async def put(self, costs: Sequence[Cost], replaced: Sequence[int] = ()) -> None:
        rows = self._open()
        if not {*replaced, *(each.connector for each in costs)} <= set(rows.connectors):
            raise Missing("no such connector")
        rows.costs = {key: each for key, each in rows.costs.items() if each.connector not in replaced}
        rows.costs |= {(each.connector, each.network, each.prefix, each.since): each for each in costs}
        rows.revision += 1

    async def remove(self, connector: int, network: str, prefix: str, since: int | None = None) -> None:
        rows = self._open()
        gone = [key for key in rows.costs if key[:3] == (connector, network, prefix) and since in (None, key[3])]
        if not gone:
            raise Missing("no such cost")
        for key in gone:
            del rows.costs[key]
        rows.revision += 1


class MemoryPlans(MemoryPart):
    """`app.ports.Plans`."""

    async def put(self, plan: Plan) -> None:
        rows = self._open()
        rows.plans[plan.name] = plan
        rows.revision += 1

    async def remove(self, name: str) -> None:
        rows = self._open()
        if rows.plans.pop(name, None) is None:
            raise Missing("no such plan")
        rows.revision += 1


class MemoryMeasurements(MemoryPart):
    """`app.ports.Measurements`."""

    async def add_parts(self, day: int, parts: Mapping[int, int]) -> None:
        rows = self._open()
        for connector, count in parts.items():
            rows.operator_parts[connector, day] = rows.operator_parts.get((connector, day), 0) + count
        kept = day - KEPT_DAYS * DAY_MS
        rows.operator_parts = {of: count for of, count in rows.operator_parts.items() if of[1] >= kept}

    async def parts(self, since: int) -> dict[tuple[int, int], int]:
        return {of: count for of, count in self._open().operator_parts.items() if of[1] >= since}

    async def keep_paces(self, paces: Mapping[int, LearntPace]) -> None:
        self._open().operator_paces.update(paces)

    async def paces(self) -> dict[int, LearntPace]:
        return dict(self._open().operator_paces)


class MemoryMobileNetworks(MemoryPart):
    """`app.ports.MobileNetworks`."""

    async def put(self, networks: Sequence[MobileNetwork], *, replace_all: bool = False) -> None:
        rows = self._open()
        if replace_all:
            rows.networks.clear()
        rows.networks |= {each.prefix: each for each in networks}
        rows.revision += 1

    async def remove(self, prefix: str) -> None:
        rows = self._open()
        if rows.networks.pop(prefix, None) is None:
            raise Missing("no such prefix")
        rows.revision += 1


class MemoryTemplates(MemoryPart):
    """`app.ports.Templates`."""

    async def add(self, template: MessageTemplate) -> MessageTemplate:
        rows = self._open()
        self._check(template)
        if template.name in rows.templates:
            raise Exists(template.name)
        added = replace(template, id=self._place.next("template"))
        rows.templates[added.name] = added
        rows.revision += 1
        return replace(added)

    async def update(self, template: MessageTemplate) -> None:
        rows = self._open()
        self._check(template)
        known = {each.id: name for name, each in rows.templates.items()}
        namesake = rows.templates.get(template.name)
        if namesake is not None and namesake.id != template.id:
            raise Exists(template.name)
        if template.id not in known:
            raise Missing("no such template")
        del rows.templates[known[template.id]]
        rows.templates[template.name] = replace(template)
        rows.revision += 1

    async def put(self, templates: Sequence[MessageTemplate]) -> int:
        rows = self._open()
        for template in templates:
            self._check(template)
        new = 0
        for template in templates:
            known = rows.templates.get(template.name)
            new += known is None
            number = self._place.next("template") if known is None else known.id
            rows.templates[template.name] = replace(template, id=number)
        rows.revision += 1
        return new

    async def remove(self, name: str) -> None:
        rows = self._open()
        if rows.templates.pop(name, None) is None:
            raise Missing("no such template")
        rows.revision += 1

    def _check(self, template: MessageTemplate) -> None:
        if template.account and template.account not in self._open().accounts:
            raise Missing("no such account")


class MemoryUsers(MemoryPart):
    """`app.ports.Users`."""

    async def create(self, user: AdminUser) -> None:
        users = self._place.staff().users
        if user.name in users:
            raise Exists(user.name)
        users[user.name] = replace(user)

    async def all(self) -> list[AdminUser]:
        return [self._as_now(user) for _, user in sorted(self._place.staff().users.items())]

    async def find(self, name: str) -> AdminUser | None:
        found = self._place.staff().users.get(name)
        return None if found is None else self._as_now(found)

    def _as_now(self, user: AdminUser) -> AdminUser:
        return replace(user, second_factor=any(each.user == user.name for each in self._place.people.factors))

    async def update(self, name: str, password_hash: str | None = None, role: UserRole | None = None) -> None:
        users = self._place.staff().users
        if name not in users:
            raise Missing(name)
        was = users[name]
        users[name] = replace(was, password_hash=password_hash or was.password_hash, role=role or was.role)
        self._end_sessions(name)

    async def remove(self, name: str) -> None:
        if self._place.staff().users.pop(name, None) is None:
            raise Missing(name)
        people = self._place.people
        people.factors = [each for each in people.factors if each.user != name]
        people.codes.pop(name, None)
        self._end_sessions(name)

    async def open_session(self, session: AdminSession) -> None:
        sessions = self._place.staff().sessions
        for digest in [digest for digest, each in sessions.items() if each.expires <= session.created]:
            del sessions[digest]
        sessions[session.digest] = replace(session)

    async def session(self, digest: bytes, now: int) -> tuple[AdminSession, AdminUser] | None:
        people = self._place.staff()
        found = people.sessions.get(digest)
        if found is None or found.expires <= now:
            return None
        return replace(found), self._as_now(people.users[found.user])

    async def use_session(self, digest: bytes, now: int) -> None:
        found = self._place.staff().sessions.get(digest)
        if found is not None and found.used < now:
            found.used = now

    async def close_session(self, digest: bytes) -> None:
        self._place.staff().sessions.pop(digest, None)

    def _end_sessions(self, user: str) -> None:
        people = self._place.people
        people.sessions = {digest: each for digest, each in people.sessions.items() if each.user != user}


class MemoryTokens(MemoryPart):
    """`app.ports.Tokens`."""

    async def add(self, token: AdminToken) -> None:
        tokens = self._place.staff().tokens
        if token.id in tokens:
            raise Exists(token.id)
        tokens[token.id] = replace(token)

    async def all(self) -> list[AdminToken]:
        return [replace(each) for each in sorted(self._place.staff().tokens.values(), key=lambda each: each.created)]

    async def find(self, digest: bytes) -> AdminToken | None:
        for each in self._place.staff().tokens.values():
            if each.digest == digest and each.revoked is None:
                return replace(each)
        return None

    async def revoke(self, token: str, now: int) -> None:
        found = self._place.staff().tokens.get(token)
        if found is None or found.revoked is not None:
            raise Missing(token)
        found.revoked = now


class MemoryAuditLog(MemoryPart):
    """`app.ports.AuditLog`."""

    async def append(self, deed: AuditEntry) -> None:
        staff = self._place.staff()
        key = staff.head.key + 1
        texts = (deed.actor, deed.action, deed.target, details_text(deed.details), deed.address)
        chained = entry_hash(staff.head.hash, key, deed.at, texts)
        staff.deeds.append(AuditLink(key, deed.at, *texts, chained))
        staff.head = AuditHead(key, chained)

    async def head(self) -> AuditHead:
        return self._place.staff().head

    async def links(self, after: int, limit: int) -> list[AuditLink]:
        return [replace(deed) for deed in self._place.staff().deeds if deed.key > after][:limit]

    async def find(self, query: AuditQuery) -> list[AuditEntry]:
        found = [
            deed
            for deed in reversed(self._place.staff().deeds)
            if (query.before is None or deed.key < query.before)
            and query.actor in ("", deed.actor)
            and deed.action.startswith(query.action)
            and query.target in ("", deed.target)
        ]
        return [
            AuditEntry(deed.at, deed.actor, deed.action, deed.target, json.loads(deed.details), deed.address, deed.key)
            for deed in found[: query.limit]
        ]
