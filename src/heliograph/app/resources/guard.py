"""Holds of the pumping guard: traffic to a prefix that waits until a person releases or refunds it."""

from collections.abc import Mapping
from typing import Any, Final

from heliograph.app.configuration import Missing
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, NoSuch, account_id
from heliograph.app.resources.fields import Credits, Field, Moment, Reference, Text, Whole
from heliograph.domain.display import counted

COUNTED: Final = 100_000
"""Messages. The count of a hold in lists stops here, because counting reads every row."""

BATCH: Final = 1_000
"""Messages that are refunded, or made due, in a transaction."""


async def find(desk: Desk) -> list[dict[str, Any]]:
    """Returns all holds, by account and prefix."""
    names = await desk.account_names()
    found = [
        {
            "account": names.get(each.hold.account, str(each.hold.account)),
            "prefix": each.hold.prefix,
            "since": each.hold.since,
            "why": each.hold.why,
            "messages": each.messages,
            "price": each.price,
        }
        for each in await desk.store.guard.holds(COUNTED)
    ]
    return sorted(found, key=lambda row: (row["account"], row["prefix"]))


async def release(desk: Desk, account: str, prefix: str) -> dict[str, int]:
    """Ends a hold. Its messages are sent, and the prefix is not held again for a day."""
    owner = await account_id(desk.store, account)
    try:
        audited = desk.audited("guard.release", account, {"prefix": prefix})
        await audited.guard.release(owner, prefix, desk.now)
    except Missing:
        raise NoSuch("hold", f"of {account} to {prefix}") from None
    released = 0
    while (due := await desk.store.guard.let_go(desk.now, BATCH)) > 0:
        released += due
    return {"messages": released}


async def refund(desk: Desk, account: str, prefix: str) -> dict[str, int]:
    """Cancels and refunds the messages of a hold. New messages to the prefix stay held."""
    owner = await account_id(desk.store, account)
    await desk.note("guard.refund", account, {"prefix": prefix})
    refunded = 0
    try:
        while (some := await desk.store.guard.refund(owner, prefix, desk.now, BATCH)) > 0:
            refunded += some
    except Missing:
        raise NoSuch("hold", f"of {account} to {prefix}") from None
    return {"messages": refunded}


def _format_count(given: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    return f"{counted(answer['messages'], 'message')} of {given['account']} to {given['prefix']}"


_ACCOUNT = Field("account", Reference("account"), "The account.")
_PREFIX = Field("prefix", Text(), "First digits of the numbers, for example 49170.", example="49170")
_RANGE = (_ACCOUNT, _PREFIX)

GUARD = Resource(
    name="guard",
    plural="holds",
    path="/guard",
    title="Pumping guard",
    summary="Messages that the pumping guard holds as suspected fraud",
    more="The guard holds traffic that looks like SMS pumping: a surge, consecutive numbers, few deliveries. It "
    "watches new accounts, and accounts with guard=on. Held messages are accepted and charged. They wait until you "
    "release or refund them. At the end of their validity they are refunded.",
    nothing="No messages are held.",
    key=("account", "prefix"),
    fields=(
        *_RANGE,
        Field("since", Moment(), "When the hold began."),
        Field("why", Text(), "The figures that caused it."),
        Field("messages", Whole(), f"Messages that wait; counted up to {COUNTED}."),
        Field("price", Credits(), "Credits charged for them.", title="Charged"),
    ),
    columns=("account", "prefix", "since", "messages", "price", "why"),
    answer_name="Hold",
    scopes=Scopes(Scope.READ_MESSAGES, Scope.WRITE_MESSAGES),
    operations=(
        Operation(
            "list",
            "GET /guard",
            find,
            "All holds, with account, prefix, start and reason",
            answers=Answer.EACH,
            examples=("guard list",),
        ),
        Operation(
            "release",
            "POST /guard/release",
            release,
            "Send held messages; the prefix is not held again for a day",
            reads=_RANGE,
            answers=(Field("messages", Whole(), "The number of messages that are sent now."),),
            id="release_hold",
            read_name="HeldRange",
            answer_name="HeldNumber",
            arguments=("prefix",),
            examples=("guard release 49170 --account acme",),
            done=lambda given, answer: f"Released, and sent now: {_format_count(given, answer)}.",
            label="Release",
            confirm="Send the held messages of {account} to {prefix}? The prefix is then not held again for a day.",
        ),
        Operation(
            "refund",
            "POST /guard/refund",
            refund,
            "Cancel and refund held messages; the prefix stays held",
            reads=_RANGE,
            answers=(Field("messages", Whole(), "The number of messages that were cancelled."),),
            id="refund_hold",
            read_name="HeldRange",
            answer_name="RefundedNumber",
            arguments=("prefix",),
            examples=("guard refund 49170 --account acme",),
            done=lambda given, answer: f"Cancelled and refunded: {_format_count(given, answer)}.",
            label="Refund",
            confirm="Cancel and refund the held messages of {account} to {prefix}? New messages stay held until you "
            "release them.",
        ),
    ),
)
