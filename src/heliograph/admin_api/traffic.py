"""Messages, callbacks, and how much waits."""

from msgspec import UNSET, Struct

from heliograph.admin_api import serialize, shapes
from heliograph.admin_api.request import AdminRequest, cursor
from heliograph.admin_api.serialize import maybe_moment
from heliograph.app.records import AuditQuery, CallbackView, Search, SearchPage
from heliograph.app.resources.desk import account_id
from heliograph.domain.calendar import format_utc
from heliograph.domain.display import counted
from heliograph.domain.error import NOT_FOUND, Fault, invalid, missing
from heliograph.domain.message import ids
from heliograph.domain.message.status import MessageStatus

PAGE = 100

AUDIT_PAGE = 1_000
"""Entries of the audit log at once."""
CALLBACKS = 1_000

PENDING, FAILED = "pending", "failed"


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


async def replay_callback(request: AdminRequest) -> Struct:
    await request.views.replay_callback(*request.message_id())
    return shapes.DoneShape()


# --- callbacks


def _callback(view: CallbackView, accounts: dict[int, str]) -> shapes.Callback:
    return shapes.Callback(
        message=view.message_id,
        account=accounts.get(view.account, str(view.account)),
        url=view.url,
        attempts=view.attempts,
        problem=view.problem,
        due=maybe_moment(view.due),
        ended=None if view.end is None else format_utc(view.at),
        code=view.code,
    )


async def list_callbacks(request: AdminRequest) -> Struct:
    state = request.query.get("state", PENDING)
    limit = request.number("limit", PAGE, CALLBACKS)
    if state not in (PENDING, FAILED):
        raise invalid("state", f"The state is {PENDING} or {FAILED}.")
    found, more = await request.views.callbacks(limit, request.place(), ended=state == FAILED)
    accounts = await request.views.account_names()
    return shapes.CallbacksShape([_callback(each, accounts) for each in found], cursor(more))


async def failing_hosts(request: AdminRequest) -> Struct:
    hosts = await request.views.failing_hosts()
    return shapes.FailingHosts(
        [
            shapes.FailingHostShape(each.host, each.owed, each.attempts, each.problem, format_utc(each.due))
            for each in hosts
        ]
    )


async def replay_callbacks(request: AdminRequest) -> Struct:
    return shapes.Count(await request.views.replay_account(request.body.account))


async def drop_callbacks(request: AdminRequest) -> Struct:
    body: shapes.Drop = request.body
    if body.host is not UNSET:
        count = await request.views.drop_host(body.host)
        if count is None:
            raise Fault(NOT_FOUND, f"No failing receiver is called {body.host}.", "host")
        return shapes.Count(count)
    if body.messages is UNSET:
        raise missing("messages")
    parsed = [ids.parse(text) for text in body.messages]
    keys = [each[0] for each in parsed if each is not None]
    if len(keys) != len(parsed):
        raise invalid("messages", "The list has a word that is no id of a message.")
    return shapes.Count(await request.views.drop_callbacks(keys, counted(len(keys), "message")))


# --- how much waits


async def overview(request: AdminRequest) -> Struct:
    backlog = await request.manage.backlog()
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


async def audit(request: AdminRequest) -> Struct:
    limit = request.number("limit", 50, AUDIT_PAGE)
    query = AuditQuery(
        limit,
        request.key("cursor"),
        request.query.get("actor", ""),
        request.query.get("action", ""),
        request.query.get("target", ""),
    )
    entries = await request.manage.audit_log(query)
    more = str(entries[-1].key) if len(entries) == limit else None
    return shapes.Audit(
        [serialize.audit_entry(each) for each in entries],
        more,
    )
