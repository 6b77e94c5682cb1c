"""The one statement that records facts: a call of a function for each kind of fact that there is."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from heliograph.app.facts import Accept, CallbackRetry, Facts, Queueing
from heliograph.domain.message import State

Columns = list[list[Any]]


class Call:
    """Gathers calls of functions into one statement. They are evaluated from left to right."""

    __slots__ = ("_calls", "values")

    def __init__(self) -> None:
        self._calls: list[str] = []
        self.values: list[Any] = []

    def add(self, function: str, *values: Any) -> None:
        first = len(self.values) + 1
        places = ", ".join(f"${n}" for n in range(first, first + len(values)))
        self._calls.append(f"{function}({places})")
        self.values += values

    def text(self) -> str:
        return f"SELECT {', '.join(self._calls)}"


def _columns(rows: Iterable[Any], *names: str) -> Columns:
    return [list(map(attrgetter(name), rows)) for name in names]


#: The fields that are the arguments of `record_`, a column each, by the name of the facts.
_NAMES: dict[str, tuple[str, ...]] = {
    "attempts": ("key", "segment", "connector", "status", "at"),
    "submissions": ("key", "segment", "connector", "operator_id", "status", "at"),
    "parts": ("key", "segment", "state", "err", "at"),
    "progress": ("key", "segment", "state", "err", "at"),
    "finals": ("key", "state", "err", "at", "owed"),
    "early": ("connector", "operator_id", "destination", "state", "err", "at"),
    "awaiting": ("connector", "operator_id", "key", "segment"),
    "callbacks": ("key", "end", "code", "attempts", "at"),
}


def accounts_of(facts: Facts) -> list[int]:
    """The accounts whose balances may change, in the order in which they are locked."""
    accounts = {accept.account for accept in facts.accepts}
    accounts.update(final.account for final in facts.finals if final.failed)
    return sorted(accounts)


def are_single(facts: Facts) -> bool:
    """Whether `add_singles` may take them: nothing but requests of one message that is sent at once, as nearly all are,
    and no refund, whose account would have to be locked with theirs."""
    for accept in facts.accepts:
        if accept.batch or accept.reference is not None or len(accept.messages) != 1:
            return False
        message = accept.messages[0]
        if (
            message.state != State.SENT
            or message.queued
            or message.reference
            or message.price != accept.total
            or message.time != accept.at
        ):
            return False
    return not any(final.failed for final in facts.finals)


def add_singles(call: Call, accepts: list[Accept], accounts: list[int]) -> None:
    """Its result is the verdicts, in order, or nothing where all are accepted. It locks the accounts by itself."""
    places = {account: place for place, account in enumerate(accounts, 1)}
    totals = dict.fromkeys(accounts, 0)
    for accept in accepts:
        totals[accept.account] += accept.total
    rows = [(places[accept.account], accept.messages[0]) for accept in accepts]
    call.add("record_singles", accounts, list(totals.values()), rows)


def add_accepts(call: Call, accepts: list[Accept], accounts: list[int]) -> None:
    """Its result is the verdicts, in order."""
    places = {account: place for place, account in enumerate(accounts, 1)}
    messages = []
    requests: list[int] = []
    for number, accept in enumerate(accepts, 1):
        messages += accept.messages
        requests += [number] * len(accept.messages)
    call.add(
        "record_accepts",
        accounts,
        [places[accept.account] for accept in accepts],
        *_columns(accepts, "key", "tail", "total", "at"),
        [accept.messages[-1].key if accept.batch else 0 for accept in accepts],
        *_columns(accepts, "scheduled", "reference", "fingerprint"),
        requests,
        *_columns(messages, "key", "tail", "price", "time", "expires", "connector", "segments", "kind", "state"),
        [message.wants_receipt for message in messages],
        [message.queued or message.state == State.SCHEDULED for message in messages],
        *_columns(messages, "destination", "sender", "callback_url"),
        [message.reference or "" for message in messages],
        [message.content.encode() for message in messages],
    )


def add_others(call: Call, facts: Facts, node: int, worker: int, *, again: bool = False) -> None:
    """Every other kind of fact, in the order of its field. `again`: some may have been recorded before; the first ones
    stay. Otherwise such a one fails, which makes all the others a third cheaper for the server."""
    if facts.queueings:
        _add_queueings(call, facts.queueings, node)
    if facts.sending:
        call.add("record_sending", [key for _, key in facts.sending])
    _add_columns(call, facts, "attempts")
    _add_new(call, facts, "submissions", again=again)
    if facts.dequeued:
        call.add("record_dequeued", [key for _, key in facts.dequeued])
    _add_columns(call, facts, "parts", "progress")
    if any(final.failed for final in facts.finals):
        call.add("record_failures", *_columns(facts.finals, *_NAMES["finals"], "failed", "account", "refund"))
    else:
        _add_new(call, facts, "finals", again=again)
    _add_columns(call, facts, "early")
    if facts.early_matched:
        call.add("record_early_matched", *map(list, zip(*facts.early_matched, strict=True)))
    _add_new(call, facts, "awaiting", again=again)
    _add_rows(call, "delete_awaiting", facts, "awaiting_matched")
    _add_new(call, facts, "callbacks", again=again)
    if facts.callback_retries:
        _add_retries(call, facts.callback_retries, node)
    if facts.marks:
        call.add("record_marks", worker, list(facts.marks), list(facts.marks.values()))


def _add_columns(call: Call, facts: Facts, *kinds: str) -> None:
    for kind in kinds:
        rows = getattr(facts, kind)
        if rows:
            call.add(f"record_{kind}", *_columns(rows, *_NAMES[kind]))


def _add_new(call: Call, facts: Facts, kind: str, *, again: bool) -> None:
    """What each message has goes as rows, unless some may be there already."""
    if again:
        _add_columns(call, facts, kind)
    else:
        _add_rows(call, f"insert_{kind}", facts, kind)


def _add_rows(call: Call, function: str, facts: Facts, kind: str) -> None:
    """An array of rows, which the server need not put together, and which `encoding` makes of the facts themselves."""
    rows = getattr(facts, kind)
    if rows:
        call.add(function, rows)


def _add_queueings(call: Call, queueings: list[Queueing], node: int) -> None:
    last = list({each.key: each for each in queueings}.values())
    call.add(
        "record_queueings",
        *_columns(last, "key", "connector", "due", "expires", "attempted"),
        _holders(last, node),
    )


def _add_retries(call: Call, retries: list[CallbackRetry], node: int) -> None:
    last = list({each.key: each for each in retries}.values())
    call.add(
        "record_callback_retries",
        *_columns(last, "key", "due", "attempts", "body", "problem", "first"),
        _holders(last, node),
    )


def _holders(rows: list[Any], node: int) -> list[int | None]:
    held: Callable[[Any], bool] = attrgetter("held")
    return [node if held(row) else None for row in rows]
