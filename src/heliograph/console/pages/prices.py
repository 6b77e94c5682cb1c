"""Prices: search, changes, and import and export of lists."""

import asyncio
import io
from typing import Any

from heliograph.app.admin import price_table
from heliograph.app.admin.price_table import PriceSheet
from heliograph.app.ports.large_tables import PriceQuery
from heliograph.app.records import Scope
from heliograph.app.resources import prices
from heliograph.app.resources.prices import NEW, PRICES, format_since
from heliograph.console.list_import import import_step
from heliograph.console.request import FormProblem, PageRequest, PageResponse, PageRoute, csv_file, page_number
from heliograph.domain.money.amounts import format_credits
from heliograph.domain.money.pricing import DEFAULT_PLAN
from heliograph.domain.numbers.phone import number_of

PATH = "/prices"
PAGE = 50

ASKED = ("in_plan", "q", "past")
EDITED = ("plan", "price_prefix", "network", "price", "inbound", "since")


def _query(request: PageRequest) -> PriceQuery:
    query = request.query
    prefix = number_of(query.get("q", "").strip())
    return PriceQuery(request.desk.now, query.get("in_plan", ""), prefix, bool(query.get("past")), limit=PAGE)


async def show(request: PageRequest, problem: FormProblem | None = None, **more: Any) -> PageResponse:
    query = _query(request)
    listing = await prices.listing(request.desk, query, page_number(request))
    editing = {name: request.query[name] for name in EDITED if name in request.query}
    values: dict[str, Any] = {"preview": None, "edited": edit_link, **more}
    return request.page(
        "prices.html",
        status=200 if problem is None else 400,
        listing=listing,
        asked={name: request.query[name] for name in ASKED if request.query.get(name)},
        query=request.query,
        page=listing.page,
        pages=max(1, -(-listing.found // PAGE)),
        form=request.form or editing,
        editing=bool(editing),
        problem=problem,
        **values,
    )


async def set_price(request: PageRequest) -> PageResponse:
    form = request.form
    given = {each.name: form.get("price_prefix" if each.name == "prefix" else each.name, "").strip() for each in NEW}
    given = {name: text for name, text in given.items() if text or name == "price"}
    answer = await request.ask(PRICES, "set", given)
    when = "from its date on" if form.get("since") else "within five seconds"
    return request.go(PATH, f"The price is set. It holds {when}. {answer['note']}".rstrip())


async def remove_price(request: PageRequest) -> PageResponse:
    given = {name: request.form[name] for name in ("prefix", "network", "plan", "since") if name in request.form}
    await request.ask(PRICES, "remove", given)
    return request.go(PATH, "The price is removed.")


async def download(request: PageRequest) -> PageResponse:
    query, file = _query(request), io.StringIO()
    found = await prices.every(request.desk, query.plan, query.past, query.near)
    await asyncio.to_thread(price_table.write, found, file)
    return csv_file("prices.csv", file.getvalue().encode())


async def import_list(request: PageRequest) -> PageResponse:
    """Shows the changes by a list, or makes them after the confirmation."""
    plan, since = request.form.get("list_plan") or DEFAULT_PLAN, request.form.get("list_since", "")

    async def put(sheet: PriceSheet, replace: bool, dry_run: bool) -> dict[str, Any]:
        return await prices.put(request.desk, sheet.prices, replace, dry_run)

    def plans(sheet: PriceSheet) -> set[str]:
        return {price["plan"] for price in sheet.prices}

    return await import_step(request, PATH, lambda lines: PriceSheet(lines, plan, since), put, plans, show)


def edit_link(price: Any) -> dict[str, str]:
    """Returns the query of the page with this price in its form."""
    return {
        "plan": price.plan, "price_prefix": price.prefix, "network": price.network,
        "price": format_credits(price.price), "inbound": "" if price.network else format_credits(price.inbound or 0),
        "since": format_since(price.since),
    }  # fmt: skip


PAGES = (
    PageRoute("GET", PATH, Scope.READ_PRICES, show),
    PageRoute("GET", f"{PATH}.csv", Scope.READ_PRICES, download, exports=True),
    PageRoute("POST", PATH, Scope.WRITE_PRICES, set_price, again=show),
    PageRoute("POST", f"{PATH}/remove", Scope.WRITE_PRICES, remove_price),
    PageRoute("POST", f"{PATH}/import", Scope.WRITE_PRICES, import_list, again=show),
)
