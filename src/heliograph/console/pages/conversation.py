"""Conversation: the messages between an account and a phone, a reply, and whether the phone opted out."""

import asyncio

from heliograph.admin_api.request import parse_key
from heliograph.app.facts import Accept, Verdict
from heliograph.app.records import Scope
from heliograph.app.resources import suppressions
from heliograph.app.resources.desk import NoSuch
from heliograph.app.resources.message_list import TrafficPage, conversation
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.principal import Principal
from heliograph.app.sending.refusal import refusal_of
from heliograph.console.render import priced
from heliograph.console.request import FormProblem, PageRequest, PageResponse, PageRoute
from heliograph.console.sent_lists import CONSOLE
from heliograph.domain.display import counted
from heliograph.domain.error import Fault
from heliograph.domain.message import ids
from heliograph.domain.money.amounts import format_credits
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
        sender=request.form.get("sender", _sender(page)),
        content=request.form.get("content", ""),
        reference=f"reply-{request.services.secrets.token(12)}",
    )


def _sender(page: TrafficPage) -> str:
    """Returns the sender of a reply: the number that the phone wrote to last, else the sender of the last message."""
    received = [each.received.message.recipient for each in page.lines if each.received is not None]
    sent = [each.sent.message.sender for each in page.lines if each.sent is not None]
    return next(iter(received + sent), "")


async def reply(request: PageRequest) -> PageResponse:
    """Sends a message to the phone. The page's reference makes it a single message, however often the form comes."""
    account, phone = request.form.get("account", ""), request.form.get("phone", "")
    view = await request.services.directory.fresh_account(account)
    if view is None:
        raise NoSuch("account", account)
    fields = Fields(
        to=[phone],
        sender=request.form.get("sender", "").strip(),
        content=request.form.get("content", ""),
        reference=request.form.get("reference") or None,
    )
    try:
        accept = await _sent(request, Principal(view, CONSOLE), fields)
    except Fault as fault:
        return await show(request, FormProblem(fault.message, "sender" if fault.field == "from" else fault.field or ""))
    message = accept.messages[0]
    if accept.verdict is Verdict.ACCEPTED:
        identity = ids.to_hex(message.key, message.tail)
        details = {"account": account, "segments": str(message.segments), "price": format_credits(accept.total)}
        await request.desk.note("message.send", identity, details)
    notice = f"Sent: {counted(message.segments, 'segment')}, {priced(accept.total)}."
    return request.go(PATH, notice, account=account, phone=phone)


async def _sent(request: PageRequest, who: Principal, fields: Fields) -> Accept:
    """Returns the accepted request after its commit. Raises Fault."""
    sending = request.services.sending
    committed: asyncio.Future[Accept] = asyncio.get_running_loop().create_future()
    try:
        await sending.find_networks(who, fields)
        sending.send(who, fields, committed.set_result)
    except Fault as fault:
        if not sending.may_be_replayed(fields, fault):
            raise
        return await sending.replay(who, fields, fault)
    accept = await committed
    if accept.verdict not in (Verdict.ACCEPTED, Verdict.REPLAYED):
        raise refusal_of(accept)
    return accept


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
    PageRoute("POST", f"{PATH}/reply", Scope.SEND, reply),
    PageRoute("POST", f"{PATH}/suppress", Scope.WRITE_MESSAGES, suppress, again=show),
    PageRoute("POST", f"{PATH}/lift", Scope.WRITE_MESSAGES, lift),
)
