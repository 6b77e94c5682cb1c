"""Suspicions of the pumping guard: an account's traffic to a prefix. In the mode `hold` the messages wait until a
person releases or refunds them; in the mode `observe` they are sent."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from heliograph.app.configuration import Missing
from heliograph.app.records import Scope
from heliograph.app.resources import accounts
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, NoSuch, account_id
from heliograph.app.resources.fields import Choice, Credits, Field, Flag, Moment, Reference, Text, Whole
from heliograph.domain.display import counted
from heliograph.domain.limits.pumping import GuardMode

COUNTED: Final = 100_000
"""Messages. The count of a hold in lists stops here, because counting reads every row."""

BATCH: Final = 1_000
"""Messages that are refunded, or made due, in a transaction."""


HELD: Final = "held"
OBSERVED: Final = "would hold"


async def find(desk: Desk) -> list[dict[str, Any]]:
    """Returns the holds with messages, and the observed suspicions of the last day, by account and prefix."""
    names = await desk.account_names()
    found = [
        {
            "account": names.get(each.hold.account, str(each.hold.account)),
            "prefix": each.hold.prefix,
            "state": OBSERVED if each.hold.is_observed else HELD,
            "since": each.hold.since,
            "why": each.hold.why,
            "messages": each.messages,
            "price": each.price,
        }
        for each in await desk.store.guard.holds(COUNTED)
        if each.is_listed(desk.now)
    ]
    return sorted(found, key=lambda row: (row["account"], row["prefix"]))


async def release(desk: Desk, account: str, prefix: str, trust: bool) -> dict[str, int]:
    """Ends a hold; without a `prefix` all holds of an account. The messages are sent, and their prefixes are not held
    again for a day. `trust` ends the watch over the account."""
    owner = await account_id(desk.store, account)
    if trust:
        await accounts.change(desk, account, guard=GuardMode.OFF)
    audited = desk.audited("guard.release", account, {"prefix": prefix or "all"})
    if not prefix:
        if not await audited.guard.release_all(owner, desk.now) and not trust:
            raise NoSuch("hold", f"of {account}")
    else:
        try:
            await audited.guard.release(owner, prefix, desk.now)
        except Missing:
            raise NoSuch("hold", f"of {account} to {prefix}") from None
    released = 0
    while (due := await desk.store.guard.let_go(desk.now, BATCH)) > 0:
        released += due
    return {"messages": released}


async def release_and_trust(desk: Desk, account: str) -> dict[str, int]:
    return await release(desk, account, "", trust=True)


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
    to = f" to {given['prefix']}" if given.get("prefix") else ""
    return f"{counted(answer['messages'], 'message')} of {given['account']}{to}"


def _format_released(given: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    trusted = f" The guard watches {given['account']} no longer." if given.get("trust") else ""
    return f"Released, and sent now: {_format_count(given, answer)}.{trusted}"


_ACCOUNT = Field("account", Reference("account"), "The account.")
_PREFIX = Field("prefix", Text(), "First digits of the numbers, for example 49170.", example="49170")
_RANGE = (_ACCOUNT, _PREFIX)
_RELEASED = (Field("messages", Whole(), "The number of messages that are sent now."),)

GUARD = Resource(
    name="guard",
    plural="holds",
    path="/guard",
    title="Pumping guard",
    summary="Messages that the pumping guard suspects or holds",
    more="The guard looks for traffic like SMS pumping: a surge, consecutive numbers, few deliveries. It watches new "
    "accounts, and accounts with the setting guard. In the mode `observe` it only tells of such traffic (`would "
    "hold`). In the mode `hold` the messages are accepted and charged, and wait until you release or refund them. At "
    "the end of their validity they are refunded.",
    nothing="Nothing is held or suspected. Watch an account: heliograph account set NAME guard=hold",
    key=("account", "prefix"),
    fields=(
        *_RANGE,
        Field(
            "state",
            Choice((HELD, OBSERVED)),
            "`held`: the messages wait. `would hold`: the guard only observes, and they are sent.",
        ),
        Field("since", Moment(), "When the traffic became suspect."),
        Field("why", Text(), "The figures that caused it.", example="4,600 messages to 49100 this hour, usually 0"),
        Field("messages", Whole(), f"Messages that wait; counted up to {COUNTED}."),
        Field("price", Credits(), "Credits charged for them.", title="Charged"),
    ),
    columns=("account", "prefix", "state", "since", "messages", "price", "why"),
    answer_name="Hold",
    scopes=Scopes(Scope.READ_MESSAGES, Scope.WRITE_MESSAGES),
    operations=(
        Operation(
            "list",
            "GET /guard",
            find,
            "Holds with messages, and suspicions of the last day",
            answers=Answer.EACH,
            examples=("guard list",),
        ),
        Operation(
            "release",
            "POST /guard/release",
            release,
            "Send held messages; their prefix is not held again for a day",
            reads=(
                _ACCOUNT,
                Field("prefix", Text(), "First digits of the numbers; empty: all that is held of the account.", ""),
                Field(
                    "trust",
                    Flag(),
                    "Also sets the account's guard to `off`: the guard then watches it no longer.",
                    False,
                    scope=Scope.WRITE_LIMITS,
                ),
            ),
            answers=_RELEASED,
            id="release_hold",
            read_name="Released",
            answer_name="HeldNumber",
            arguments=("prefix",),
            examples=("guard release 49170 --account acme", "guard release --account acme --trust"),
            done=_format_released,
            label="Release",
            confirm="Send the held messages of {account} to {prefix}? The prefix is then not held again for a day.",
        ),
        Operation(
            "trust",
            "POST /guard/trust",
            release_and_trust,
            "Send all held messages of an account, and watch it no longer",
            reads=(replace(_ACCOUNT, scope=Scope.WRITE_MESSAGES),),
            answers=_RELEASED,
            id="trust_account",
            read_name="TrustedAccount",
            answer_name="HeldNumber",
            is_command=False,
            scope=Scope.WRITE_LIMITS,
            done=lambda given, answer: _format_released({**given, "trust": True}, answer),
            label="Trust account",
            confirm="Send all held messages of {account}? The guard then watches the account no longer.",
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
