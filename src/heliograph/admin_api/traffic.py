"""Messages, callbacks, and how much waits."""

from msgspec import UNSET, Struct

from heliograph.admin_api import shapes, views
from heliograph.admin_api.call import Call, cursor
from heliograph.admin_api.views import maybe_moment, moment
from heliograph.app.admin.oversight import CallbackView, MessageStatus, Search
from heliograph.domain import ids
from heliograph.domain.display import counted
from heliograph.domain.error import NOT_FOUND, Fault, invalid, missing

PAGE = 100
CALLBACKS = 1_000

OWED, ENDED = "owed", "ended"


async def _account_names(call: Call) -> dict[int, str]:
    return {account.id: account.name for account, _ in await call.administration.accounts()}


async def search(call: Call) -> Struct:
    query = call.query
    wanted = Search(start=call.moment("start"), end=call.moment("end"), before=call.place())
    wanted.limit = call.number("limit", 50, PAGE)
    if query.get("account"):
        wanted.account = (await call.administration.account(query["account"])).account.id
    if "standing" in query:
        if query["standing"] not in tuple(MessageStatus):
            raise invalid("standing", f"The standing is one of {', '.join(MessageStatus)}.")
        wanted.standing = MessageStatus(query["standing"])
    number = query.get("number", "").removeprefix("+")
    if number and not (number.isascii() and number.isdigit() and len(number) <= 15):
        raise invalid("number", "The number is the digits of a destination, or its beginning.")
    store = call.oversight.store
    more, reached = None, None
    if query.get("reference"):
        hits = await store.referenced(query["reference"], wanted.account, wanted.limit)
    else:
        wanted.number = number
        found = await store.search(wanted)
        hits, more, reached = found.hits, found.more, found.reached
    accounts, connectors = await _account_names(call), await call.oversight.connector_names()
    return shapes.Messages(
        [views.message(hit, accounts, connectors) for hit in hits], cursor(more), maybe_moment(reached)
    )


async def get_message(call: Call) -> Struct:
    return views.message_in_full(await call.oversight.look(*call.message_id()))


async def cancel(call: Call) -> Struct:
    await call.oversight.cancel(call.actor, *call.message_id())
    return shapes.Done()


async def reschedule(call: Call) -> Struct:
    await call.oversight.reschedule(call.actor, *call.message_id(), call.body.time)
    return shapes.Done()


async def replay_callback(call: Call) -> Struct:
    await call.oversight.replay_callback(call.actor, *call.message_id())
    return shapes.Done()


# --- callbacks


def _callback(view: CallbackView, accounts: dict[int, str]) -> shapes.Callback:
    return shapes.Callback(
        message=ids.to_hex(view.key, view.tail),
        account=accounts.get(view.account, str(view.account)),
        url=view.url,
        attempts=view.attempts,
        problem=view.problem,
        due=maybe_moment(view.due),
        ended=None if view.end is None else moment(view.at),
        code=view.code,
    )


async def list_callbacks(call: Call) -> Struct:
    state = call.query.get("state", OWED)
    limit = call.number("limit", PAGE, CALLBACKS)
    store = call.oversight.store
    more = None
    if state == OWED:
        found = await store.owed_callbacks(limit, call.place())
        if len(found) == limit and found[-1].due is not None:
            more = (found[-1].due, found[-1].key)
    elif state == ENDED:
        place = call.place()
        found = await store.ended_callbacks(limit, None if place is None else place[1])
        if len(found) == limit:
            more = (0, found[-1].key)
    else:
        raise invalid("state", f"The state is {OWED} or {ENDED}.")
    accounts = await _account_names(call)
    return shapes.Callbacks([_callback(each, accounts) for each in found], cursor(more))


async def failing_hosts(call: Call) -> Struct:
    hosts = await call.oversight.failing_hosts()
    return shapes.FailingHosts(
        [shapes.FailingHost(each.host, each.owed, each.attempts, each.problem, moment(each.due)) for each in hosts]
    )


async def replay_callbacks(call: Call) -> Struct:
    return shapes.Count(await call.oversight.replay_account(call.actor, call.body.account))


async def drop_callbacks(call: Call) -> Struct:
    body: shapes.Drop = call.body
    if body.host is not UNSET:
        host = next((each for each in await call.oversight.failing_hosts() if each.host == body.host), None)
        if host is None:
            raise Fault(NOT_FOUND, f"No failing receiver is called {body.host}.", "host")
        return shapes.Count(await call.oversight.drop_callbacks(call.actor, host.keys, host.host))
    if body.messages is UNSET:
        raise missing("messages")
    parsed = [ids.parse(text) for text in body.messages]
    keys = [each[0] for each in parsed if each is not None]
    if len(keys) != len(parsed):
        raise invalid("messages", "The list has a word that is no id of a message.")
    return shapes.Count(await call.oversight.drop_callbacks(call.actor, keys, counted(len(keys), "message")))


# --- how much waits


async def overview(call: Call) -> Struct:
    backlog = await call.oversight.store.standing(call.oversight.now)
    return shapes.Overview(
        scheduled=backlog.scheduled,
        waiting=backlog.waiting,
        deferred=sum(backlog.deferred.values()),
        awaiting_receipts=backlog.awaiting,
        callbacks_owed=backlog.owed,
        callbacks_ended=backlog.ended,
        orphans=backlog.orphans,
        oldest_waiting=maybe_moment(backlog.oldest),
        links={connector.name: state["summary"] for connector, state in call.desk.links()},
    )
