"""Inbound: messages from phones, what became of each, and whose the unrouted ones are to be."""

from heliograph.admin_api.request import parse_key
from heliograph.app.records import InboundQuery, Scope
from heliograph.console.recipients import number_of
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of
from heliograph.domain import ids

PATH = "/inbound"
PAGE = 50
UNROUTED = "-"
"""Choice of the form for messages that are nobody's; no account has this name."""


async def search(request: PageRequest) -> PageResponse:
    manage, wanted = request.inbound, request.query.get("q", "").strip()
    account = request.query.get("account", "")
    query = InboundQuery(None, number_of(wanted), parse_key(request.query.get("before", "")), PAGE)
    problem, found = None, []
    try:
        if (id_ := ids.parse(wanted)) is not None:
            found = [await manage.show(*id_)]
        elif account == UNROUTED:
            query.account = 0
            found = await manage.find(query)
        else:
            found = await manage.find(query, account or None)
    except Mistake as mistake:
        problem = problem_of(mistake)
    return request.page(
        "inbound.html",
        status=200 if problem is None else 404,
        query=request.query,
        found=found,
        more=found[-1].message.key if len(found) == PAGE else None,
        unrouted=UNROUTED,
        problem=problem,
        accounts=await manage.account_names(),
    )


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    manage = request.inbound
    record = await manage.show(*request.message_id())
    accounts = await manage.account_names()
    return request.page(
        "inbound_message.html",
        status=200 if problem is None else 409,
        record=record,
        message=record.message,
        reply=ids.to_hex(*record.reply) if record.reply else "",
        account=accounts.get(record.message.account, ""),
        accounts=sorted(accounts.values()),
        connector=(await request.views.connector_names()).get(record.message.connector, "a connector that is gone"),
        problem=problem,
    )


async def show_page(request: PageRequest) -> PageResponse:
    return await show(request)


async def route(request: PageRequest) -> PageResponse:
    account = request.form.get("account", "")
    try:
        await request.inbound.route(*request.message_id(), account)
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    return request.go(f"{PATH}/{request.path['id']}", f"The message is {account}'s now.")


async def replay(request: PageRequest) -> PageResponse:
    try:
        await request.inbound.replay(*request.message_id())
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    return request.go(f"{PATH}/{request.path['id']}", "The callback is retried.")


PAGES = (
    PageRoute("GET", PATH, Scope.READ_MESSAGES, search),
    PageRoute("GET", f"{PATH}/{{id}}", Scope.READ_MESSAGES, show_page),
    PageRoute("POST", f"{PATH}/{{id}}/route", Scope.WRITE_MESSAGES, route),
    PageRoute("POST", f"{PATH}/{{id}}/replay", Scope.WRITE_CALLBACKS, replay),
)
