"""Senders: sender IDs that accounts registered, to be approved or refused."""

from heliograph.app.admin.senders import ManageSenders
from heliograph.app.records import Scope
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of
from heliograph.domain.limits.sender_state import SenderState

PATH = "/senders"

SHOWN = 500
"""Senders that the page shows."""


def _manage(request: PageRequest) -> ManageSenders:
    return request.services.admin.senders.acting_as(request.actor.name, request.actor.address)


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    account, state = request.query.get("account", ""), request.query.get("state", "")
    accounts = [found.name for found, _ in await request.manage.accounts()]
    found = await _manage(request).senders(
        account if account in accounts else None, state if state in list(SenderState) else None
    )
    return request.page(
        "senders.html",
        status=200 if problem is None else 400,
        found=found[:SHOWN],
        more=max(0, len(found) - SHOWN),
        account=account,
        state=state,
        states=list(SenderState),
        accounts=accounts,
        form=request.form,
        problem=problem,
    )


async def show_page(request: PageRequest) -> PageResponse:
    return await show(request)


async def put(request: PageRequest) -> PageResponse:
    """Registers a sender, or gives it another state."""
    form = request.form
    account, sender, state = (form.get(name, "").strip() for name in ("account", "sender", "state"))
    try:
        await _manage(request).put(account, [sender], state, form.get("note", "").strip())
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    return request.go(PATH, f"The sender {sender} of {account} is {state} within five seconds.")


async def remove(request: PageRequest) -> PageResponse:
    account, sender = request.form.get("account", ""), request.form.get("sender", "")
    await _manage(request).remove(account, sender)
    return request.go(PATH, f"The sender {sender} is not registered for {account} any more.")


PAGES = (
    PageRoute("GET", PATH, Scope.READ_ACCOUNTS, show_page),
    PageRoute("POST", f"{PATH}/put", Scope.WRITE_LIMITS, put),
    PageRoute("POST", f"{PATH}/remove", Scope.WRITE_LIMITS, remove),
)
