"""Routes and prices, and where a number would go."""

from heliograph.admin_api.request import parse_key
from heliograph.app.admin import fields
from heliograph.app.admin.fields import Invalid
from heliograph.app.admin.prices import ManagePrices, parse_since
from heliograph.app.records import Scope
from heliograph.console.recipients import number_of
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of
from heliograph.domain.pricing import DEFAULT_PLAN


def _prices(request: PageRequest) -> ManagePrices:
    return request.services.admin.prices.acting_as(request.actor.name, request.actor.address)


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    accounts = [account.name for account, _ in await request.manage.accounts()]
    number = request.query.get("number", "")
    decision = None
    if number:
        try:
            account = request.query.get("account") or (accounts[0] if accounts else "")
            decision = await request.views.decide(number_of(number), account)
        except Mistake as mistake:
            problem = problem_of(mistake)
    prices = _prices(request)
    return request.page(
        "routing.html",
        status=200 if problem is None else 400,
        routes=await request.manage.routes(),
        prices=await prices.prices(),
        built_in=await prices.built_in(),
        plans=await prices.plans(),
        connectors=[connector.name for connector in await request.manage.connectors()],
        accounts=accounts,
        query=request.query,
        decision=decision,
        form=request.form,
        problem=problem,
    )


async def show_page(request: PageRequest) -> PageResponse:
    return await show(request)


async def add_route(request: PageRequest) -> PageResponse:
    form = request.form
    try:
        priority = form.get("priority") or "0"
        if not priority.removeprefix("-").isdigit() or len(priority) > 8:
            raise Invalid("priority", "it is a whole number")
        await request.manage.add_route(form.get("prefix", "").strip(), form.get("connector", ""), int(priority))
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    return request.go("/routing", "The route is there; it counts within five seconds.")


async def remove_route(request: PageRequest) -> PageResponse:
    await request.manage.remove_route(parse_key(request.form.get("route", "")) or 0)
    return request.go("/routing", "The route is removed.")


async def set_price(request: PageRequest) -> PageResponse:
    form = request.form
    try:
        price = fields.amount("price", form.get("price", ""))
        inbound = fields.amount("inbound", form["inbound"]) if form.get("inbound") else None
        prefix, plan = form.get("price_prefix", "").strip(), form.get("plan") or DEFAULT_PLAN
        await _prices(request).set(prefix, price, plan, inbound, parse_since(form.get("since", "")))
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    when = "it counts from its date on" if form.get("since") else "it counts within five seconds"
    return request.go("/routing", f"The price is set; {when}.")


async def remove_price(request: PageRequest) -> PageResponse:
    form = request.form
    since = parse_since(form["since"]) if "since" in form else None
    await _prices(request).remove(form.get("prefix", ""), form.get("plan", ""), since)
    return request.go("/routing", "The price is removed.")


PAGES = (
    PageRoute("GET", "/routing", Scope.READ_ROUTES, show_page),
    PageRoute("POST", "/routing/routes", Scope.WRITE_ROUTES, add_route),
    PageRoute("POST", "/routing/routes/remove", Scope.WRITE_ROUTES, remove_route),
    PageRoute("POST", "/routing/prices", Scope.WRITE_PRICES, set_price),
    PageRoute("POST", "/routing/prices/remove", Scope.WRITE_PRICES, remove_price),
)
