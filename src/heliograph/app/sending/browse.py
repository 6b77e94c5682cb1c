"""Look-ups of customers: messages, lists, histories, the balance."""

import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from math import ceil
from typing import Final

from heliograph.app.configuration import Account
from heliograph.app.facts import Message
from heliograph.app.ports import Customers, ListQuery, MessageRecord
from heliograph.app.sending.directory import AccountView
from heliograph.app.sending.fields import TIME_CHARS, shown
from heliograph.app.sending.reschedule import no_such_message
from heliograph.domain import calendar
from heliograph.domain.error import TOO_EARLY, Fault, invalid
from heliograph.domain.limits import defaults
from heliograph.domain.message.receipt import Delivery

_WHOLE = re.compile(r"[0-9]{1,18}").fullmatch
BOOLEAN_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
"""Every accepted value of a boolean parameter, in any case."""

EXPORT_PAGE: Final = 1_000
"""Messages of an export in memory."""

# `list` is a method below, and would be taken for the type there
Page = list[Message]


class Browse:
    """Answers customers' queries about their messages and their account."""

    def __init__(self, customers: Customers, list_interval: float = defaults.LIST_INTERVAL_S) -> None:
        """`list_interval`: seconds between two list queries, for accounts without their own interval."""
        self._customers = customers
        self._list_interval = list_interval
        self._unanswered: dict[int, int] = {}
        """Times at which an account's last list query was admitted, where its reading failed; ms, by account."""

    async def get(self, view: AccountView, key: int, tail: int, query: Mapping[str, str]) -> Message | Page:
        """Returns a message, or a page of the messages of a batch. Raises Fault."""
        index, limit = _page(query)
        message = await self._customers.message(view.account.id, key, tail)
        if message is not None:
            return message
        batch = await self._customers.batch(view.account.id, key, tail, index, limit)
        if batch is None:
            raise no_such_message()
        return batch.messages

    async def list(self, view: AccountView, query: Mapping[str, str], now: int) -> Page:
        """Returns a page of the account's messages. Raises Fault: 429 within the interval since the last that was
        answered."""
        wanted = _list_query(view, query)
        await self._admit(view.account, now)
        try:
            return await self._customers.messages(view.account.id, wanted)
        except Exception:
            # Kept in memory: the store just failed to read, so it could not write this either.
            self._unanswered[view.account.id] = now
            raise

    async def export(self, view: AccountView, query: Mapping[str, str], now: int) -> AsyncGenerator[Page]:
        """Returns the pages of all messages that a list query asks for, without its limit. It is admitted like a list
        query. Raises Fault."""
        wanted = _list_query(view, query)
        await self._admit(view.account, now)
        return self._pages(view.account.id, wanted)

    async def _pages(self, account: int, query: ListQuery) -> AsyncGenerator[Page]:
        """Yields pages. Each begins in the second in which the page before ended, behind the messages of that second,
        so that a page is read by the index of times, however many messages came before."""
        query = replace(query, limit=EXPORT_PAGE)
        while True:
            page = await self._customers.messages(account, query)
            if page:
                yield page
            if len(page) < EXPORT_PAGE:
                return
            second = page[-1].time // 1000 * 1000
            seen = sum(message.time // 1000 * 1000 == second for message in page)
            bound = query.end if query.descending else query.start
            index = seen + (query.index if bound == second else 0)
            query = replace(query, index=index)
            if query.descending:
                query.end = second
            else:
                query.start = second

    async def _admit(self, account: Account, now: int) -> None:
        """Raises Fault within the interval since the last list query."""
        interval = self._list_interval if account.list_interval is None else account.list_interval
        if interval > 0:
            unanswered = self._unanswered.get(account.id)
            wait = await self._customers.admit_list(account.id, now, ceil(interval * 1000), unanswered)
            if wait > 0:
                problem = f"One list query is allowed every {interval:g} seconds; wait before the next."
                raise Fault(TOO_EARLY, problem, None, ceil(wait / 1000))
            self._unanswered.pop(account.id, None)

    async def deliveries(self, messages: Page) -> dict[int, tuple[Delivery | None, str, int]]:
        """Returns the ends of ended messages, by key: state, the operator's code, time (ms). The state of a held
        message is None."""
        return await self._customers.deliveries([message.key for message in messages])

    async def trace(self, view: AccountView, key: int, tail: int) -> MessageRecord:
        """Returns everything that is known of a message. Raises Fault."""
        record = await self._customers.trace(view.account.id, key, tail)
        if record is None:
            raise no_such_message()
        return record

    async def balance(self, view: AccountView) -> int:
        """Returns the account's balance in micro-credits."""
        return await self._customers.balance(view.account.id)


def _list_query(view: AccountView, query: Mapping[str, str]) -> ListQuery:
    """Reads the parameters of a list query. An empty parameter counts as absent. Raises Fault."""
    start, end = _second(view, query, "start"), _second(view, query, "end")
    if start is not None and end is not None and end < start:
        raise invalid("end", "The end lies before the start; exchange them.")
    index, limit = _page(query)
    pending = _flag(query, "pending")
    order = (query.get("order") or "asc").lower()
    if order not in ("asc", "desc"):
        raise invalid("order", f"The order is asc or desc, not {shown(query['order'])}.")
    return ListQuery(start, end, index, limit, pending, order == "desc")


def wants_delivery(query: Mapping[str, str]) -> bool:
    """True if records must include their messages' ends. Raises Fault."""
    return _flag(query, "delivery")


def _flag(query: Mapping[str, str], name: str) -> bool:
    flag = BOOLEAN_WORDS.get((query.get(name) or "false").lower())
    if flag is None:
        raise invalid(name, f"The parameter {name} is true or false, not {shown(query[name])}.")
    return flag


def _second(view: AccountView, query: Mapping[str, str], name: str) -> int | None:
    """Returns a time cut to its second, in ms: seconds are shown, so seconds are compared."""
    text = query.get(name)
    if not text:
        return None
    if len(text) > TIME_CHARS:
        raise invalid(name, f"The time {shown(text)} is too long.")
    try:
        return calendar.parse_time(text, view.zone) // 1000 * 1000
    except calendar.TimeProblem as problem:
        raise invalid(name, str(problem)) from None


def _page(query: Mapping[str, str]) -> tuple[int, int]:
    index, limit = query.get("index") or "0", query.get("limit") or str(defaults.LIST_LIMIT)
    if _WHOLE(index) is None:
        raise invalid("index", f"The index is a whole number from 0 on, not {shown(index)}.")
    if _WHOLE(limit) is None or not 1 <= int(limit) <= defaults.LIST_LIMIT:
        raise invalid("limit", f"The limit is a whole number from 1 to {defaults.LIST_LIMIT}, not {shown(limit)}.")
    return int(index), int(limit)
