"""What those who run the gateway look at and do beside administration: messages, callbacks, the way of a number."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from heliograph.app.admin.explain import explain
from heliograph.app.admin.history import Event, history
from heliograph.app.admin.oversight import AuditEntry, AuditQuery, CallbackView, Hit, MessageRecord, Search, SearchPage
from heliograph.app.admin.sign_in import Actor
from heliograph.app.configuration import Account
from heliograph.app.ports import Clock, Store
from heliograph.app.routing import explain as routing
from heliograph.app.routing.explain import RouteDecision
from heliograph.app.sending.directory import AccountView, Directory
from heliograph.app.sending.reschedule import Rescheduling
from heliograph.domain import ids, phone
from heliograph.domain.error import CONFLICT, NOT_FOUND, Fault, invalid

HITS = 1_000
"""Messages of one id (a batch's) or of one reference that are shown."""

HOSTS_FROM = 5_000
"""Owed callbacks that the list of failing receivers is made from: those due first."""


@dataclass(slots=True)
class MessageView:
    """One message with everything about it."""

    trace: MessageRecord
    account: Account
    events: list[Event]
    decision: RouteDecision
    """Where its destination would go now."""
    connectors: dict[int, str]
    """Names by id, for what the rows name by number."""
    explanation: str
    """Why it is where it is."""


@dataclass(slots=True)
class FailingHost:
    """A receiver of callbacks that fails: how many it is owed, how often the worst of them was tried."""

    host: str
    owed: int
    attempts: int
    problem: str
    due: int
    keys: list[int]


class Views:
    """Raises Fault (and the store's Unavailable). What changes anything is noted in the audit log."""

    def __init__(
        self,
        store: Store,
        directory: Directory,
        rescheduling: Rescheduling,
        clock: Clock,
        fallbacks: dict[int, str] | None = None,
        *,
        names: dict[int, str] | None = None,
        status_name: Callable[[int], str] = hex,
    ) -> None:
        """`fallbacks` are connectors that take what no route covers and that the store does not have, by id: a
        development run's. `names` are those that an earlier run may have had. `status_name` names a command status."""
        self._names = (names or {}) | (fallbacks or {})
        self._status_name = status_name
        self.store = store
        self._directory = directory
        self._rescheduling = rescheduling
        self._clock = clock
        self._fallbacks = fallbacks or {}

    @property
    def now(self) -> int:
        return self._clock.now()

    # --- messages

    async def find(self, text: str, search: Search) -> SearchPage:
        """Messages by what somebody typed: an id, a reference, or a number or its beginning; and by the rest."""
        text = text.strip()
        parsed = ids.parse(text)
        if parsed is not None:
            return SearchPage(await self.store.messages.identified(*parsed, HITS))
        number = _digits(text)
        hits: list[Hit] = []
        if text and search.before is None:
            hits = await self.store.messages.referenced(text, search.account, HITS)
        if text and not number:
            return SearchPage(hits)
        found = await self.store.messages.search(replace(search, number=number))
        known = {hit.message.key for hit in hits}
        return replace(found, hits=hits + [hit for hit in found.hits if hit.message.key not in known])

    async def look(self, key: int, tail: int) -> MessageView:
        trace = await self.store.messages.trace(key)
        if trace is None or trace.message.tail != tail:
            raise _no_message()
        message = trace.message
        account = await self.store.accounts.by_id(message.account)
        if account is None:
            raise _no_message()
        events = history(trace, self._names, self._status_name)
        connectors = await self.connector_names()
        decision = await self.decide(message.destination, account.name)
        explanation = explain(trace, connectors, self._status_name)
        return MessageView(trace, account, events, decision, connectors, explanation)

    async def connector_names(self) -> dict[int, str]:
        tables = await self.store.network.tables()
        return self._names | {connector.id: connector.name for connector in tables.connectors}

    async def cancel(self, actor: Actor, key: int, tail: int) -> None:
        view = await self._owner(key, tail)
        noting = self._noting(actor, "message.cancel", ids.to_hex(key, tail), {"account": view.account.name})
        await self._rescheduling.through(noting.customers).cancel(view, key, tail, self.now)

    async def reschedule(self, actor: Actor, key: int, tail: int, text: str) -> int:
        """Moves a scheduled message to a time in the account's zone; returns it in ms."""
        view = await self._owner(key, tail)
        now = self.now
        at = self._rescheduling.new_time(view, text or None, now)
        details = {"account": view.account.name, "time": text}
        noting = self._noting(actor, "message.reschedule", ids.to_hex(key, tail), details)
        await self._rescheduling.through(noting.customers).reschedule(view, key, tail, at, now)
        return at

    async def _owner(self, key: int, tail: int) -> AccountView:
        """The account of the message. Raises Fault."""
        trace = await self.store.messages.trace(key)
        if trace is None or trace.message.tail != tail:
            raise _no_message()
        account = await self.store.accounts.by_id(trace.message.account)
        view = None if account is None else await self._directory.fresh_account(account.name)
        if view is None:
            raise _no_message()
        return view

    # --- callbacks

    async def replay_callback(self, actor: Actor, key: int, tail: int) -> None:
        """Owes one that has ended again."""
        view = await self._owner(key, tail)
        deed = self._deed(actor, "callback.replay", ids.to_hex(key, tail), {"account": view.account.name})
        if await self.store.noting(lambda count: deed if count else None).notices.replay(None, key, self.now) == 0:
            raise Fault(CONFLICT, "The callback of this message has not ended without success; nothing to replay.")

    async def replay_account(self, actor: Actor, account: str | None) -> int:
        """Owes all that have ended again, of one account or of all; returns how many."""
        number = None
        if account is not None:
            found = await self.store.accounts.find(account)
            if found is None:
                raise Fault(NOT_FOUND, f"There is no account {account}.", "account")
            number = found[0].id
        noting = self._counting(actor, "callback.replay", account or "all")
        return await noting.notices.replay(number, None, self.now)

    async def drop_callbacks(self, actor: Actor, keys: Sequence[int], target: str) -> int:
        """Ends owed ones; returns how many. One that is in the air at this moment stays."""
        return await self._counting(actor, "callback.drop", target).notices.drop(keys, self.now)

    async def failing_hosts(self) -> list[FailingHost]:
        """Receivers whose callbacks were tried in vain, the most owed first."""
        return _by_host(await self.store.notices.owed(HOSTS_FROM))

    # --- the way of a number

    async def decide(self, number: str, account: str) -> RouteDecision:
        """By what the store says now, which every process heeds within seconds. Raises Fault where the number is none,
        or there is no such account."""
        if not phone.is_destination(number):
            raise invalid("number", "Give a number in international form: 7 to 15 digits, no + and no leading 0.")
        found = await self.store.accounts.find(account)
        if found is None:
            raise Fault(NOT_FOUND, f"There is no account {account}.", "account")
        return routing.explain(number, found[0].plan, await self.store.network.tables(), self._fallbacks)

    # --- the audit log

    async def deeds(self, query: AuditQuery) -> list[AuditEntry]:
        return await self.store.audit_log.find(query)

    async def note(self, actor: Actor, action: str, target: str, details: dict[str, str] | None = None) -> None:
        """A line of the audit log about what changes no rows; no secrets and no message texts."""
        await self.store.audit_log.append(self._deed(actor, action, target, details or {}))

    def _noting(self, actor: Actor, action: str, target: str, details: dict[str, str]) -> Store:
        """The store for one change, which has this line in the audit log."""
        deed = self._deed(actor, action, target, details)
        return self.store.noting(lambda _: deed)

    def _counting(self, actor: Actor, action: str, target: str) -> Store:
        """The store for one change of some callbacks: the line says of how many."""
        return self.store.noting(lambda count: self._deed(actor, action, target, {"callbacks": str(count)}))

    def _deed(self, actor: Actor, action: str, target: str, details: dict[str, str]) -> AuditEntry:
        return AuditEntry(self.now, actor.name, action, target, details, actor.address)


def _digits(text: str) -> str:
    """The digits of what may be a number or its beginning; empty where it is none."""
    bare = text.removeprefix("+").replace(" ", "").replace("-", "")
    return bare if bare.isascii() and bare.isdigit() and len(bare) <= 15 else ""


def _no_message() -> Fault:
    return Fault(NOT_FOUND, "There is no such message.")


def _by_host(owed: Iterable[CallbackView]) -> list[FailingHost]:
    hosts: dict[str, FailingHost] = {}
    for callback in owed:
        if callback.attempts == 0 or callback.due is None:
            continue
        name = urlsplit(callback.url).netloc
        host = hosts.get(name)
        if host is None:
            host = hosts[name] = FailingHost(name, 0, 0, callback.problem, callback.due, [])
        host.owed += 1
        host.keys.append(callback.key)
        if callback.attempts > host.attempts:
            host.attempts, host.problem = callback.attempts, callback.problem
        host.due = min(host.due, callback.due)
    return sorted(hosts.values(), key=lambda host: -host.owed)
