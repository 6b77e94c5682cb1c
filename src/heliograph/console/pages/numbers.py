"""Numbers: which account gets what phones write to a number."""

from heliograph.admin_api.request import parse_key
from heliograph.app.records import Scope
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of

PATH = "/numbers"


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    manage = request.inbound
    return request.page(
        "numbers.html",
        status=200 if problem is None else 400,
        numbers=await manage.numbers(),
        accounts=sorted((await manage.account_names()).values()),
        connectors=sorted((await manage.connector_names()).values()),
        form=request.form,
        problem=problem,
    )


async def show_page(request: PageRequest) -> PageResponse:
    return await show(request)


async def add(request: PageRequest) -> PageResponse:
    number, account, keyword, connector = (
        request.form.get(name, "").strip() for name in ("number", "account", "keyword", "connector")
    )
    try:
        added = await request.inbound.add_number(number.removeprefix("+"), account, keyword, connector)
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    return request.go(PATH, f"Messages to {added.number} go to {added.account} within five seconds.")


async def remove(request: PageRequest) -> PageResponse:
    await request.inbound.remove_number(parse_key(request.form.get("id", "")) or 0)
    return request.go(PATH, "The number is removed; what is written to it is kept, unrouted.")


PAGES = (
    PageRoute("GET", PATH, Scope.READ_ROUTES, show_page),
    PageRoute("POST", f"{PATH}/add", Scope.WRITE_ROUTES, add),
    PageRoute("POST", f"{PATH}/remove", Scope.WRITE_ROUTES, remove),
)
