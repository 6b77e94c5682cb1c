"""Callbacks: receipts and inbound messages that are to be pushed to customers, or could not be."""

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

from heliograph.app.ports import Store
from heliograph.app.records import CallbackView, Scope
from heliograph.app.resources.description import Answer, Operation, Page, Resource, Scopes
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.fields import Choice, Field, Many, Moment, Reference, Rows, Text, Whole
from heliograph.domain.display import counted
from heliograph.domain.error import CONFLICT, NOT_FOUND, Fault, invalid, missing
from heliograph.domain.message import ids

PAGE: Final = 1_000

MOST_AT_ONCE: Final = 100_000
"""Messages of one request."""

HOSTS_FROM: Final = 5_000
"""Pending callbacks that the list of failing receivers is made from: those due first."""


async def find(desk: Desk, state: str, after: tuple[int, int] | None, limit: int) -> Page:
    """Returns callbacks that are pending, those due first, or that have failed."""
    if state == "failed":
        found = await desk.store.notices.ended(limit, None if after is None else after[1])
    else:
        found = await desk.store.notices.owed(limit, after)
    names = await desk.account_names()
    last = f"{found[-1].due or 0}-{found[-1].key}" if len(found) == limit else None
    return Page([_row(each, names) for each in found], last)


async def status(desk: Desk) -> dict[str, Any]:
    """Counts callbacks, and returns the receivers that fail."""
    counts = await desk.store.upkeep.counts(desk.now)
    return {"pending": counts.owed, "failed": counts.ended, "hosts": await failing_hosts(desk)}


async def failing_hosts(desk: Desk, most: int = HOSTS_FROM) -> list[dict[str, Any]]:
    """Returns receivers whose callbacks failed at least once, the most pending first, of the first `most` that are
    due. Beside the fields of a receiver a row has the `keys` of its callbacks."""
    return _by_host(await desk.store.notices.owed(most))


async def replay(desk: Desk, account: str | None) -> dict[str, int]:
    """Makes failed callbacks pending again, of an account or of all."""
    owner = None
    if account is not None:
        found = await desk.store.accounts.find(account)
        if found is None:
            raise Fault(NOT_FOUND, f"There is no account {account}.", "account")
        owner = found[0].id
    return {"count": await _counting(desk, "callback.replay", account or "all").notices.replay(owner, None, desk.now)}


async def replay_message(desk: Desk, message: str) -> None:
    """Makes the failed callback of a message pending again."""
    parsed = ids.parse(message)
    trace = None if parsed is None else await desk.store.messages.trace(parsed[0])
    account = None if trace is None else await desk.store.accounts.by_id(trace.message.account)
    if parsed is None or trace is None or account is None or trace.message.tail != parsed[1]:
        raise Fault(NOT_FOUND, "There is no such message.")
    await replay_notice(desk, *parsed, account.name)


async def replay_notice(desk: Desk, key: int, tail: int, account: str) -> None:
    """Makes the failed callback of a message, from a phone or to one, pending again."""
    entry = desk.entry("callback.replay", ids.to_hex(key, tail), {"account": account})
    if await desk.store.noting(lambda count: entry if count else None).notices.replay(None, key, desk.now) == 0:
        raise Fault(CONFLICT, "The callback of this message has not ended without success; nothing to replay.")


async def drop(desk: Desk, messages: list[str] | None, host: str | None) -> dict[str, int]:
    """Stops retrying callbacks. A callback that is being posted at this moment stays."""
    if host is not None:
        keys = next((each["keys"] for each in await failing_hosts(desk) if each["host"] == host), None)
        if keys is None:
            raise Fault(NOT_FOUND, f"No failing receiver is called {host}.", "host")
        target = host
    elif messages is not None:
        keys = [parsed[0] for each in messages if (parsed := ids.parse(each)) is not None]
        if len(keys) != len(messages):
            raise invalid("messages", "The list has a word that is no id of a message.")
        target = counted(len(messages), "message")
    else:
        raise missing("messages")
    return {"count": await _counting(desk, "callback.drop", target).notices.drop(keys, desk.now)}


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


