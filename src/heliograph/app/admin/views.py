"""Use cases of administration on messages: find, explain, cancel, reschedule; and the route of a number."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from heliograph.app.admin.blocked_reasons import BlockedReasons
from heliograph.app.admin.explain import explain
from heliograph.app.admin.history import Event, history
from heliograph.app.admin.message_filter import fits
from heliograph.app.configuration import Account
from heliograph.app.ports import Clock, Store
from heliograph.app.records import Hit, MessageRecord, Search, SearchPage
from heliograph.app.resources.desk import Desk, connector_id
from heliograph.app.routing import explain as routing
from heliograph.app.routing.explain import RouteDecision
from heliograph.app.sending.directory import AccountView, Directory
from heliograph.app.sending.reschedule import Rescheduling
from heliograph.domain.error import NOT_FOUND, Fault, invalid
from heliograph.domain.message import ids
from heliograph.domain.numbers import phone
from heliograph.domain.numbers.phone import number_in

HITS = 1_000
"""Messages of one id (a batch's) or of one reference that are shown."""


@dataclass(slots=True)
class MessageView:
    """One message with everything about it."""

    trace: MessageRecord
    account: Account
    events: list[Event]
    decision: RouteDecision
    """Present route of its destination."""
    connectors: dict[int, str]
    """Names by id, for what the rows name by number."""
    explanation: str
    """Reason of its present state, in a sentence or two."""


class Views(Desk):
    """Methods raise Fault, and the store's Unavailable."""

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
        super().__init__(store, clock)
        self._names = (names or {}) | (fallbacks or {})
        self._status_name = status_name
        self._directory = directory
        self._rescheduling = rescheduling
        self._fallbacks = fallbacks or {}

    # --- messages

    async def find(self, text: str, search: Search) -> SearchPage:
        """Finds messages by free text (an id, a reference, a number or its beginning) and by `search`."""
        text = text.strip()
        parsed = ids.parse(text)
        if parsed is not None:
            return SearchPage(await self._judged(await self.store.messages.identified(*parsed, HITS), search))
        number = number_in(text)
        hits: list[Hit] = []
        if text and search.before is None:
            hits = await self.referenced(text, search, HITS)
        if text and not number:
            return SearchPage(hits)
        found = await self.store.messages.search(replace(search, number=number))
        known = {hit.message.key for hit in hits}
        return replace(found, hits=hits + [hit for hit in found.hits if hit.message.key not in known])

    async def _judged(self, hits: list[Hit], search: Search) -> list[Hit]:
        """Returns those that the search fits, by all but account, state and times."""
        fitting = [hit for hit in hits if fits(search, hit)]
        if not search.held:
            return fitting
        traces = [await self.store.messages.trace(hit.message.key) for hit in fitting]
        return [hit for hit, trace in zip(fitting, traces, strict=True) if trace is not None and trace.held]

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
        tables, reports = await self.store.network.tables(), await self.store.network.link_states()
        reasons = BlockedReasons(tables, reports, self.now)
        explanation = explain(trace, connectors, self._status_name, reasons.blocked_reason, suspended=account.suspended)
        return MessageView(trace, account, events, decision, connectors, explanation)

    async def search(self, search: Search) -> SearchPage:
        """Finds messages by `search` alone, as `find` does."""
        return await self.store.messages.search(search)

    async def connector_id(self, name: str) -> int:
        """Returns the id of a connector. Raises NoSuch."""
        return await connector_id(self.store, name)

    async def referenced(self, reference: str, search: Search, limit: int) -> list[Hit]:
        """Returns up to `limit` messages of requests with this reference, of those that the search fits by account,
        connector, error, sender, country and hold."""
        return await self._judged(await self.store.messages.referenced(reference, search.account, limit), search)

    async def of_references(self, account: str, references: Sequence[str]) -> list[Hit]:
        """Returns the account's messages of requests for one destination with one of these references, by key."""
        found = await self.store.accounts.find(account)
        return [] if found is None else await self.store.messages.of_references(found[0].id, references)

    async def tail_of(self, key: int) -> int | None:
        """Completes the id of the message with this key; None if there is no such message."""
        record = await self.store.messages.trace(key)
        return None if record is None else record.message.tail

    async def connector_names(self) -> dict[int, str]:
        return self._names | (await self.store.network.tables()).connector_names()

    async def cancel(self, key: int, tail: int) -> None:
        view = await self._owner(key, tail)
        audited = self.audited("message.cancel", ids.to_hex(key, tail), {"account": view.account.name})
        await self._rescheduling.through(audited.customers).cancel(view, key, tail, self.now)

    async def reschedule(self, key: int, tail: int, text: str) -> int:
        """Moves a scheduled message to a time in the account's zone; returns it in ms."""
        view = await self._owner(key, tail)
        now = self.now
        at = self._rescheduling.new_time(view, text or None, now)
        details = {"account": view.account.name, "time": text}
        audited = self.audited("message.reschedule", ids.to_hex(key, tail), details)
        await self._rescheduling.through(audited.customers).reschedule(view, key, tail, at, now)
        return at

    async def _owner(self, key: int, tail: int) -> AccountView:
        """Returns the account of the message. Raises Fault."""
        trace = await self.store.messages.trace(key)
        if trace is None or trace.message.tail != tail:
            raise _no_message()
        account = await self.store.accounts.by_id(trace.message.account)
        view = None if account is None else await self._directory.fresh_account(account.name)
        if view is None:
            raise _no_message()
        return view

    # --- the way of a number

    async def decide(self, number: str, account: str) -> RouteDecision:
        """Decides by the present rows of the store, which every process heeds within seconds. Raises Fault for an
        invalid number or an unknown account."""
        if not phone.is_destination(number):
            raise invalid("number", "Give a number in international form: 7 to 15 digits, no + and no leading 0.")
        found = await self.store.accounts.find(account)
        if found is None:
            raise Fault(NOT_FOUND, f"There is no account {account}.", "account")
        return routing.explain(number, found[0], await self.store.network.tables(), self._fallbacks, self.now)


def _no_message() -> Fault:
    return Fault(NOT_FOUND, "There is no such message.")
