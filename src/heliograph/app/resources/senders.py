"""Senders: sender IDs that accounts registered, such as `ACME`, and whether they are approved."""

from typing import Any, Final

from heliograph.app.configuration import Missing, RegisteredSender
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Preset, Resource, Scopes
from heliograph.app.resources.desk import Desk, NoSuch, account_id
from heliograph.app.resources.fields import Choice, Field, Many, Moment, Reference, Text, Whole, note
from heliograph.domain.limits.gate import SenderState
from heliograph.domain.numbers import phone

MOST_AT_ONCE: Final = 1_000
"""The most senders of a request."""


def _sender(text: str) -> str:
    problem = phone.sender_problem(text, msisdn_allowed=True)
    if problem is not None:
        raise ValueError(f"{text!r}: {problem}")
    return text


async def find(desk: Desk, account: str | None = None, state: SenderState | None = None) -> list[dict[str, Any]]:
    """Returns the registered senders that match the filters, sorted by account and sender."""
    owner = None if account is None else await account_id(desk.store, account)
    names = await desk.account_names()
    found = [
        {
            "account": names[each.account],
            "sender": each.sender,
            "state": each.state,
            "since": each.since,
            "note": each.note,
        }
        for each in (await desk.store.network.tables(large=False)).senders
        if owner in (None, each.account) and state in (None, each.state) and each.account in names
    ]
    return sorted(found, key=lambda row: (row["account"], row["sender"]))


async def put(desk: Desk, account: str, senders: list[str], state: SenderState, note: str) -> dict[str, int]:
    """Registers senders in a state, or changes the state of registered senders; all or none.

    As soon as an account has a registered sender, it may use approved senders only.
    """
    owner, wanted = await account_id(desk.store, account), list(dict.fromkeys(senders))
    rows = [RegisteredSender(owner, sender, state, desk.now, note) for sender in wanted]
    details = {"senders": ", ".join(wanted), "state": state.value, "note": note}
    new = await desk.audited("sender.set", account, details).senders.put(rows)
    return {"new": new, "changed": len(rows) - new}


async def remove(desk: Desk, account: str, sender: str) -> None:
    """Takes a sender out of the registry. With an empty registry an account may use any sender again."""
    owner = await account_id(desk.store, account)
    try:
        await desk.audited("sender.remove", account, {"sender": sender}).senders.remove(owner, sender)
    except Missing:
        raise NoSuch("sender", f"{sender} of {account}") from None


_ACCOUNT = Field("account", Reference("account"), "The account that wants to use it.")
_SENDER = Field("sender", Text(_sender), "The sender ID, as in the field `from` of requests.", example="ACME")
_STATE = Field("state", Choice(SenderState), "Whether the account may use it.", SenderState.PENDING)
_NOTE = Field(
    "note", Text(note), "The reason, for administrators; customers do not see it.", "", example="contract of 2027"
)

SENDERS = Resource(
    name="sender",
    plural="senders",
    summary="Sender IDs of accounts, and whether they are approved",
    more="An account with registered senders may use only the approved ones. Requests with other senders get 403 with "
    "the state. A running gateway applies a change within five seconds.",
    nothing="No sender is registered: an account without a registry may use any sender that its settings allow. "
    "Add one: heliograph sender add SENDER --account NAME",
    key=("account", "sender"),
    fields=(_ACCOUNT, _SENDER, _STATE, Field("since", Moment(), "When it got this state."), _NOTE),
    scopes=Scopes(Scope.READ_ACCOUNTS, Scope.WRITE_LIMITS),
    operations=(
        Operation(
            "list",
            "GET /senders",
            find,
            "Registered senders of an account, or of all accounts",
            answers=Answer.EACH,
            reads=(
                Field("account", Reference("account"), "Only senders of this account.", None),
                Field("state", Choice(SenderState), "Only senders in this state.", None),
            ),
            examples=("sender list --state pending", "sender list --account acme"),
        ),
        Operation(
            "add",
            "PUT /accounts/{name:account}/senders",
            put,
            "Register senders, or change their state, all or none",
            reads=(Field("senders", Many(_SENDER, MOST_AT_ONCE), "Sender IDs."), _STATE, _NOTE),
            answers=(
                Field("new", Whole(), "Senders that were not registered before."),
                Field("changed", Whole(), "Senders that were registered already."),
            ),
            id="put_senders",
            read_name="NewSenders",
            answer_name="PutSenders",
            arguments=("senders",),
            examples=(
                "sender add ACME AcmeNews --account acme --state approved",
                "sender add PayPal --account acme --note 'asked on 12 May'",
            ),
            done="{senders} of {account}: {state}. {new} new, {changed} registered already.",
            label="Register",
        ),
        Operation(
            "remove",
            "DELETE /accounts/{name:account}/senders/{sender}",
            remove,
            "Remove a sender from an account's registry",
            arguments=("sender",),
            more="With an empty registry an account may use any sender again.",
            examples=("sender remove PayPal --account acme",),
            done="The sender {sender} is no longer registered for {account}.",
            label="Remove",
            confirm="Remove {sender}? An account without any registered sender may use any sender again.",
        ),
    ),
    presets=(
        Preset(
            "approve",
            "add",
            {"state": "approved"},
            "Approve senders of an account",
            ("sender approve ACME --account acme",),
            "Approve",
        ),
        Preset(
            "refuse",
            "add",
            {"state": "refused"},
            "Refuse senders of an account",
            ("sender refuse PayPal --account acme --note 'not theirs'",),
            "Refuse",
        ),
    ),
)