def _by_host(owed: Iterable[CallbackView]) -> list[dict[str, Any]]:
    hosts: dict[str, dict[str, Any]] = {}
    for each in owed:
        if each.attempts == 0 or each.due is None or not each.url:
            continue
        name = urlsplit(each.url).netloc
        new = {"host": name, "pending": 0, "attempts": 0, "problem": each.problem, "due": each.due, "keys": []}
        host = hosts.setdefault(name, new)
        host["pending"] += 1
        host["keys"].append(each.key)
        if each.attempts > host["attempts"]:
            host["attempts"], host["problem"] = each.attempts, each.problem
        host["due"] = min(host["due"], each.due)
    return sorted(hosts.values(), key=lambda host: -host["pending"])


_ID = "[0-9a-f]{32}"
_MESSAGE = Field("message", Text(pattern=_ID), "Id of the message.", example="0198c5f2a1b37c4d8e9f001122334455")
_ATTEMPTS = Field("attempts", Whole(), "Tries so far.", title="Tries")
_PROBLEM = Field("problem", Text(), "The last error, for example `connection refused`.")
_DUE = Field("due", Moment(), "When it is tried next.", title="Next try")
_COUNT = (Field("count", Whole(), "Callbacks that were changed."),)

CALLBACKS = Resource(
    name="callbacks",
    plural="callbacks",
    summary="Receipts pushed to customers",
    more="They are tried for a day (setting callbacks.retry_hours), then kept as failed.",
    nothing="There is none.",
    key=("message",),
    fields=(
        _MESSAGE,
        Field("account", Reference("account"), "The account that gets it."),
        Field("url", Text(), "Where it is posted to.", title="Receiver"),
        _ATTEMPTS,
        _PROBLEM,
        Field("due", _DUE.type, "When it is tried next; null after it failed.", nullable=True),
        Field("ended", Moment(), "When it failed; null while it is pending.", nullable=True),
        Field("code", Whole(), "The last HTTP status; 0 where there was no answer."),
    ),
    columns=("message", "account", "url", "attempts", "problem", "due", "ended"),
    scopes=Scopes(Scope.READ_CALLBACKS, Scope.WRITE_CALLBACKS),
    answer_name="Callback",
    operations=(
        Operation(
            "status",
            "GET",
            "/callbacks/hosts",
            status,
            "Count pending and failed callbacks; name failing receivers",
            answers=(
                Field("pending", Whole(), "Callbacks that wait for a try; the count stops at 100,000."),
                Field("failed", Whole(), "Callbacks that are no longer tried; the count stops at 100,000."),
                Field(
                    "hosts",
                    Rows(
                        (
                            Field("host", Text(), "The receiver, for example `hooks.example.net`."),
                            Field("pending", Whole(), "Callbacks that wait for another try."),
                            _ATTEMPTS,
                            _PROBLEM,
                            _DUE,
                        ),
                        "FailingHost",
                    ),
                    "Receivers that fail, the most pending first.",
                ),
            ),
            id="failing_hosts",
            answer_name="FailingHosts",
            examples=("callbacks status --json",),
        ),
        Operation(
            "list",
            "GET",
            "/callbacks",
            find,
            "Callbacks that are pending, or have failed",
            reads=(Field("state", Choice(("pending", "failed")), "Whether they are still tried.", "pending"),),
            answers=Answer.EACH,
            page=PAGE,
            places=True,
            examples=("callbacks list", "callbacks list --state failed --limit 1000 --json"),
        ),
        Operation(
            "replay",
            "POST",
            "/callbacks/replay",
            replay,
            "Retry failed callbacks",
            reads=(Field("account", Reference("account"), "The account; null means every account.", nullable=True),),
            answers=_COUNT,
            id="replay_callbacks",
            read_name="Replay",
            answer_name="Count",
        ),
        Operation(
            "replay-message",
            "POST",
            "/messages/{id:message}/replay-callback",
            replay_message,
            "Retry its callback",
            arguments=("message",),
            conflicts=True,
            id="replay_callback",
        ),
        Operation(
            "drop",
            "POST",
            "/callbacks/drop",
            drop,
            "Stop retrying pending callbacks",
            reads=(
                Field(
                    "messages",
                    Many(Field("message", Text(pattern=_ID), _MESSAGE.meaning), MOST_AT_ONCE),
                    "The messages.",
                    None,
                ),
                Field("host", Text(), "The failing receiver, in place of messages.", None),
            ),
            answers=_COUNT,
            id="drop_callbacks",
            read_name="Drop",
            answer_name="Count",
            more="They are kept as failed, and can be retried later.",
            examples=("callbacks drop --host hooks.example.net",),
            done="{count} callbacks are not tried again until you replay them.",
        ),
    ),
)
