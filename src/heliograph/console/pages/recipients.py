"""One phone's data: what is kept of it, to hand out, and its erasure."""

import msgspec

from heliograph.app.admin.recipients import ErasureReport, ManageRecipients
from heliograph.app.records import Scope
from heliograph.console.recipients import number_of
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of

PATH = "/recipients"


def _manage(request: PageRequest) -> ManageRecipients:
    return request.services.admin.recipients.acting_as(request.actor.name, request.actor.address)


async def _show(
    request: PageRequest, report: ErasureReport | None = None, problem: FormProblem | None = None
) -> PageResponse:
    return request.page(
        "recipients.html",
        status=200 if problem is None else 400,
        accounts=await request.account_names(),
        form=request.form,
        number=number_of(request.form.get("number", "")),
        report=report,
        problem=problem,
    )


async def show_page(request: PageRequest) -> PageResponse:
    return await _show(request)


async def find(request: PageRequest) -> PageResponse:
    return await _erase(request, dry_run=True)


async def erase(request: PageRequest) -> PageResponse:
    return await _erase(request, dry_run=False)


async def _erase(request: PageRequest, *, dry_run: bool) -> PageResponse:
    number, account = number_of(request.form.get("number", "")), request.form.get("account") or None
    try:
        return await _show(request, await _manage(request).erase(number, account, dry_run=dry_run))
    except Mistake as mistake:
        return await _show(request, problem=problem_of(mistake))


async def export(request: PageRequest) -> PageResponse:
    from heliograph.admin_api.recipients import recipient

    number, account = number_of(request.form.get("number", "")), request.form.get("account") or None
    try:
        data = await _manage(request).export(number, account)
    except Mistake as mistake:
        return await _show(request, problem=problem_of(mistake))
    headers = [(b"content-disposition", b'attachment; filename="recipient.json"')]
    body = msgspec.json.format(msgspec.json.encode(recipient(data)), indent=2)
    return PageResponse(200, body, headers, "application/json")


PAGES = (
    PageRoute("GET", PATH, Scope.ERASE, show_page),
    PageRoute("POST", f"{PATH}/find", Scope.ERASE, find),
    PageRoute("POST", f"{PATH}/erase", Scope.ERASE, erase),
    PageRoute("POST", f"{PATH}/export", Scope.EXPORT, export),
)
