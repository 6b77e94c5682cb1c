"""One phone's data: what is kept of it, to hand out, and its erasure."""

import json
from typing import Any

from heliograph.app.records import Scope
from heliograph.app.resources.recipients import RECIPIENTS
from heliograph.console.recipients import number_of
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of

PATH = "/recipients"


async def _show(
    request: PageRequest, report: dict[str, Any] | None = None, problem: FormProblem | None = None
) -> PageResponse:
    return request.page(
        "recipients.html",
        status=200 if problem is None else 400,
        accounts=await request.account_names(),
        form=request.form,
        number=number_of(request.form.get("number", "")),
        report=report,
        found=report is not None and any(line["found"] for line in report["lines"]),
        problem=problem,
    )


async def _ask(request: PageRequest, operation: str, **more: Any) -> dict[str, Any]:
    order = {"number": number_of(request.form.get("number", "")), "account": request.form.get("account", "")}
    return await request.ask(RECIPIENTS, RECIPIENTS.operation(operation).asked({**order, **more}))


async def find(request: PageRequest) -> PageResponse:
    return await _erase(request, dry_run=True)


async def erase(request: PageRequest) -> PageResponse:
    return await _erase(request, dry_run=False)


async def _erase(request: PageRequest, *, dry_run: bool) -> PageResponse:
    try:
        return await _show(request, await _ask(request, "erase", dry_run=dry_run))
    except Mistake as mistake:
        return await _show(request, problem=problem_of(mistake))


async def export(request: PageRequest) -> PageResponse:
    try:
        data = await _ask(request, "export")
    except Mistake as mistake:
        return await _show(request, problem=problem_of(mistake))
    headers = [(b"content-disposition", b'attachment; filename="recipient.json"')]
    body = json.dumps(data, indent=2, ensure_ascii=False).encode()
    return PageResponse(200, body, headers, "application/json")


PAGES = (
    PageRoute("GET", PATH, Scope.ERASE, _show),
    PageRoute("POST", f"{PATH}/find", Scope.ERASE, find),
    PageRoute("POST", f"{PATH}/erase", Scope.ERASE, erase),
    PageRoute("POST", f"{PATH}/export", Scope.EXPORT, export),
)
