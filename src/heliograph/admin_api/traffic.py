"""Messages, the way of a number, how much waits, and the end of the audit log."""

from msgspec import Struct

from heliograph.admin_api import serialize, shapes
from heliograph.admin_api.request import AdminRequest, cursor
from heliograph.admin_api.serialize import maybe_moment
from heliograph.app.records import Search, SearchPage
from heliograph.app.resources.desk import account_id
from heliograph.domain.error import invalid, missing
from heliograph.domain.message.status import MessageStatus

PAGE = 100


async def search(request: AdminRequest) -> Struct:
    query = request.query
    wanted = Search(start=request.moment("start"), end=request.moment("end"), before=request.place())
    wanted.limit = request.number("limit", 50, PAGE)
    if query.get("account"):
        wanted.account = await account_id(request.desk.store, query["account"])
    if "status" in query:
        if query["status"] not in tuple(MessageStatus):
            raise invalid("status", f"The status is one of {', '.join(MessageStatus)}.")
        wanted.status = MessageStatus(query["status"])
    if query.get("held", "false") not in ("true", "false"):
        raise invalid("held", "The parameter held is true or false.")
    wanted.held = query.get("held") == "true"
    if query.get("connector"):
        wanted.connector = await request.views.connector_id(query["connector"])
    wanted.error, wanted.sender, wanted.country = (query.get(name, "") for name in ("error", "sender", "country"))
    number = query.get("number", "").removeprefix("+")
    if number and not (number.isascii() and number.isdigit() and len(number) <= 15):
        raise invalid("number", "The number is the digits of a destination, or its beginning.")
    views = request.views
    if query.get("reference"):
        found = SearchPage(await views.referenced(query["reference"], wanted, wanted.limit))
    else:
        wanted.number = number
        found = await views.search(wanted)
    accounts, connectors = await views.account_names(), await views.connector_names()
    return shapes.MessagesShape(
        [serialize.message(hit, accounts, connectors) for hit in found.hits],
        cursor(found.more),
        maybe_moment(found.reached),
    )


async def get_message(request: AdminRequest) -> Struct:
    return serialize.message_in_full(await request.views.look(*request.message_id()))


async def cancel(request: AdminRequest) -> Struct:
    await request.views.cancel(*request.message_id())
    return shapes.DoneShape()


async def reschedule(request: AdminRequest) -> Struct:
    await request.views.reschedule(*request.message_id(), request.body.time)
    return shapes.DoneShape()


async def decide(request: AdminRequest) -> Struct:
    for name in ("number", "account"):
        if not request.query.get(name):
            raise missing(name)
    return serialize.decision(await request.views.decide(request.query["number"], request.query["account"]))


# --- how much waits


async def overview(request: AdminRequest) -> Struct:
    backlog = await request.desk.backlog()
    return shapes.Overview(
        scheduled=backlog.scheduled,
        waiting=backlog.waiting,
        deferred=sum(backlog.deferred.values()),
        awaiting_receipts=backlog.awaiting,
        callbacks_pending=backlog.owed,
        callbacks_failed=backlog.ended,
        unmatched_receipts=backlog.orphans,
        oldest_waiting=maybe_moment(backlog.oldest),
        links={connector.name: state.summary for connector, state in request.services.carrier_states()},
    )


async def audit_head(request: AdminRequest) -> Struct:
    return shapes.AuditHeadShape(**(await request.services.audit_proof.head()).as_object())
