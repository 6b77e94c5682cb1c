"""Binds: SMPP clients of customers that are bound now, over all nodes."""

from typing import Any

from heliograph.app.configuration import Missing
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, NoSuch
from heliograph.app.resources.fields import Field, Flag, Moment, Reference, Text, Whole


async def find(desk: Desk, account: str = "") -> list[dict[str, Any]]:
    """Returns the binds of an account, or all binds."""
    names = await desk.account_names()
    return [
        {
            "id": each.id,
            "account": names.get(each.account, "?"),
            "kind": each.state.kind,
            "address": each.state.address,
            "tls": each.state.tls,
            "since": each.state.since,
            "node": f"{each.node:012x}",
            "window": each.state.window,
            "in_flight": each.state.in_flight,
            "submitted": each.state.submitted,
            "refused": each.state.refused,
            "delivered": each.state.delivered,
            "put_off": each.state.put_off,
            "last_error": each.state.last_error,
        }
        for each in await desk.store.binds.all(desk.now)
        if not account or names.get(each.account) == account
    ]


async def drop(desk: Desk, id: int) -> None:
    """Makes the node of a bind unbind it, within five seconds."""
    try:
        await desk.audited("bind.drop", str(id)).binds.drop(id)
    except Missing:
        raise NoSuch("bind", str(id)) from None


_ID = Field("id", Whole(), "The bind's number.", example="498372610235")
_ACCOUNT = Field("account", Reference("account"), "The account that it is bound for.")
_WANTED = Field("account", Reference("account", optional=True), "Only binds of this account.", "", empty="(any)")

BINDS = Resource(
    name="binds",
    plural="binds",
    summary="SMPP clients of customers that are bound now",
    more="Each node reports its binds every five seconds. The setting `smpp_binds` of an account limits its binds, "
    "over all nodes.",
    nothing="No SMPP client is bound. Let an account bind: heliograph account smpp-password NAME",
    key=("id",),
    called="account",
    columns=("id", "account", "kind", "address", "since", "submitted", "refused", "delivered", "last_error"),
    fields=(
        _ID,
        _ACCOUNT,
        Field("kind", Text(), "transmitter, receiver or transceiver.", example="transceiver"),
        Field("address", Text(), "Host and port of the client.", example="192.0.2.1:40112"),
        Field("tls", Flag(), "Whether it uses TLS."),
        Field("since", Moment(), "When it was bound."),
        Field("node", Text(), "The node that it is bound to.", example="1"),
        Field("window", Whole(), "Requests that may wait for their answer, in each direction."),
        Field("in_flight", Whole(), "deliver_sm that wait for the client's answer."),
        Field("submitted", Whole(), "Messages that the client submitted."),
        Field("refused", Whole(), "Messages of the client that were answered with an error."),
        Field("delivered", Whole(), "Receipts and messages that the client accepted."),
        Field("put_off", Whole(), "Receipts and messages that the client answered with an error."),
        Field(
            "last_error",
            Text(),
            "The last error that the client was answered with.",
            empty="-",
            example="ESME_RTHROTTLED",
        ),
    ),
    scopes=Scopes(Scope.READ_ACCOUNTS, Scope.WRITE_ACCOUNTS),
    answer_name="Bind",
    operations=(
        Operation(
            "list",
            "GET /binds",
            find,
            "SMPP clients that are bound now",
            answers=Answer.EACH,
            reads=(_WANTED,),
            examples=("binds list --account acme",),
        ),
        Operation(
            "drop",
            "DELETE /binds/{id}",
            drop,
            "Unbind a client",
            more="The client may bind again at once. To keep it out, replace the account's SMPP password.",
            examples=("binds drop 498372610235",),
            done="The bind {id} ends within five seconds.",
            label="Drop",
            confirm="Unbind this client of {account}? It may bind again at once.",
            id="drop_bind",
        ),
    ),
)
