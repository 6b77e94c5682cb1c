"""Templates: texts that a registry of operators has, and a place to try texts on them."""

from heliograph.app.admin.templates import ManageTemplates, TemplateCheck, TemplateView
from heliograph.app.records import Scope
from heliograph.app.resources.desk import Invalid
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of

PATH = "/templates"

SHOWN = 200
"""Templates that the page shows."""


def _manage(request: PageRequest) -> ManageTemplates:
    return request.services.admin.templates.acting_as(request.actor.name, request.actor.address)


async def show(
    request: PageRequest, problem: FormProblem | None = None, tried: TemplateCheck | None = None
) -> PageResponse:
    sender = request.query.get("q", "").strip()
    found = await _manage(request).templates(sender=sender or None)
    return request.page(
        "templates.html",
        status=200 if problem is None else 400,
        found=found[:SHOWN],
        more=max(0, len(found) - SHOWN),
        sender=sender,
        accounts=await request.account_names(),
        form=request.form,
        problem=problem,
        tried=tried,
    )


async def show_page(request: PageRequest) -> PageResponse:
    return await show(request)


async def add(request: PageRequest) -> PageResponse:
    form = request.form
    name, sender, account = (form.get(field, "").strip() for field in ("name", "sender", "account"))
    try:
        wanted = TemplateView(name, form.get("text", ""), sender, account, _tlvs(form.get("tlvs", "")))
        await _manage(request).add(wanted)
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    return request.go(PATH, f"The template {name} is there within five seconds.")


async def remove(request: PageRequest) -> PageResponse:
    name = request.form.get("name", "")
    await _manage(request).remove(name)
    return request.go(PATH, f"The template {name} is removed.")


async def try_text(request: PageRequest) -> PageResponse:
    sender = request.form.get("try_sender", "").strip()
    return await show(request, tried=await _manage(request).check(sender, request.form.get("try_text", "")))


def _tlvs(text: str) -> dict[str, str]:
    tlvs = {}
    for word in filter(None, (word.strip() for word in text.split(","))):
        name, equals, value = word.partition("=")
        if not equals:
            raise Invalid("tlvs", f"{word!r} is no name and value, such as entity=1101456780")
        tlvs[name.strip().lower()] = value.strip()
    return tlvs


PAGES = (
    PageRoute("GET", PATH, Scope.READ_ROUTES, show_page),
    PageRoute("POST", f"{PATH}/add", Scope.WRITE_ROUTES, add),
    PageRoute("POST", f"{PATH}/remove", Scope.WRITE_ROUTES, remove),
    PageRoute("POST", f"{PATH}/try", Scope.READ_ROUTES, try_text),
)
