"""The stored data of a phone: export, and erasure with a report."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Final

from heliograph.app.kept_data import ErasureStep
from heliograph.app.records import Scope
from heliograph.app.resources import inbound, messages
from heliograph.app.resources.description import Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, account_id
from heliograph.app.resources.fields import Field, Flag, Moment, Reference, Rows, Text, Whole
from heliograph.app.resources.history import history
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.suppression import parse_number
from heliograph.domain.numbers import phone

BATCH: Final = 100
"""Messages that are erased in a transaction."""

MOST_EXPORTED: Final = 10_000
"""The most messages of an export. It has the newest messages."""

KEPT: Final = (
    ("ledger", "amounts, times and ids of messages stay for accounting; the ledger has no numbers and no texts"),
    ("messages", "their ids, times, states, prices and parts stay until their rows are deleted (retain_days)"),
    ("suppressions", "a keyed digest of the number stays, so that a phone that opted out gets no more messages"),
    ("audit log", "the first three and last two digits of phones stay, and values of settings and notes"),
    ("other texts", "messages to other phones may have this number in their text; they are not searched"),
    ("settings", "numbers, prefixes, senders and templates in settings, references and notes are not searched"),
    ("logs", "logs with complete numbers (log.sensitive) and exported traces are not changed"),
    ("unused octets", "the store's file may have copies in unused parts of its pages: heliograph compact removes them"),
    ("backups", "earlier backups are not changed, nor PostgreSQL's log before it is recycled"),
)
"""Data that every erasure leaves, each with its reason."""

_WAL: Final = ("write-ahead log", "another process was reading: the log keeps older pages for a while")


async def erase(desk: Desk, number: str, account: str, dry_run: bool) -> dict[str, Any]:
    """Erases a number and the texts of its messages, of an account or of all accounts.

    The audit log has the masked number, such as `491*******67`.
    """
    owner = await account_id(desk.store, account) if account else None
    traces = await desk.store.recipients.traces(number, owner)
    if not dry_run:
        found = {"messages": str(len(traces.messages)), "inbound": str(len(traces.inbound))}
        audited = desk.audited("recipient.erase", account or "all accounts", {"number": phone.mask(number), **found})
        await audited.recipients.forget(number, owner)

    async def step(of: int, keys: list[int]) -> ErasureStep:
        recipients = desk.store.recipients
        return await (recipients.judge(of, keys) if dry_run else recipients.erase(of, keys, desk.now))

    opted_out, unmatched = len(traces.suppressions), len(traces.unmatched)
    later = "they are joined to a message within ten minutes; erase again afterwards"
    lines = [
        await _each("messages to it", traces.messages, step),
        await _each("messages from it", [(of, key) for of, key, _ in traces.inbound], step),
        _line("suppressions", opted_out, opted_out, note="the phone stays suppressed"),
        _line("receipts that match no message", unmatched, unmatched),
        _line("parts of incomplete messages from it", traces.parts, 0, left=traces.parts, note=later),
    ]
    emptied = dry_run or await desk.store.retention.scrub()
    kept = KEPT if emptied else (_WAL, *KEPT)
    return {
        "number": phone.mask(number),
        "dry_run": dry_run,
        "lines": lines,
        "kept": [{"what": what, "why": why} for what, why in kept],
    }


async def export(desk: Desk, number: str, account: str) -> dict[str, Any]:
    """Returns all stored data of a number, of an account or of all accounts. The audit log records the export."""
    owner = await account_id(desk.store, account) if account else None
    await desk.note("recipient.export", account or "all accounts", {"number": phone.mask(number)})
    store = desk.store
    traces = await store.recipients.traces(number, owner)
    sent = sorted((key for _, key in traces.messages), reverse=True)[:MOST_EXPORTED]
    came = sorted(((key, tail) for _, key, tail in traces.inbound), reverse=True)[:MOST_EXPORTED]
    accounts, connectors = await desk.account_names(), await desk.connector_names()
    # each row is made as it is read, so that the event loop serves others in between
    sent_rows = [
        messages.full_row(traced, accounts, traced.connectors, history(traced))
        for key in sent
        if (traced := await store.messages.trace(key)) is not None
    ]
    received_rows = [
        inbound.row(received, accounts, connectors)
        for key, tail in came
        if (received := await store.inbound.show(key, tail)) is not None
    ]
    return {
        "number": number,
        "time": desk.now,
        "complete": len(traces.messages) <= MOST_EXPORTED and len(traces.inbound) <= MOST_EXPORTED,
        "messages": sent_rows,
        "inbound": received_rows,
        "suppressions": [
            {"account": accounts.get(of, str(of)), "since": since, "source": source}
            for of, since, source in traces.suppressions
        ],
        "unmatched_receipts": [
            {
                "connector": connectors.get(of, str(of)),
                "operator_id": id_,
                "delivery": Delivery(state).name,
                "err": err,
                "time": at,
            }
            for of, id_, state, err, at in traces.unmatched
        ],
        "waiting_parts": traces.parts,
    }


async def _each(
    what: str, found: Sequence[tuple[int, int]], step: Callable[[int, list[int]], Awaitable[ErasureStep]]
) -> dict[str, Any]:
    cancelled = erased = left = 0
    for account, keys in _batches(found):
        done = await step(account, keys)
        cancelled, erased, left = cancelled + done.cancelled, erased + done.erased, left + done.left
    note = "in flight, or with a pending callback: the gateway erases them afterwards" if left else ""
    return _line(what, len(found), erased, cancelled, left, note)


def _batches(found: Sequence[tuple[int, int]]) -> Iterator[tuple[int, list[int]]]:
    """Groups keys by account, BATCH at most."""
    by_account: dict[int, list[int]] = {}
    for account, key in found:
        by_account.setdefault(account, []).append(key)
    for account, keys in sorted(by_account.items()):
        for at in range(0, len(keys), BATCH):
            yield account, keys[at : at + BATCH]


def _line(what: str, found: int, erased: int, cancelled: int = 0, left: int = 0, note: str = "") -> dict[str, Any]:
    note = note if found else ""
    return {"what": what, "found": found, "erased": erased, "cancelled": cancelled, "left": left, "note": note}


_ORDER = (
    Field("number", Text(parse_number), "The phone: 7 to 15 digits with country code.", example="491701234567"),
    Field(
        "account",
        Reference("account", optional=True),
        "Only data of this account; empty: all accounts.",
        "",
        example="acme",
    ),
)
_LINE = (
    Field("what", Text(), "A kind of data, for example `messages to it`.", example="messages to it"),
    Field("found", Whole(), "Number of rows found."),
    Field("erased", Whole(), "Number of rows that were erased, or would be."),
    Field("cancelled", Whole(), "Number of erased messages that were waiting, and are cancelled and refunded."),
    Field("left", Whole(), "Number of rows that are erased later, because they are in use."),
    Field("note", Text(), "The reason, or the next step.", example="Delete older backups."),
)
_KEPT = (
    Field("what", Text(), "A kind of data that stays.", example="messages to it"),
    Field("why", Text(), "The reason.", example="The ledger has no numbers."),
)
_OPTED_OUT = (
    Field("account", Text(), "An account that must not send to the phone.", example="acme"),
    Field("since", Moment(), "When the phone was suppressed."),
    Field("source", Text(), "How the phone opted out.", example="message"),
)
_RECEIPT = (
    Field("connector", Text(), "The connector that it came from.", example="op1"),
    Field("operator_id", Text(), "The operator's id.", example="1f3a70"),
    Field("delivery", Text(), "The state.", example="DELIVRD"),
    Field("err", Text(), "The operator's code.", example="000"),
    Field("time", Moment(), "When it arrived."),
)

RECIPIENTS = Resource(
    name="recipient",
    plural="recipients",
    summary="All stored data of a phone, to export or to erase",
    more="",
    nothing="No data are stored.",
    key=("number",),
    fields=_ORDER,
    scopes=Scopes(Scope.EXPORT, Scope.ERASE),
    operations=(
        Operation(
            "erase",
            "POST /recipients/erase",
            erase,
            "Erase the stored data of a phone, with a report",
            reads=(*_ORDER, Field("dry_run", Flag(), "Only report, without erasing.", False)),
            answers=(
                Field("number", Text(), "The masked number.", example="4917...567"),
                Field("dry_run", Flag(), "Whether this is only a report."),
                Field("lines", Rows(_LINE, "ErasureLine"), "A line for each kind of data."),
                Field("kept", Rows(_KEPT, "Kept"), "Data that stay, with the reasons."),
            ),
            id="erase",
            read_name="ErasureOrder",
            answer_name="Erasure",
        ),
        Operation(
            "export",
            "POST /recipients/export",
            export,
            "All stored data of a phone",
            reads=_ORDER,
            answers=(
                Field("number", Text(), "The phone.", example="491701234567"),
                Field("time", Moment(), "Time of the export."),
                Field("complete", Flag(), "False if there are more than 10,000 messages of a kind."),
                Field("messages", Rows(messages.EXPORTED, "ExportedMessage"), "Messages to it, newest first."),
                Field("inbound", Rows(inbound.INBOUND.fields, "Inbound"), "Messages from it, newest first."),
                Field("suppressions", Rows(_OPTED_OUT, "OptedOut"), "Accounts that must not send to it."),
                Field("unmatched_receipts", Rows(_RECEIPT, "UnmatchedReceipt"), "Receipts that match no message."),
                Field("waiting_parts", Whole(), "Parts of incomplete messages from it."),
            ),
            scope=Scope.EXPORT,
            id="export",
            is_long=True,
            read_name="RecipientOrder",
            answer_name="Recipient",
        ),
    ),
)
"""`heliograph erase` and `heliograph export-recipient` are its commands."""
