"""Conversation: the messages between an account and a phone, and whether the phone opted out."""

from heliograph.admin_api.request import parse_key
from heliograph.app.records import Scope
from heliograph.app.resources import suppressions
from heliograph.app.resources.message_list import conversation
from heliograph.console.request import FormProblem, PageRequest, PageResponse, PageRoute
from heliograph.domain.numbers.phone import number_of

PATH = "/conversation"
PAGE = 50


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    account = request.form.get("account") or request.query.get("account", "")
    phone = request.form.get("phone") or number_of(request.query.get("phone", ""))
    page = await conversation(request.desk, account, phone, parse_key(request.query.get("before", "")), PAGE)
    return request.page(
        "conversation.html",
        status=200 if problem is None else 400,
        account=account,
        phone=phone,
        page=page,
        problem=problem,
        query=request.query,
    )


async def suppress(request: PageRequest) -> PageResponse:
    account, phone = request.form.get("account", ""), request.form.get("phone", "")
    await suppressions.add(request.desk, account, [suppressions.NUMBER.read(phone)])
    return request.go(PATH, f"{phone} gets nothing more from {account}.", account=account, phone=phone)


async def lift(request: PageRequest) -> PageResponse:
    account, phone = request.form.get("account", ""), request.form.get("phone", "")
    await suppressions.remove(request.desk, account, suppressions.NUMBER.read(phone))
    return request.go(PATH, f"{account} may send to {phone} again.", account=account, phone=phone)


PAGES = (
    PageRoute("GET", PATH, Scope.READ_MESSAGES, show),
    PageRoute("POST", f"{PATH}/suppress", Scope.WRITE_MESSAGES, suppress, again=show),
    PageRoute("POST", f"{PATH}/lift", Scope.WRITE_MESSAGES, lift),
)
