"""Callbacks: receipts and inbound messages that are pushed to customers, pending or failed."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from heliograph.app.ports import Store
from heliograph.app.records import CallbackView, Scope
from heliograph.app.resources.description import Answer, Operation, Page, Resource, Scopes
from heliograph.app.resources.desk import Desk, account_id
from heliograph.app.resources.fields import Choice, Field, Many, Moment, Reference, Rows, Text, Whole
from heliograph.domain.display import counted
from heliograph.domain.error import CONFLICT, NOT_FOUND, Fault, invalid, missing
from heliograph.domain.message import ids

PAGE: Final = 1_000

MOST_AT_ONCE: Final = 100_000
"""The most messages of a request."""

BATCH: Final = 1_000
"""Callbacks that a transaction drops or makes pending again."""

READ_AT_ONCE: Final = 5_000
"""Callbacks that are read at once to be dropped or retried."""

HOSTS_FROM: Final = 5_000
"""Pending callbacks that the list of failing receivers is made from. They are the callbacks that are due first."""


async def find(desk: Desk, state: str, after: tuple[int, int] | None, limit: int) -> Page:
    """Returns pending callbacks by the time of their next try, or failed callbacks."""
    if state == "failed":
        found = await desk.store.notices.ended(limit, None if after is None else after[1])
    else:
        found = await desk.store.notices.owed(limit, after)
    names = await desk.account_names()
    last = f"{found[-1].due or 0}-{found[-1].key}" if len(found) == limit else None
    return Page([_row(each, names) for each in found], last)


async def status(desk: Desk, account: str | None = None) -> dict[str, Any]:
    """Counts callbacks, and returns the failing receivers, of an account or of all."""
    counts = await desk.store.upkeep.counts(desk.now)
    return {"pending": counts.owed, "failed": counts.ended, "hosts": await failing_hosts(desk, account)}


async def failing_hosts(desk: Desk, account: str | None = None) -> list[dict[str, Any]]:
    """Returns the receivers with failed tries among the next HOSTS_FROM callbacks, of an account or of all. Receivers
    with most pending callbacks come first. Raises NoSuch."""
    owner = None if account is None else await account_id(desk.store, account)
    return _by_host(await desk.store.notices.owed(HOSTS_FROM, account=owner))


async def replay(desk: Desk, account: str | None) -> dict[str, int]:
    """Makes failed callbacks pending again, of an account or of all accounts.

    Up to BATCH callbacks are changed in a transaction, each with an entry in the audit log.
    """
    owner = None
    if account is not None:
        found = await desk.store.accounts.find(account)
        if found is None:
            raise Fault(NOT_FOUND, f"There is no account {account}.", "account")
        owner = found[0].id
    replayed = 0
    before: int | None = None  # a callback that fails again meanwhile is not below it, and not retried twice
    while ended := await desk.store.notices.ended(READ_AT_ONCE, before):
        keys = [each.key for each in ended if owner in (None, each.account)]
        replayed += await _change(desk, "replay", keys, account or "all")
        before = ended[-1].key
    return {"count": replayed}


async def replay_message(desk: Desk, message: str) -> None:
    """Makes the failed callback of a message pending again."""
    parsed = ids.parse(message)
    trace = None if parsed is None else await desk.store.messages.trace(parsed[0])
    account = None if trace is None else await desk.store.accounts.by_id(trace.message.account)
    if parsed is None or trace is None or account is None or trace.message.tail != parsed[1]:
        raise Fault(NOT_FOUND, "There is no such message.")
    await replay_notice(desk, *parsed, account.name)


async def replay_notice(desk: Desk, key: int, tail: int, account: str) -> None:
    """Makes the failed callback of a message, outbound or inbound, pending again."""
    entry = desk.entry("callback.replay", ids.to_hex(key, tail), {"account": account})
    if await desk.store.noting(lambda count: entry if count else None).notices.replay([key], desk.now) == 0:
        raise Fault(CONFLICT, "The callback of this message has not failed, so it cannot be retried.")


async def drop(desk: Desk, messages: list[str] | None, host: str | None, account: str | None = None) -> dict[str, int]:
    """Stops retrying callbacks of messages, or all of a failing receiver; with `account` only its callbacks. A callback
    that is being posted now continues.

    Up to BATCH callbacks are dropped in a transaction, each with an entry in the audit log.
    """
    if host is not None and messages is not None:
        raise invalid("host", "Give either messages or a receiver.")
    if host is not None:
        return {"count": await _drop_host(desk, host, account)}
    if messages is None:
        raise missing("messages")
    keys = [parsed[0] for each in messages if (parsed := ids.parse(each)) is not None]
    if len(keys) != len(messages):
        raise invalid("messages", "The list has a word that is not an id of a message.")
    return {"count": await _change(desk, "drop", keys)}


async def _drop_host(desk: Desk, host: str, account: str | None) -> int:
    """Drops callbacks of a receiver in the order of their due times. A callback that fails again meanwhile is due
    later, and is found there. Raises Fault (404) for a receiver without a failed try."""
    owner = None if account is None else await account_id(desk.store, account)
    found = dropped = 0
    after: tuple[int, int] | None = None
    while owed := await desk.store.notices.owed(READ_AT_ONCE, after, owner):
        keys = [each.key for each in owed if _failing_host(each) == host]
        found += len(keys)
        dropped += await _change(desk, "drop", keys, host)
        after = owed[-1].due or 0, owed[-1].key
    if not found:
        raise Fault(NOT_FOUND, f"There is no failing receiver {host}.", "host")
    return dropped


async def _change(desk: Desk, change: Literal["drop", "replay"], keys: Sequence[int], target: str = "") -> int:
    """Changes callbacks, BATCH in a transaction. Returns how many were changed. The audit log names the `target`, or
    else their number."""
    changed = 0
    for start in range(0, len(keys), BATCH):
        batch = keys[start : start + BATCH]
        audited = _counting(desk, f"callback.{change}", target or counted(len(batch), "message"))
        run = audited.notices.drop if change == "drop" else audited.notices.replay
        changed += await run(batch, desk.now)
    return changed


def _counting(desk: Desk, action: str, target: str) -> Store:
    """Returns the store for a change of callbacks. Its entry in the audit log has their number."""
    return desk.store.noting(lambda count: desk.entry(action, target, {"callbacks": str(count)}))


def _row(found: CallbackView, names: dict[int, str]) -> dict[str, Any]:
    return {
        "message": found.message_id,
        "account": names.get(found.account, str(found.account)),
        "url": found.url,
        "attempts": found.attempts,
        "problem": found.problem,
        "due": found.due,
        "ended": None if found.end is None else found.at,
        "code": found.code,
    }


def _failing_host(callback: CallbackView) -> str:
    """Returns the receiver of a callback that failed, for example `hooks.example.net`, or ""."""
    return urlsplit(callback.url).netloc if callback.attempts > 0 else ""


def _by_host(owed: Iterable[CallbackView]) -> list[dict[str, Any]]:
    hosts: dict[str, dict[str, Any]] = {}
    for each in owed:
        name = _failing_host(each)
        if not name:
            continue
        new = {"host": name, "pending": 0, "attempts": 0, "problem": each.problem, "due": each.due}
        host = hosts.setdefault(name, new)
        host["pending"] += 1
        if each.attempts > host["attempts"]:
            host["attempts"], host["problem"] = each.attempts, each.problem
        host["due"] = min(host["due"], each.due)
    return sorted(hosts.values(), key=lambda host: -host["pending"])


_ID = "[0-9a-f]{32}"
_MESSAGE = Field("message", Text(pattern=_ID), "Id of the message.", example="0198c5f2a1b37c4d8e9f001122334455")
_OF_CALLBACK = replace(
    _MESSAGE, meaning="Id of the message; null if it is about a low balance.", nullable=True, empty="(low balance)"
)
_ATTEMPTS = Field("attempts", Whole(), "Tries so far.", title="Tries")
_PROBLEM = Field("problem", Text(), "The last error, for example `connection refused`.", example="connection refused")
_DUE = Field("due", Moment(), "Time of the next try.", title="Next try")
_OF_ACCOUNT = Field("account", Reference("account"), "Only receivers of this account.", None)
_COUNT = (Field("count", Whole(), "Number of callbacks that were changed."),)

CALLBACKS = Resource(
    name="callbacks",
    plural="callbacks",
    summary="Receipts and messages that are pushed to customers",
    more="A callback is retried for a day (setting callbacks.retry_hours), then kept as failed.",
    nothing="There are no such callbacks.",
    key=("message",),
    fields=(
        _OF_CALLBACK,
        Field("account", Reference("account"), "The account that gets it."),
        Field("url", Text(), "The URL that it is posted to.", title="Receiver", example="https://example.com/receipts"),
        _ATTEMPTS,
        _PROBLEM,
        Field("due", _DUE.type, "Time of the next try; null after it failed.", nullable=True),
        Field("ended", Moment(), "When it failed; null while it is pending.", nullable=True),
        Field("code", Whole(), "The last HTTP status; 0: there was no answer."),
    ),
    columns=("message", "account", "url", "attempts", "problem", "due", "ended"),
    scopes=Scopes(Scope.READ_CALLBACKS, Scope.WRITE_CALLBACKS),
    answer_name="Callback",
    operations=(
        Operation(
            "status",
            "GET /callbacks/hosts",
            status,
            "Counts of pending and failed callbacks, and the failing receivers",
            reads=(_OF_ACCOUNT,),
            answers=(
                Field("pending", Whole(), "Callbacks that wait for a try; the count stops at 100,000."),
                Field("failed", Whole(), "Callbacks that are no longer tried; the count stops at 100,000."),
                Field(
                    "hosts",
                    Rows(
                        (
                            Field(
                                "host",
                                Text(),
                                "The receiver, for example `hooks.example.net`.",
                                example="hooks.example.net",
                            ),
                            Field(
                                "pending",
                                Whole(),
                                f"Callbacks that wait for another try, of the next {HOSTS_FROM:,}.",
                            ),
                            _ATTEMPTS,
                            _PROBLEM,
                            _DUE,
                        ),
                        "FailingHost",
                    ),
                    f"Receivers with failed tries among the next {HOSTS_FROM:,} callbacks, most pending first.",
                ),
            ),
            id="failing_hosts",
            answer_name="FailingHosts",
            examples=("callbacks status --json", "callbacks status --account acme"),
        ),
        Operation(
            "list",
            "GET /callbacks",
            find,
            "Pending or failed callbacks",
            reads=(
                Field("state", Choice(("pending", "failed")), "pending: still tried; failed: no longer.", "pending"),
            ),
            answers=Answer.EACH,
            page=PAGE,
            cursor_has_time=True,
            examples=("callbacks list", "callbacks list --state failed --limit 1000 --json"),
        ),
        Operation(
            "replay",
            "POST /callbacks/replay",
            replay,
            "Retry failed callbacks",
            reads=(Field("account", Reference("account"), "The account; null: all accounts.", nullable=True),),
            answers=_COUNT,
            id="replay_callbacks",
            read_name="Replay",
            answer_name="Count",
        ),
        Operation(
            "replay-message",
            "POST /messages/{id:message}/replay-callback",
            replay_message,
            "Retry the failed callback of a message",
            conflicts=True,
            id="replay_callback",
        ),
        Operation(
            "drop",
            "POST /callbacks/drop",
            drop,
            "Stop retrying pending callbacks",
            is_found=True,
            reads=(
                Field(
                    "messages",
                    Many(_MESSAGE, MOST_AT_ONCE),
                    "Ids of the messages.",
                    None,
                ),
                Field("host", Text(), "The failing receiver, instead of messages.", None, example="hooks.example.net"),
                replace(_OF_ACCOUNT, meaning="With a receiver: only callbacks of this account."),
            ),
            answers=_COUNT,
            id="drop_callbacks",
            read_name="Drop",
            answer_name="Count",
            more="They are kept as failed, and can be retried later. With a receiver, all of its callbacks that failed "
            f"are dropped, {BATCH:,} in a transaction. After an interruption, ask again for the rest.",
            examples=("callbacks drop --host hooks.example.net",),
            done="{count} callbacks are no longer tried. To retry them: heliograph callbacks replay",
        ),
    ),
)
