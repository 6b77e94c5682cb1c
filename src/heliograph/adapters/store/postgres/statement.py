"""The statement that records facts: a call of a function for each kind of fact."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, Final

from heliograph.adapters.store.shared.late_sends import late_sends
from heliograph.app.facts import Accept, CallbackRetry, Facts, InboundMessage, Message, Queueing
from heliograph.domain.message.state import State

Columns = list[list[Any]]

VERDICTS: Final = "verdicts"
"""The column of the verdicts on requests."""

SUPERSEDED: Final = "superseded"
"""The column of the keys of messages with another end than the recorded one."""


class FunctionCalls:
    """Gathers calls of functions into a statement, which evaluates them from left to right."""

    __slots__ = ("_calls", "values")

    def __init__(self) -> None:
        self._calls: list[str] = []
        self.values: list[Any] = []

    def add(self, function: str, *values: Any, name: str = "") -> None:
        """Adds a call. `name` names the column of its result, if the result is read."""
        first = len(self.values) + 1
        parameters = ", ".join(f"${n}" for n in range(first, first + len(values)))
        self._calls.append(f"{function}({parameters})" + (f" AS {name}" if name else ""))
        self.values += values

    def text(self) -> str:
        return f"SELECT {', '.join(self._calls)}"


def _columns(rows: Iterable[Any], *names: str) -> Columns:
    return [list(map(attrgetter(name), rows)) for name in names]


#: Fields that are the arguments of `record_KIND`, a column each, by the kind of fact.
_NAMES: dict[str, tuple[str, ...]] = {
    "attempts": ("key", "segment", "connector", "status", "at"),
    "submissions": ("key", "segment", "connector", "operator_id", "status", "at"),
    "parts": ("key", "segment", "state", "err", "at"),
    "progress": ("key", "segment", "state", "err", "at", "owed"),
    "finals": ("key", "state", "err", "at", "owed"),
    "withdrawals": ("account", "key", "refund", "at", "note"),
    "resends": ("key", "connector", "instead", "state", "err", "due", "expires", "at"),
    "early": ("connector", "operator_id", "destination", "state", "err", "at"),
    "awaiting": ("connector", "operator_id", "key", "segment"),
    "inbound_replies": ("key", "problem"),
    "callbacks": ("key", "end", "code", "attempts", "at"),
}


_NO_REPLY = Message(0, "", "", 0, "", 0, 0, 0, 0, 0, 0)

_SET_NAMES = ("connector", "sender", "recipient", "reference", "total")
"""Fields of `PartSet`."""


def accounts_of(facts: Facts) -> list[int]:
    """Returns the accounts that may get another balance or more inbound messages, in the order of their locks."""
    accounts = {accept.account for accept in facts.accepts}
    accounts.update(final.account for final in facts.finals if final.failed)
    accounts.update(each.account for each in facts.withdrawals)
    accounts.update(message.account for message in facts.inbound if message.account)
    return sorted(accounts)


def are_single(facts: Facts) -> bool:
    """Returns whether `add_singles` may take the requests, as it can take nearly all.

    Each request has a single message that is sent at once. Requests of an account with limits are of the same day. No
    refund or inbound message needs the lock of its account.
    """
    days: dict[int, int] = {}
    for accept in facts.accepts:
        if accept.batch or accept.reference is not None or len(accept.messages) != 1:
            return False
        day_ends = accept.day_ends
        if day_ends and days.setdefault(accept.account, day_ends) != day_ends:
            return False
        message = accept.messages[0]
        if (
            message.state != State.SENT
            or message.queued
            or message.reference
            or message.extras
            or message.price != accept.total
            or message.time != accept.at
        ):
            return False
    return (
        not facts.withdrawals
        and not any(final.failed for final in facts.finals)
        and not any(each.account for each in facts.inbound)
    )


SingleRow = tuple[int, Message, bytes]
"""The index of its account in the call (from 1), the message, and the octets of its content."""


def _content(message: Message | InboundMessage) -> bytes:
    """Returns the content as its row has it: UTF-8, or an envelope."""
    return message.sealed or message.content.encode()


def add_singles(calls: FunctionCalls, accepts: list[Accept], accounts: list[int]) -> None:
    """Adds requests of a single message each. The function locks the accounts, and returns NULL if all are accepted,
    else the verdicts in order."""
    indexes = {account: index for index, account in enumerate(accounts, 1)}
    totals, numbers, days = [0] * len(accounts), [0] * len(accounts), [0] * len(accounts)
    rows: list[SingleRow] = []
    for accept in accepts:
        message = accept.messages[0]
        index = indexes[accept.account]
        totals[index - 1] += accept.total
        numbers[index - 1] += 1
        days[index - 1] = accept.day_ends or days[index - 1]
        rows.append((index, message, _content(message)))
    calls.add("record_singles", accounts, totals, numbers, days, rows, name=VERDICTS)


def add_accepts(calls: FunctionCalls, accepts: list[Accept], accounts: list[int]) -> None:
    """Adds requests of any kind. The function returns the verdicts in order."""
    indexes = {account: index for index, account in enumerate(accounts, 1)}
    messages: list[Message] = []
    requests: list[int] = []
    for number, accept in enumerate(accepts, 1):
        messages += accept.messages
        requests += [number] * len(accept.messages)
    calls.add(
        "record_accepts",
        accounts,
        [indexes[accept.account] for accept in accepts],
        *_columns(accepts, "key", "tail", "total", "at"),
        [accept.messages[-1].key if accept.batch else 0 for accept in accepts],
        *_columns(accepts, "scheduled", "reference", "fingerprint", "day_ends"),
        requests,
        *_columns(messages, "key", "tail", "price", "time", "expires", "connector", "segments", "kind", "state"),
        *_columns(messages, "wants_receipt", "way"),
        [message.queued or message.state != State.SENT for message in messages],
        *_columns(messages, "destination", "sender", "callback_url"),
        [message.reference or "" for message in messages],
        list(map(_content, messages)),
        *_columns(messages, "extras", "network"),
        False,
        name=VERDICTS,
    )


def add_begin(calls: FunctionCalls, messages: list[InboundMessage], node: int) -> None:
    """Adds the begin of the writing of messages from phones. Must be the first call."""
    if messages:
        calls.add("record_inbound_begun", node, *_columns(messages, "key", "connector", "digest", "last_note"))


def add_consents(calls: FunctionCalls, messages: list[InboundMessage]) -> None:
    """Adds wishes of phones, before the requests: a request after a STOP finds its number suppressed."""
    asked = [each for each in messages if each.reply is not None or each.changes_consent]
    if not asked:
        return
    replies = [each.reply.messages[0] if each.reply is not None else _NO_REPLY for each in asked]
    calls.add(
        "record_consents",
        *_columns(asked, "account", "sender", "at", "wish"),
        *_columns(replies, "key", "tail", "price", "time", "expires", "connector", "segments", "kind"),
        *_columns(replies, "destination", "sender"),
        list(map(_content, replies)),
        *_columns(replies, "network"),
    )


def add_others(
    calls: FunctionCalls,
    facts: Facts,
    node: int,
    worker: int,
    *,
    again: bool = False,
) -> None:
    """Adds every other kind of fact, in the order of the fields.

    `again`: some facts may have been recorded before, and the first stay. A call without `again` fails at such a fact,
    and saves the server a third of the work.
    """
    if facts.queueings:
        _add_queueings(calls, facts.queueings, node)
    if facts.sending:
        calls.add("record_sending", [key for _, key in facts.sending])
    if facts.asking:
        calls.add("record_asking", [key for _, key in facts.asking])
    _add_columns(calls, facts, "attempts")
    _add_new(calls, facts, "submissions", again=again)
    if late := late_sends(facts.submissions):
        calls.add("record_late_sends", *map(list, zip(*late, strict=True)))
    if facts.dequeued:
        calls.add("record_dequeued", [key for _, key in facts.dequeued])
    _add_columns(calls, facts, "parts", "progress")
    failed = any(final.failed for final in facts.finals)
    if failed:
        columns = _columns(facts.finals, *_NAMES["finals"], "failed", "account", "refund")
        calls.add("record_failures", *columns)
    else:
        _add_new(calls, facts, "finals", again=again)
    _add_columns(calls, facts, "withdrawals", "resends", "early")
    if facts.early_matched:
        calls.add("record_early_matched", *map(list, zip(*facts.early_matched, strict=True)))
    _add_new(calls, facts, "awaiting", again=again)
    _add_rows(calls, "delete_awaiting", facts, "awaiting_matched")
    _add_inbound(calls, facts, node)
    _add_columns(calls, facts, "inbound_replies")
    if facts.callback_retries:  # before the ends: a retry of a commit that is made again must not outlive its end
        _add_retries(calls, facts.callback_retries, node)
    _add_new(calls, facts, "callbacks", again=again)
    if facts.marks:
        calls.add("record_marks", worker, list(facts.marks), list(facts.marks.values()))
    if facts.finals and (again or failed):
        calls.add("superseded_ends", *_columns(facts.finals, "key", "state", "err", "at"), name=SUPERSEDED)


def _add_inbound(calls: FunctionCalls, facts: Facts, node: int) -> None:
    if facts.inbound_lost:
        calls.add("record_inbound_lost", facts.inbound_lost)
    if facts.inbound_answered:
        calls.add("record_inbound_answered", facts.inbound_answered)
    inbound = facts.inbound
    if inbound:
        calls.add(
            "record_inbound",
            *_columns(inbound, "account", "connector", "sender", "recipient", "octets", "coding", "at", "keyword"),
            *_columns(inbound, "parts", "complete", "way", "key", "tail", "digest", "lost", "price", "wish"),
            list(map(_content, inbound)),
            [each.reply.key if each.reply is not None else 0 for each in inbound],
            node,
        )
        joined = [each for each in inbound if each.parts_of is not None]
        if joined:
            sets = [each.parts_of for each in joined]
            calls.add("record_joined", *_columns(sets, *_SET_NAMES), [each.key for each in joined], node)
    if facts.inbound_parts:
        parts = facts.inbound_parts
        calls.add(
            "record_inbound_parts",
            *_columns([part.parts_of for part in parts], *_SET_NAMES),
            *_columns(parts, "number", "coding", "has_header", "octets", "at"),
        )


def _add_columns(calls: FunctionCalls, facts: Facts, *kinds: str) -> None:
    for kind in kinds:
        rows = getattr(facts, kind)
        if rows:
            calls.add(f"record_{kind}", *_columns(rows, *_NAMES[kind]))


def _add_new(calls: FunctionCalls, facts: Facts, kind: str, *, again: bool) -> None:
    """Adds facts, one for each message: as rows, which is faster, unless some may be in the store already (`again`)."""
    if again:
        _add_columns(calls, facts, kind)
    else:
        _add_rows(calls, f"insert_{kind}", facts, kind)


def _add_rows(calls: FunctionCalls, function: str, facts: Facts, kind: str) -> None:
    """Adds an array of rows, encoded by `encoding`, so that the server need not join columns."""
    rows = getattr(facts, kind)
    if rows:
        calls.add(function, rows)


def _add_queueings(calls: FunctionCalls, queueings: list[Queueing], node: int) -> None:
    last = list({each.key: each for each in queueings}.values())
    calls.add(
        "record_queueings",
        *_columns(last, "key", "connector", "due", "expires", "attempted"),
        _holders(last, node),
        [each.held for each in last],
        [each.since for each in last],
    )


def _add_retries(calls: FunctionCalls, retries: list[CallbackRetry], node: int) -> None:
    last = list({each.key: each for each in retries}.values())
    calls.add(
        "record_callback_retries",
        *_columns(last, "key", "account", "due", "attempts", "body", "problem", "first", "way", "parked"),
        _holders(last, node),
    )


def _holders(rows: list[Any], node: int) -> list[int | None]:
    claimed: Callable[[Any], bool] = attrgetter("claimed")
    return [node if claimed(row) else None for row in rows]
