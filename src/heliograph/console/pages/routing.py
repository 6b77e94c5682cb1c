"""Routes: found, added, edited, whole lists of them in and out; where a number would go; and the coverage of a plan."""

import asyncio
import io
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from heliograph.admin_api.request import parse_key
from heliograph.app.admin import route_table
from heliograph.app.admin.csv_rows import Sheet, values_of
from heliograph.app.records import Scope
from heliograph.app.resources import coverage, prices, routes
from heliograph.app.resources.desk import NoSuch
from heliograph.console.list_import import import_step
from heliograph.console.request import (
    FormProblem,
    Mistake,
    PageRequest,
    PageResponse,
    PageRoute,
    csv_file,
    page_number,
    problem_of,
)
from heliograph.domain.money.pricing import DEFAULT_PLAN
from heliograph.domain.numbers.phone import number_of

PATH = "/routing"
PAGE = 50
SHOWN = 500
"""Destinations of the coverage that a page shows."""
MOST_EXAMINED = 10_000
"""Destinations that a page of the coverage looks at: some tenths of a second."""

ASKED = ("q", "connector")


async def show(request: PageRequest, problem: FormProblem | None = None, **more: Any) -> PageResponse:
    query = request.query
    accounts = await request.account_names()
    number = query.get("number", "")
    decision = None
    if number:
        try:
            account, sender = query.get("account", ""), query.get("from", "")
            decision = await routes.decide(request.desk, number_of(number), account, sender)
        except Mistake as mistake:
            problem = problem_of(mistake)
    of = query.get("connector", "")
    found, page, total = await routes.search(request.desk, of, _prefix(request), page_number(request), PAGE)
    shares, obstacles = await routes.live(request.desk, found)
    edited = None
    if route := parse_key(query.get("edit") or request.form.get("replaces", "")):
        with suppress(NoSuch):
            edited = await routes.show(request.desk, route)
    return request.page(
        "routing.html",
        status=200 if problem is None else 400,
        routes=found,
        total=total,
        page=page,
        pages=max(1, -(-total // PAGE)),
        asked={name: query[name] for name in ASKED if query.get(name)},
        edited=edited,
        shares=shares,
        obstacles=obstacles,
        connectors=sorted((await request.desk.connector_names()).values()),
        accounts=accounts,
        query=query,
        decision=decision,
        form=request.form,
        problem=problem,
        **{"preview": None, **more},
    )


async def add_route(request: PageRequest) -> PageResponse:
    """Adds a route, or puts it in the place of the one that it `replaces`."""
    form = request.form
    old = parse_key(form.get("replaces", ""))
    wanted = values_of(routes.RULE, form)
    if old is None:
        note = (await routes.add(request.desk, **wanted))["note"]
    else:
        note = await routes.change(request.desk, old, **wanted)
    done = f"The route is {'there' if old is None else 'changed'}; it counts within five seconds."
    return request.go(PATH, f"{done} {note}".rstrip())


async def remove_route(request: PageRequest) -> PageResponse:
    await routes.remove(request.desk, parse_key(request.form.get("route", "")) or 0)
    return request.go(PATH, "The route is removed.")


async def download(request: PageRequest) -> PageResponse:
    file = io.StringIO()
    found = await routes.every(request.desk, request.query.get("connector") or None, _prefix(request))
    await asyncio.to_thread(route_table.write, found, file)
    return csv_file("routes.csv", file.getvalue().encode())


async def import_list(request: PageRequest) -> PageResponse:
    """Shows the changes by a list, or makes them after the confirmation."""
    known = frozenset((await request.desk.connector_names()).values())

    async def put(sheet: Sheet, replace: bool, dry_run: bool) -> dict[str, int]:
        return await routes.put(request.desk, sheet.rows, replace, dry_run)

    def connectors(sheet: Sheet) -> set[str]:
        return {row["connector"] for row in sheet.rows}

    return await import_step(request, PATH, lambda lines: route_table.read(lines, known), put, connectors, show)


async def show_coverage(request: PageRequest) -> PageResponse:
    """Shows destinations of a plan, each with its connector, price, cost and margin."""
    wanted, rows, examined, problems = _wanted(request), [], 0, Counter[str]()
    async for part in coverage.parts(request.desk, wanted.plan, wanted.prefix, limit=MOST_EXAMINED):
        examined += len(part)
        problems.update(row["problem"] for row in part if row["problem"])
        rows += wanted.filtered(part)
    return request.page(
        "coverage.html",
        plan=wanted.plan,
        plans=await prices.plans(request.desk),
        q=wanted.prefix,
        only_problems=wanted.only_problems,
        rows=rows[:SHOWN],
        more=max(0, len(rows) - SHOWN),
        destinations=examined,
        is_cut=examined == MOST_EXAMINED,
        problems=problems,
    )


async def download_coverage(request: PageRequest) -> PageResponse:
    wanted = _wanted(request)

    async def pieces() -> AsyncGenerator[bytes]:
        file = io.StringIO()
        coverage.write((), file)
        async for part in coverage.parts(request.desk, wanted.plan, wanted.prefix):
            coverage.write_more(wanted.filtered(part), file)
            yield file.getvalue().encode()
            file = io.StringIO()
        yield file.getvalue().encode()

    return csv_file("coverage.csv", pieces())


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The filters of the page."""

    plan: str
    prefix: str
    only_problems: bool

    def filtered(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [row for row in rows if row["problem"]] if self.only_problems else rows


def _wanted(request: PageRequest) -> _Wanted:
    query = request.query
    return _Wanted(query.get("plan", "") or DEFAULT_PLAN, _prefix(request), query.get("only") == "problems")


def _prefix(request: PageRequest) -> str:
    """Returns the digits that the page is searched for."""
    return number_of(request.query.get("q", "").strip())


PAGES = (
    PageRoute("GET", "/coverage", Scope.READ_ROUTES, show_coverage),
    PageRoute("GET", "/coverage.csv", Scope.READ_ROUTES, download_coverage, exports=True),
    PageRoute("GET", PATH, Scope.READ_ROUTES, show),
    PageRoute("GET", f"{PATH}.csv", Scope.READ_ROUTES, download, exports=True),
    PageRoute("POST", f"{PATH}/routes", Scope.WRITE_ROUTES, add_route, again=show),
    PageRoute("POST", f"{PATH}/routes/remove", Scope.WRITE_ROUTES, remove_route),
    PageRoute("POST", f"{PATH}/routes/import", Scope.WRITE_ROUTES, import_list, again=show),
)
