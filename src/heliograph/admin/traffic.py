"""Messages, callbacks, and how much waits."""

from msgspec import UNSET, Struct

from heliograph.admin import shapes
from heliograph.admin.call import Call, cursor, maybe_moment, moment
from heliograph.admin.network import decision_of
from heliograph.app.operators import CallbackView, Hit, Search, Standing
from heliograph.domain import ids
from heliograph.domain.error import NOT_FOUND, Fault, invalid, missing
from heliograph.domain.money import format_credits

PAGE = 100
CALLBACKS = 1_000

OWED, ENDED = "owed", "ended"


def _message(hit: Hit, accounts: dict[int, str], connectors: dict[int, str]) -> shapes.Message:
    message = hit.message
    return shapes.Message(
        id=ids.to_hex(message.key, message.tail),
        account=accounts.get(message.account, str(message.account)),
        to=message.destination,
        sender=message.sender,
        time=moment(message.time),
        standing=hit.standing.value,
        delivery=None if hit.delivery is None else hit.delivery.name,
        err=hit.err,
        segments=message.segments,
        price=format_credits(message.price),
        connector=connectors.get(message.connector, str(message.connector)),
        reference=message.reference,
    )


async def _account_names(call: Call) -> dict[int, str]:
    return {account.id: account.name for account, _ in await call.administration.accounts()}


async def search(call: Call) -> Struct:
    query = call.query
    wanted = Search(start=call.moment("start"), end=call.moment("end"), before=call.place())
    wanted.limit = call.number("limit", 50, PAGE)
    if query.get("account"):
        wanted.account = (await call.administration.account(query["account"])).account.id
    if "standing" in query:
        if query["standing"] not in tuple(Standing):
            raise invalid("standing", f"The standing is one of {', '.join(Standing)}.")
        wanted.standing = Standing(query["standing"])
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
    return shapes.Messages([_message(hit, accounts, connectors) for hit in hits], cursor(more), maybe_moment(reached))


async def get_message(call: Call) -> Struct:
    sight = await call.oversight.look(*call.message_id())
    trace = sight.trace
    final = trace.final
    plain = _message(
        Hit(trace.message, None if final is None else final[0], "" if final is None else final[1]),
        {sight.account.id: sight.account.name},
        sight.connectors,
    )
    values = {name: getattr(plain, name) for name in plain.__struct_fields__}
    return shapes.MessageInFull(
        **values,
        content=trace.message.content,
        callback_url=trace.message.callback_url,
        history=[
            shapes.HistoryEvent(moment(event.at), event.event, event.segment, event.detail) for event in sight.events
        ],
        now=decision_of(sight.decision),
    )


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
    return shapes.Count(await call.oversight.drop_callbacks(call.actor, keys, f"{len(keys)} messages"))


# --- how much waits


async def overview(call: Call) -> Struct:
    backlog = await call.oversight.store.standing(call.oversight.now)
    return shapes.Overview(
        scheduled=backlog.scheduled,
        waiting=backlog.waiting,
        awaiting_receipts=backlog.awaiting,
        callbacks_owed=backlog.owed,
        callbacks_ended=backlog.ended,
        orphans=backlog.orphans,
        oldest_waiting=maybe_moment(backlog.oldest),
        links={connector.name: state["summary"] for connector, state in call.desk.links()},
    )
