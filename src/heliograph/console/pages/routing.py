"""Routes and prices, and where a number would go."""

from heliograph.app.admin import fields
from heliograph.app.admin.fields import Invalid
from heliograph.app.admin.oversight import Scope
from heliograph.app.sending.directory import DEFAULT_PLAN
from heliograph.console.sheet import number_of
from heliograph.console.visit import Mistake, Page, Problem, Reply, Visit, problem_of


async def show(visit: Visit, problem: Problem | None = None) -> Reply:
    accounts = [account.name for account, _ in await visit.administration.accounts()]
    number = visit.query.get("number", "")
    decision = None
    if number:
        try:
            account = visit.query.get("account") or (accounts[0] if accounts else "")
            decision = await visit.oversight.decide(number_of(number), account)
        except Mistake as mistake:
            problem = problem_of(mistake)
    prices = await visit.administration.prices()
    return visit.page(
        "routing.html",
        status=200 if problem is None else 400,
        routes=await visit.administration.routes(),
        prices=prices,
        built_in=await visit.administration.built_in_price(),
        plans=sorted({price.plan for price in prices} | {DEFAULT_PLAN}),
        connectors=[connector.name for connector in await visit.administration.connectors()],
        accounts=accounts,
        query=visit.query,
        decision=decision,
        form=visit.form,
        problem=problem,
    )


async def show_page(visit: Visit) -> Reply:
    return await show(visit)


async def add_route(visit: Visit) -> Reply:
    form = visit.form
    try:
        priority = form.get("priority") or "0"
        if not priority.removeprefix("-").isdigit() or len(priority) > 8:
            raise Invalid("priority", "it is a whole number")
        await visit.administration.add_route(form.get("prefix", "").strip(), form.get("connector", ""), int(priority))
    except Mistake as mistake:
        return await show(visit, problem_of(mistake))
    return visit.go("/routing", "The route is there; it counts within five seconds.")


async def remove_route(visit: Visit) -> Reply:
    number = visit.form.get("route", "")
    await visit.administration.remove_route(int(number) if number.isdigit() and len(number) < 19 else 0)
    return visit.go("/routing", "The route is removed.")


async def set_price(visit: Visit) -> Reply:
    form = visit.form
    try:
        price = fields.amount("price", form.get("price", ""))
        await visit.administration.set_price(
            form.get("price_prefix", "").strip(), price, form.get("plan") or DEFAULT_PLAN
        )
    except Mistake as mistake:
        return await show(visit, problem_of(mistake))
    return visit.go("/routing", "The price is set; it counts within five seconds.")


async def remove_price(visit: Visit) -> Reply:
    await visit.administration.remove_price(visit.form.get("prefix", ""), visit.form.get("plan", ""))
    return visit.go("/routing", "The price is removed.")


PAGES = (
    Page("GET", "/routing", Scope.READ_ROUTES, show_page),
    Page("POST", "/routing/routes", Scope.WRITE_ROUTES, add_route),
    Page("POST", "/routing/routes/remove", Scope.WRITE_ROUTES, remove_route),
    Page("POST", "/routing/prices", Scope.WRITE_PRICES, set_price),
    Page("POST", "/routing/prices/remove", Scope.WRITE_PRICES, remove_price),
)
