"""The data of a phone: a copy of it to hand out, and its erasure."""

import asyncio
import json
from typing import Any

from heliograph.app.records import Scope
from heliograph.app.resources.recipients import RECIPIENTS
from heliograph.console.request import FormProblem, PageRequest, PageResponse, PageRoute
from heliograph.domain.numbers.phone import number_of

PATH = "/recipients"


async def _show(
    request: PageRequest, problem: FormProblem | None = None, report: dict[str, Any] | None = None
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
    return await request.ask(RECIPIENTS, operation, {**order, **more})


async def find(request: PageRequest) -> PageResponse:
    return await _show(request, report=await _ask(request, "erase", dry_run=True))


async def erase(request: PageRequest) -> PageResponse:
    return await _show(request, report=await _ask(request, "erase", dry_run=False))


async def export(request: PageRequest) -> PageResponse:
    data = await _ask(request, "export")
    headers = [(b"content-disposition", b'attachment; filename="recipient.json"')]
    text = await asyncio.to_thread(json.dumps, data, indent=2, ensure_ascii=False)
    return PageResponse(200, text.encode(), headers, "application/json")


PAGES = (
    PageRoute("GET", PATH, Scope.ERASE, _show),
    PageRoute("POST", f"{PATH}/find", Scope.ERASE, find, again=_show),
    PageRoute("POST", f"{PATH}/erase", Scope.ERASE, erase, again=_show),
    PageRoute("POST", f"{PATH}/export", Scope.EXPORT, export, again=_show, exports=True),
)
