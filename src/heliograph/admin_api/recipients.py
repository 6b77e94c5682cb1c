"""One recipient's data, and its erasure."""

from dataclasses import asdict

from msgspec import Struct, structs

from heliograph.admin_api import recipient_shapes as shapes
from heliograph.admin_api import serialize
from heliograph.admin_api.drawn import shown
from heliograph.admin_api.request import AdminRequest
from heliograph.app.admin.history import history
from heliograph.app.admin.recipients import ErasureReport, RecipientData
from heliograph.app.records import Hit, MessageRecord
from heliograph.app.resources.inbound import INBOUND, row
from heliograph.domain.calendar import format_utc
from heliograph.domain.message.receipt import Delivery


async def erase(request: AdminRequest) -> Struct:
    order = request.body
    report = await request.recipients.erase(order.number, order.account or None, dry_run=order.dry_run)
    return erasure(report)


async def export(request: AdminRequest) -> Struct:
    order = request.body
    return recipient(await request.recipients.export(order.number, order.account or None))


def erasure(report: ErasureReport) -> shapes.ErasureShape:
    """Converts the report of an erasure."""
    return shapes.ErasureShape(
        report.number,
        report.dry_run,
        [shapes.ErasureLineShape(**asdict(line)) for line in report.lines],
        [shapes.KeptShape(what, why) for what, why in report.kept],
    )


def recipient(data: RecipientData) -> shapes.RecipientShape:
    """Converts everything that is kept of a phone."""
    names = data.connectors
    return shapes.RecipientShape(
        data.number,
        format_utc(data.at),
        data.complete,
        [_message(each, data.accounts) for each in data.messages],
        [shown(INBOUND, INBOUND.operation("show"), row(each, data.accounts, names)) for each in data.inbound],
        [
            shapes.OptedOut(data.accounts.get(account, str(account)), format_utc(since), source)
            for account, since, source in data.traces.suppressions
        ],
        [
            shapes.UnmatchedReceiptShape(names.get(of, str(of)), id_, Delivery(state).name, err, format_utc(at))
            for of, id_, state, err, at in data.traces.unmatched
        ],
        data.traces.parts,
    )


def _message(record: MessageRecord, accounts: dict[int, str]) -> shapes.ExportedMessage:
    final = record.final
    plain = serialize.message(
        Hit(record.message, None if final is None else final[0], "" if final is None else final[1], record.submitted),
        accounts,
        record.connectors,
    )
    return shapes.ExportedMessage(
        **structs.asdict(plain),
        content=record.message.content,
        callback_url=record.message.callback_url,
        history=[serialize.event(each) for each in history(record)],
    )
